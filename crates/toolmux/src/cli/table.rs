//! Tables that fit the terminal they are shown on.

use std::fmt;

/// What a table may be wide when nothing says how wide the terminal is.
const WIDTH: usize = 120;

/// Rows of text under headings; the last column is cut to fit.
pub(super) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(headings: [&str; N]) -> Self {
        Table { rows: vec![headings.map(str::to_owned)] }
    }

    pub(super) fn row(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(str::to_owned));
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(WIDTH);
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..N).map(width).collect();
        for row in &self.rows {
            let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = padded.collect::<Vec<_>>().join("  ");
            writeln!(f, "{}", cut(line.trim_end(), most))?;
        }
        Ok(())
    }
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some(_) => line.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_owned(),
    }
}
