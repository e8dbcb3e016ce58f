//! Lines of a terminal as SVG, light or dark as the reader's system is.

const COLUMNS: usize = 100;
const LINE_HEIGHT: usize = 18;
const LETTER_WIDTH: f64 = 7.83;

/// The colours of GitHub's two themes, so that a picture looks at home on a page there.
const STYLE: &str = "\
<style>
text { white-space: pre }
.frame { fill: #ffffff; stroke: #d0d7de }
.command { fill: #0550ae }
.output { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
.frame { fill: #0d1117; stroke: #30363d }
.command { fill: #7ee787 }
.output { fill: #c9d1d9 }
}
</style>
";

/// A line on the terminal, by who wrote it.
pub(super) enum PictureLine {
    Command(String),
    Output(String),
}

impl PictureLine {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            PictureLine::Command(text) => ("command", text),
            PictureLine::Output(text) => ("output", text),
        }
    }
}

pub(super) fn svg(title: &str, lines: &[PictureLine]) -> String {
    let rows: Vec<(&str, String)> = lines.iter().flat_map(rows).collect();
    let (width, height) = (COLUMNS as f64 * LETTER_WIDTH + 32.0, rows.len() * LINE_HEIGHT + 56);
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" \
         viewBox=\"0 0 {width:.0} {height}\" role=\"img\">\n\
         <title>{}</title>\n{STYLE}\
         <rect class=\"frame\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{}\" rx=\"8\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#ff5f56\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#ffbd2e\"/>\
         <circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#27c93f\"/>\n\
         <g font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"13\">\n",
        escaped(title),
        width - 1.0,
        height - 1,
    );
    let drawn = rows.iter().enumerate().map(|(index, (class, row))| {
        let y = 50 + index * LINE_HEIGHT;
        format!("<text class=\"{class}\" x=\"16\" y=\"{y}\">{}</text>\n", escaped(row))
    });
    [head].into_iter().chain(drawn).chain(["</g>\n</svg>\n".to_owned()]).collect()
}

/// A line in pieces that fit the terminal.
fn rows(line: &PictureLine) -> Vec<(&'static str, String)> {
    let (class, text) = line.parts();
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(COLUMNS).map(|chunk| (class, chunk.iter().collect())).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{PictureLine, rows, svg};

    #[test]
    fn lines_are_wrapped_and_escaped() {
        let long = PictureLine::Output("x".repeat(150));
        assert_eq!(rows(&long).iter().map(|(_, row)| row.len()).collect::<Vec<_>>(), [100, 50]);
        let drawn = svg("a & b", &[PictureLine::Command("$ a <b>".to_owned())]);
        assert!(drawn.contains("<title>a &amp; b</title>"), "{drawn}");
        assert!(drawn.contains("<text class=\"command\" x=\"16\" y=\"50\">$ a &lt;b&gt;</text>"), "{drawn}");
    }
}
