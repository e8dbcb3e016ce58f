//! Tables that fit the terminal they are shown on.

use super::terminal::{Terminal, print_line};
use crate::printable::on_one_line;

/// Rows of text under headings; the last column is cut to fit.
pub(super) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(headings: [&str; N]) -> Self {
        Table { rows: vec![headings.map(str::to_owned)] }
    }

    pub(super) fn row(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(|cell| on_one_line(cell).into_owned()));
    }

    /// Writes it to standard output.
    pub(super) fn print(&self, terminal: &Terminal) {
        for (place, line) in self.lines(terminal.width).iter().enumerate() {
            print_line(&if place == 0 { terminal.painted("1", line) } else { line.clone() });
        }
    }

    fn lines(&self, most: Option<usize>) -> Vec<String> {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..N).map(width).collect();
        let line = |row: &[String; N]| {
            let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = padded.collect::<Vec<_>>().join("  ");
            most.map_or_else(|| line.trim_end().to_owned(), |most| cut(line.trim_end(), most))
        };
        self.rows.iter().map(line).collect()
    }
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some(_) => line.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(most: Option<usize>, expect: &[&str]) {
        let mut table = Table::new(["TOOL", "DESCRIPTION"]);
        table.row(["Math.pow", "Raises x to the power of y"]);
        assert_eq!(table.lines(most), expect);
    }

    #[test]
    fn a_cell_cannot_steer_the_terminal() {
        let mut table = Table::new(["CALLER"]);
        table.row(["ann\x1b[2J\nroot"]);
        assert_eq!(table.lines(None), ["CALLER", "ann\\u001b[2J\\u000aroot"]);
    }

    #[test]
    fn a_table_fits_the_terminal_and_is_whole_elsewhere() {
        check(Some(20), &["TOOL      DESCRIPTI…", "Math.pow  Raises x …"]);
        check(None, &["TOOL      DESCRIPTION", "Math.pow  Raises x to the power of y"]);
    }
}
