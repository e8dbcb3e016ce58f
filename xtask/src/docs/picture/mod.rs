//! `docs/terminal.svg`: a real run, drawn as a terminal. A picture that is not what the program says now is a failure of
//! the `docs` step.

use std::fs;

use anyhow::bail;

use super::place::Place;
use super::shell::Shell;
use crate::workspace::Workspace;

pub(super) const FILE: &str = "docs/terminal.svg";
const COLUMNS: usize = 100;
const LINE_HEIGHT: usize = 18;
const LETTER_WIDTH: f64 = 7.83;

const SERVER: &str = "toolmux serve examples/quickstart/toolmux.toml";
/// Shown below the server, as in a second terminal.
const COMMANDS: &[&str] = &[
    "toolmux call Math.pow x=2 y=10 --url http://127.0.0.1:9627",
    "toolmux call Math.pow x=two y=10 --url http://127.0.0.1:9627",
    "curl -s http://127.0.0.1:9627/tools/call -d '{\"tool_id\":\"Math.pwo\",\"input\":{\"x\":2,\"y\":10}}'",
];

/// Draws the picture anew.
pub(crate) fn draw(workspace: &Workspace) -> anyhow::Result<()> {
    super::build(workspace)?;
    Ok(fs::write(workspace.root.join(FILE), picture(workspace)?)?)
}

/// Whether the picture is of what the program says now.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    if fs::read_to_string(workspace.root.join(FILE))? != picture(workspace)? {
        bail!("{FILE} is not what the program says now: run `cargo xtask picture`");
    }
    Ok(())
}

fn picture(workspace: &Workspace) -> anyhow::Result<String> {
    let mut place = Place::new(workspace)?;
    let mut shell = Shell::start(&place)?;
    let begun = shell.serve(SERVER, &["...".to_owned(), "  metrics ...".to_owned()])?;
    let mut lines = vec![format!("$ {SERVER}")];
    // Its snippets are longer than a terminal is wide.
    lines.extend(begun.lines().take_while(|line| *line != "Try:").map(str::to_owned));
    for command in COMMANDS {
        lines.push(format!("$ {command}"));
        let ended = shell.run(&place.with_free_ports(command)?)?;
        lines.extend(ended.output.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    }
    let lines: Vec<String> = lines.iter().flat_map(|line| wrapped(&place.as_written(line))).collect();
    Ok(svg(&lines))
}

fn wrapped(line: &str) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    letters.chunks(COLUMNS).map(|chunk| chunk.iter().collect()).collect()
}

fn svg(lines: &[String]) -> String {
    let (width, height) = (COLUMNS as f64 * LETTER_WIDTH + 32.0, lines.len() * LINE_HEIGHT + 56);
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" \
         viewBox=\"0 0 {width:.0} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#ff5f56\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#ffbd2e\"/>\
         <circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#27c93f\"/>\n\
         <g font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"13\" \
         fill=\"#c9d1d9\" xml:space=\"preserve\">\n"
    );
    let drawn = lines.iter().enumerate().map(|(index, line)| {
        let y = 50 + index * LINE_HEIGHT;
        let colour = if line.starts_with("$ ") { " fill=\"#7ee787\"" } else { "" };
        format!("<text x=\"16\" y=\"{y}\"{colour}>{}</text>\n", escaped(line))
    });
    [head].into_iter().chain(drawn).chain(["</g>\n</svg>\n".to_owned()]).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{svg, wrapped};

    #[test]
    fn lines_are_wrapped_and_escaped() {
        assert_eq!(wrapped(&"x".repeat(150)).iter().map(String::len).collect::<Vec<_>>(), [100, 50]);
        let drawn = svg(&["$ a <b>".to_owned()]);
        assert!(drawn.contains(" fill=\"#7ee787\">$ a &lt;b&gt;</text>"), "{drawn}");
    }
}
