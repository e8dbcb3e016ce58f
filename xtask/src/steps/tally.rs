//! How many tests passed, failed and were skipped, read from the closing lines of the test runner.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// What this machine cannot run.
    pub(crate) skipped: u64,
}

impl Tally {
    /// `test result: ok. 3 passed; 1 failed; …` gives 3 and 1; any other line gives nothing.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let counts = line.trim_start().strip_prefix("test result: ")?;
        let [passed, failed] = [" passed", " failed"].map(|word| number_before(counts, word));
        Some(Self { passed: passed?, failed: failed?, skipped: 0 })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    text.split(word).next()?.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn check(lines: &str, expect: &str) {
        let mut total = Tally::default();
        for tally in lines.lines().filter_map(Tally::read) {
            total += tally;
        }
        assert_eq!(total.to_string(), expect);
    }

    #[test]
    fn closing_lines_are_added_up() {
        check(
            "running 2 tests\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 10 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
            "12 passed, 3 failed",
        );
    }

    #[test]
    fn other_lines_count_for_nothing() {
        check("test result: maybe\n5 passed; 5 failed", "0 passed, 0 failed");
    }
}
