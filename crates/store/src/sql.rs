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
pub(crate) const SIZES: [usize; 3] = [64, 8, 1];

const MARK: &str = " /* and so on */";

/// A statement whose marked row of values is repeated, once for each size.
pub(crate) fn repeated(one: &str) -> [String; 3] {
    SIZES.map(|rows| repeat(one, rows))
}

fn repeat(one: &str, rows: usize) -> String {
    let (before, after) = one.split_once(MARK).expect("a repeated statement has the mark");
    let (head, row) = before.split_at(before.rfind('(').expect("a row stands before the mark"));
    let width = row.matches('$').count();
    let mut text = head.to_owned();
    for index in 0..rows {
        text.push_str(if index == 0 { "(" } else { ", (" });
        for column in 0..width {
            let comma = if column == 0 { "" } else { ", " };
            write!(text, "{comma}${}", index * width + column + 1).expect("writing to memory cannot fail");
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
    }
}
