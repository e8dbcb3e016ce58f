//! Pictures of terminals in docs/: real runs, drawn. A picture that is not what the program says now is a failure of
//! the `docs` step.

mod scenes;
mod svg;

use std::fs;

use anyhow::{Context, bail};

use self::scenes::{SCENES, Scene, SceneStep};
use self::svg::{PictureLine, svg};
use super::place::Place;
use super::shell::Shell;
use crate::workspace::Workspace;

/// Draws every picture anew.
pub(crate) fn draw(workspace: &Workspace) -> anyhow::Result<()> {
    super::build(workspace)?;
    for scene in SCENES {
        fs::write(workspace.root.join(scene.file), picture(workspace, scene)?)?;
        println!("{}", scene.file);
    }
    Ok(())
}

/// Whether the pictures are of what the program says now.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    for scene in SCENES {
        let drawn = fs::read_to_string(workspace.root.join(scene.file)).unwrap_or_default();
        if drawn != picture(workspace, scene)? {
            bail!("{} is not what the program says now: run `cargo xtask picture`", scene.file);
        }
    }
    Ok(())
}

fn picture(workspace: &Workspace, scene: &Scene) -> anyhow::Result<String> {
    let mut place = Place::new(workspace)?;
    let mut shell = Shell::start(&place)?;
    let mut lines = Vec::new();
    for step in scene.steps {
        lines.extend(follow(step, &mut place, &mut shell).with_context(|| scene.file)?);
    }
    Ok(svg(scene.title, &lines))
}

fn follow(step: &SceneStep, place: &mut Place, shell: &mut Shell) -> anyhow::Result<Vec<PictureLine>> {
    let output = match step {
        SceneStep::Background(command) => {
            shell.serve(&place.with_free_ports(command)?, &[])?;
            return Ok(Vec::new());
        }
        SceneStep::Serve(command) => {
            let ready = ["...".to_owned(), "  metrics ...".to_owned()];
            let begun = shell.serve(&place.with_free_ports(command)?, &ready)?;
            // Its snippets are longer than a terminal is wide.
            begun.lines().take_while(|line| *line != "Try:").collect::<Vec<_>>().join("\n")
        }
        SceneStep::Run(command) => shell.run(&place.with_free_ports(command)?)?.output,
    };
    let (SceneStep::Serve(command) | SceneStep::Run(command) | SceneStep::Background(command)) = step;
    let typed = command.lines().enumerate().map(|(index, line)| match index {
        0 => format!("$ {line}"),
        _ => line.to_owned(),
    });
    let shown = output.lines().filter(|line| !line.trim().is_empty());
    // Where the copy of the project lies differs from run to run.
    let project = format!("{}/", place.project().display());
    let shown =
        shown.map(|line| PictureLine::Output(steady(&place.as_written(line).replace(&project, "./"))));
    Ok(typed.map(PictureLine::Command).chain(shown).collect())
}

/// A line without what differs from run to run: ids that are made up and times that are measured.
fn steady(line: &str) -> String {
    let line = masked(line, "\"call_id\":\"", '"');
    masked(&line, "\"duration\":", ',')
}

/// The text behind `start`, up to `end`, as an ellipsis.
fn masked(line: &str, start: &str, end: char) -> String {
    let Some((before, rest)) = line.split_once(start) else { return line.to_owned() };
    let Some(length) = rest.find(end) else { return line.to_owned() };
    format!("{before}{start}…{}", &rest[length..])
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn what_differs_from_run_to_run_is_masked() {
        let answer = r#"{"call_id":"0f3a","duration":0.51,"success":true}"#;
        assert_eq!(steady(answer), r#"{"call_id":"…","duration":…,"success":true}"#);
        assert_eq!(steady("plain"), "plain");
    }
}
