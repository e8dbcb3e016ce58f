//! What a benchmark found: a table, and how it stands to its targets. For people and, as JSON, for programs.

use std::fmt;

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Row>,
    pub(crate) targets: Vec<Target>,
    pub(crate) notes: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) values: Vec<f64>,
}

/// A promise about one number: the smaller the better.
#[derive(Serialize)]
pub(crate) struct Target {
    pub(crate) what: &'static str,
    pub(crate) at_most: f64,
    pub(crate) value: f64,
}

impl Report {
    pub(crate) fn new(columns: &'static [&'static str]) -> Self {
        Self { columns, rows: Vec::new(), targets: Vec::new(), notes: Vec::new() }
    }

    /// Holds the number in this row and column against a limit.
    pub(crate) fn promise(&mut self, what: &'static str, at_most: f64, (row, column): (usize, usize)) {
        let value = self.rows[row].values[column];
        self.targets.push(Target { what, at_most, value });
    }
}

impl Target {
    pub(crate) fn met(&self) -> bool {
        self.value <= self.at_most
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let width = |column: &str| column.chars().count().max(10) + 2;
        if !self.columns.is_empty() {
            write!(formatter, "  {:first$}", "")?;
            for column in self.columns {
                write!(formatter, "{column:>width$}", width = width(column))?;
            }
            writeln!(formatter)?;
        }
        for row in &self.rows {
            write!(formatter, "  {:first$}", row.label)?;
            for (value, column) in row.values.iter().zip(self.columns) {
                write!(formatter, "{:>width$}", number(*value), width = width(column))?;
            }
            writeln!(formatter)?;
        }
        for target in &self.targets {
            let verdict = if target.met() { "met" } else { "MISSED" };
            let (most, value) = (number(target.at_most), number(target.value));
            writeln!(formatter, "  target: {} at most {most}: {verdict} with {value}", target.what)?;
        }
        for note in &self.notes {
            writeln!(formatter, "  {note}")?;
        }
        Ok(())
    }
}

/// Tables for `docs/performance.md`: the numbers of each benchmark, then what they are held against.
pub(crate) fn markdown(reports: &[(&str, Report)]) -> String {
    let cells = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    for (name, report) in reports {
        text.push_str(&["\n### ", name, "\n"].concat());
        let columns: Vec<String> = report.columns.iter().map(|column| (*column).to_owned()).collect();
        text.push_str(&cells(&[vec![String::new()], columns].concat()));
        text.push_str(&cells(&vec!["---".to_owned(); report.columns.len() + 1]));
        for row in &report.rows {
            let values = row.values.iter().map(|value| number(*value)).collect();
            text.push_str(&cells(&[vec![row.label.clone()], values].concat()));
        }
        for target in &report.targets {
            let verdict = if target.met() { "met" } else { "missed" };
            let most = number(target.at_most);
            text.push_str(&["\nTarget: ", target.what, ", at most ", &most, ": ", verdict, ".\n"].concat());
        }
    }
    text
}

pub(crate) fn json(reports: &[(&str, Report)]) -> String {
    let named = reports.iter().map(|(name, report)| {
        let met: Vec<bool> = report.targets.iter().map(Target::met).collect();
        serde_json::json!({ "benchmark": name, "report": report, "met": met })
    });
    format!("{:#}\n", named.collect::<serde_json::Value>())
}

/// Three digits are worth reading.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, Row, json, markdown};

    fn report() -> Report {
        let mut report = Report::new(&["requests/s", "CPU µs/request"]);
        report.rows.push(Row { label: "toolmux".to_owned(), values: vec![41234.5, 14.25] });
        report.rows.push(Row { label: "ratio".to_owned(), values: vec![0.876, 1.306] });
        report
    }

    fn check(at_most: f64, expect: &str) {
        let mut report = report();
        report.promise("CPU ratio", at_most, (1, 1));
        assert_eq!(report.to_string().lines().last(), Some(expect));
    }

    #[test]
    fn a_target_is_shown_with_its_verdict() {
        check(1.35, "  target: CPU ratio at most 1.35: met with 1.31");
        check(1.3, "  target: CPU ratio at most 1.30: MISSED with 1.31");
    }

    #[test]
    fn columns_stand_below_each_other() {
        let expect = "           requests/s  CPU µs/request\n  \
                      toolmux       41234            14.2\n  \
                      ratio          0.88            1.31\n";
        assert_eq!(report().to_string(), expect);
    }

    #[test]
    fn a_page_has_a_table_for_each_benchmark() {
        let mut report = report();
        report.promise("CPU ratio", 1.35, (1, 1));
        let expect = "\n### oxp-add\n|  | requests/s | CPU µs/request |\n| --- | --- | --- |\n\
                      | toolmux | 41234 | 14.2 |\n| ratio | 0.88 | 1.31 |\n\n\
                      Target: CPU ratio, at most 1.35: met.\n";
        assert_eq!(markdown(&[("oxp-add", report)]), expect);
    }

    #[test]
    fn the_same_is_there_for_programs() {
        let value: serde_json::Value = serde_json::from_str(&json(&[("opentool-add", report())])).unwrap();
        assert_eq!(value[0]["benchmark"], "opentool-add");
        assert_eq!(value[0]["report"]["rows"][0]["values"][1], 14.25);
    }
}
