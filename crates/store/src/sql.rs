//! The statements, and how one row becomes many.

use std::fmt::Write;

/// A statement of `sql/`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $name, ".sql"))
    };
}
pub(crate) use sql;

/// How many rows one statement takes, largest first. Few sizes, so that statements stay prepared.
const SIZES: [usize; 12] = [64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];

/// The most rows of one statement.
pub(crate) const MOST_ROWS: usize = SIZES[0];

const MARK: &str = " /* and so on */";

/// A statement for each size.
pub(crate) struct Repeated([String; SIZES.len()]);

impl Repeated {
    /// A statement whose marked row of values is repeated, once for each size. What is counted below the first
    /// value of the row is the same in all rows.
    pub(crate) fn new(one: &str) -> Self {
        Repeated(SIZES.map(|rows| repeat(one, rows)))
    }

    /// The statement for one row.
    pub(crate) fn one(&'static self) -> &'static str {
        &self.0[SIZES.len() - 1]
    }

    /// The same for a database to which each statement is a round trip: fewer statements, whose rows beyond the last
    /// are to be filled with the last one again. Only for statements to which a row that stands there twice is one row.
    pub(crate) fn filled<'a, T>(&'static self, rows: &'a [T]) -> Vec<Filled<'a, T>> {
        let statement = |rows: &'a [T]| {
            // The smallest that has room for all of them.
            let at = SIZES.iter().rposition(|size| *size >= rows.len()).unwrap_or_default();
            Filled { statement: &self.0[at], rows, again: SIZES[at] - rows.len() }
        };
        rows.chunks(MOST_ROWS).map(statement).collect()
    }

    /// The same in pieces that need no filling.
    pub(crate) fn exact<'a, T>(&'static self, rows: &'a [T]) -> Vec<Filled<'a, T>> {
        let pieces = self.pieces(rows).into_iter();
        pieces.map(|(statement, rows)| Filled { statement, rows, again: 0 }).collect()
    }

    /// Cuts rows into pieces for which there is a statement.
    pub(crate) fn pieces<'a, T>(&'static self, mut rows: &'a [T]) -> Vec<(&'static str, &'a [T])> {
        let mut pieces = Vec::new();
        for (size, statement) in SIZES.into_iter().zip(&self.0) {
            while rows.len() >= size {
                let (piece, rest) = rows.split_at(size);
                pieces.push((statement.as_str(), piece));
                rows = rest;
            }
        }
        pieces
    }
}

/// A statement with its rows.
pub(crate) struct Filled<'a, T> {
    pub(crate) statement: &'static str,
    pub(crate) rows: &'a [T],
    /// How often the last row is to be given again.
    again: usize,
}

impl<T> Filled<'_, T> {
    /// The rows in the order in which the statement takes them, the last one as often as it has room for.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().chain(self.rows.last().into_iter().cycle().take(self.again))
    }
}

fn repeat(one: &str, rows: usize) -> String {
    let (before, after) = one.split_once(MARK).expect("a repeated statement has the mark");
    let (head, row) = before.split_at(before.rfind('(').expect("a row stands before the mark"));
    let values: Vec<usize> = row
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().expect("values are counted"))
        .collect();
    let width = values.iter().filter(|value| **value >= values[0]).count();
    let mut text = head.to_owned();
    for index in 0..rows {
        text.push_str(if index == 0 { "(" } else { ", (" });
        for (column, value) in values.iter().enumerate() {
            let comma = if column == 0 { "" } else { ", " };
            let number = if *value < values[0] { *value } else { value + index * width };
            write!(text, "{comma}${number}").expect("writing to memory cannot fail");
        }
        text.push(')');
    }
    text + after
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn check(one: &str, rows: usize, expect: &str) {
        assert_eq!(repeat(one, rows), expect);
    }

    #[test]
    fn the_marked_row_is_repeated_with_its_own_numbers() {
        check("I (a, b) VALUES ($1, $2) /* and so on */ R", 1, "I (a, b) VALUES ($1, $2) R");
        check("I (a, b) VALUES ($1, $2) /* and so on */ R", 2, "I (a, b) VALUES ($1, $2), ($3, $4) R");
        check("VALUES ($2, $1, $3) /* and so on */ $1", 2, "VALUES ($2, $1, $3), ($4, $1, $5) $1");
    }

    #[test]
    fn rows_are_cut_into_pieces_that_have_a_statement() {
        static ONE: LazyLock<Repeated> = LazyLock::new(|| Repeated::new("VALUES ($1) /* and so on */"));
        let sizes = |rows: usize| -> Vec<usize> {
            let rows = vec![(); rows];
            ONE.pieces(&rows).iter().map(|(_, piece)| piece.len()).collect()
        };
        assert_eq!(sizes(0), [] as [usize; 0]);
        assert_eq!(sizes(5), [4, 1]);
        assert_eq!(sizes(130), [64, 64, 2]);
    }

    #[test]
    fn rows_fill_few_statements_with_the_last_row_again() {
        static ONE: LazyLock<Repeated> = LazyLock::new(|| Repeated::new("VALUES ($1) /* and so on */"));
        let check = |count: usize, expect: &[&[usize]]| {
            let rows: Vec<usize> = (1..=count).collect();
            let filled: Vec<Vec<usize>> =
                ONE.filled(&rows).iter().map(|filled| filled.all().copied().collect()).collect();
            assert_eq!(filled, expect);
            for (filled, rows) in ONE.filled(&rows).iter().zip(expect) {
                assert!(filled.statement.ends_with(&format!("(${})", rows.len())), "{}", filled.statement);
            }
        };
        check(0, &[]);
        check(1, &[&[1]]);
        check(5, &[&[1, 2, 3, 4, 5, 5]]);
        let full: Vec<usize> = (1..=64).collect();
        check(65, &[&full, &[65]]);
    }
}
