//! `toolmux describe --review`: the open questions one by one in the terminal. Each answer is written to its file at once.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use toolmux_protocols::opendyn::{AnswerPlace, OpenQuestion, add_answer};

use super::failure::Failure;
use super::terminal::note;

/// What a person chose.
#[derive(Debug, PartialEq)]
enum Choice {
    Answer(AnswerPlace, Value),
    Later,
    End,
    Unclear,
}

/// Asks all questions; whether something was answered. Dropping the future keeps the answers given so far.
pub(super) async fn review(
    questions: &[OpenQuestion],
    answers: &mut Value,
    file: &Path,
) -> Result<bool, Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut any = false;
    let mut skipped: Option<&str> = None;
    for (index, question) in questions.iter().enumerate() {
        if skipped == Some(question.function.as_str()) {
            continue;
        }
        show(question, index + 1, questions.len());
        loop {
            let Some(line) = lines.next_line().await.context("standard input cannot be read")? else {
                return Ok(any);
            };
            match choice(question, &line) {
                Choice::Answer(place, answer) => {
                    if place == AnswerPlace::Skip {
                        skipped = Some(&question.function);
                    }
                    add_answer(answers, &question.function, &place, answer);
                    write_answers(answers, file)?;
                    any = true;
                    break;
                }
                Choice::Later => break,
                Choice::End => return Ok(any),
                Choice::Unclear => note("a number, a JSON object, x, return or q"),
            }
        }
    }
    Ok(any)
}

fn show(question: &OpenQuestion, number: usize, all: usize) {
    note("");
    note(&format!("[{number}/{all}] {}", question.declaration));
    note(&question.question);
    for (index, (means, answer)) in question.proposals.iter().enumerate() {
        note(&format!("  {}  {means}   {answer}", index + 1));
    }
    note("  {…}  members of the description as JSON");
    note("  x  leave the function out   return  later   q  end");
}

fn choice(question: &OpenQuestion, line: &str) -> Choice {
    let line = line.trim();
    if let Some((_, answer)) =
        line.parse::<usize>().ok().and_then(|number| question.proposals.get(number.wrapping_sub(1)))
    {
        return Choice::Answer(question.place.clone(), answer.clone());
    }
    match line {
        "" => Choice::Later,
        "q" => Choice::End,
        "x" => Choice::Answer(AnswerPlace::Skip, json!(true)),
        _ => match serde_json::from_str::<Value>(line) {
            Ok(answer) if answer.is_object() => Choice::Answer(question.place.clone(), answer),
            _ => Choice::Unclear,
        },
    }
}

fn write_answers(answers: &Value, file: &Path) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(answers).context("the answers cannot be written")?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_choice() {
        let place = AnswerPlace::Parameter("out".to_owned());
        let question = OpenQuestion {
            function: "f".to_owned(),
            declaration: "int f(char *out)".to_owned(),
            place: place.clone(),
            question: "how large?".to_owned(),
            proposals: vec![("room".to_owned(), json!({ "isIn": false }))],
        };
        for (line, expect) in [
            ("1", Choice::Answer(place.clone(), json!({ "isIn": false }))),
            ("2", Choice::Unclear),
            ("0", Choice::Unclear),
            ("", Choice::Later),
            ("q", Choice::End),
            ("x", Choice::Answer(AnswerPlace::Skip, json!(true))),
            (r#"{"isOut": true}"#, Choice::Answer(place, json!({ "isOut": true }))),
            ("perhaps", Choice::Unclear),
        ] {
            assert_eq!(choice(&question, line), expect, "{line}");
        }
    }
}
