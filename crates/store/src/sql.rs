//! The statements, and how one row becomes many.

use std::fmt::Write;

/// A statement of `sql/`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../sql/", $name, ".sql"))
    };
}
pub(crate) use sql;

/// How many rows one statement takes, largest first. Few sizes, so that statements stay prepared.
pub(crate) const SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

const MARK: &str = " /* and so on */";

/// A statement for each size.
pub(crate) type Repeated = [String; SIZES.len()];

/// A statement whose marked row of values is repeated, once for each size. What is counted below the first
/// value of the row is the same in all rows.
pub(crate) fn repeated(one: &str) -> Repeated {
    SIZES.map(|rows| repeat(one, rows))
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
}
