//! Answers of a person to the questions of `describe`, kept in a file of their own: a new description of the same
//! library takes them over.

use serde_json::{Map, Value};

use super::header::{Described, has_question};

/// Members of a description that an answer settles.
const SETTLED: [&str; 3] = ["question", "proposals", "guess"];

/// Takes answers over into descriptions: `{"answers": {FUNCTION: {"parameters": {NAME: …}, "return": …}}}`. What an
/// answer holds is merged into the description; `"skip": true` leaves the function out. Gives the names of answers
/// that belong to no function.
pub(super) fn apply(described: &mut Described, answers: &Value) -> Vec<String> {
    let Some(answers) = answers["answers"].as_object() else { return Vec::new() };
    let mut unused = Vec::new();
    for (name, answer) in answers {
        let is_meant = |function: &Value| function["name"] == **name || function["symbol"] == **name;
        let ready = described.ready.iter().position(is_meant);
        let undecided = described.undecided.iter().position(is_meant);
        let function = match (ready, undecided) {
            (Some(at), _) => described.ready.remove(at),
            (None, Some(at)) => described.undecided.remove(at),
            (None, None) => {
                unused.push(name.clone());
                continue;
            }
        };
        if answer["skip"] == true {
            continue;
        }
        let function = answered(function, answer);
        match (has_question(&function), ready) {
            (true, _) => described.undecided.push(function),
            (false, Some(at)) => described.ready.insert(at, function),
            (false, None) => described.ready.push(function),
        }
    }
    unused
}

fn answered(mut function: Value, answer: &Value) -> Value {
    for (member, value) in answer.as_object().into_iter().flatten() {
        match member.as_str() {
            "parameters" => {
                let parameters = function["parameters"].as_array_mut().into_iter().flatten();
                for parameter in parameters {
                    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
                    if let Some(value) = value.get(&name) {
                        settle(parameter, value);
                    }
                }
            }
            "return" if function["return"].is_object() => settle(&mut function["return"], value),
            _ => merge(&mut function[member], value),
        }
    }
    let is_settled = !has_question(&function);
    if let Some(members) = function.as_object_mut() {
        members.remove("review");
        if is_settled {
            members.remove("declaration");
        }
    }
    function
}

fn settle(part: &mut Value, answer: &Value) {
    if let Some(members) = part.as_object_mut() {
        for settled in SETTLED {
            members.remove(settled);
        }
    }
    merge(part, answer);
    // What is fixed is given, whatever it was taken for before: a callback that is never there.
    if part["schema"].as_object().is_some_and(|schema| schema.contains_key("const")) {
        part["isIn"] = true.into();
        if let Some(c) = part["schema"]["cType"].as_object_mut() {
            c.remove("callback");
        }
    }
}

/// Members over members; `null` is a value like any other.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Adds one answer to those of a file.
pub fn add_answer(answers: &mut Value, function: &str, place: &AnswerPlace, answer: Value) {
    if !answers.is_object() {
        *answers = Value::Object(Map::new());
    }
    let function = &mut answers["answers"][function];
    match place {
        AnswerPlace::Parameter(name) => function["parameters"][name.as_str()] = answer,
        AnswerPlace::Return => function["return"] = answer,
        AnswerPlace::Skip => function["skip"] = true.into(),
    }
}

/// What an answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPlace {
    /// A parameter, by its name.
    Parameter(String),
    /// What the function returns.
    Return,
    /// The whole function, which is left out.
    Skip,
}

/// A question of a description.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    /// The function in the library.
    pub function: String,
    /// Its declaration in C.
    pub declaration: String,
    /// What the question is about.
    pub place: AnswerPlace,
    /// The question in words.
    pub question: String,
    /// What may be chosen: what it means, and the answer.
    pub proposals: Vec<(String, Value)>,
}

/// All questions of undecided functions, in their order.
pub fn open_questions(undecided: &[Value]) -> Vec<OpenQuestion> {
    undecided.iter().flat_map(questions_of).collect()
}

fn questions_of(function: &Value) -> Vec<OpenQuestion> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parameters = function["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|part| (part, AnswerPlace::Parameter(text(&part["name"]))));
    let symbol = function.get("symbol").unwrap_or(&function["name"]);
    parameters
        .chain([(&function["return"], AnswerPlace::Return)])
        .filter(|(part, _)| part.get("question").is_some())
        .map(|(part, place)| OpenQuestion {
            function: text(symbol),
            declaration: text(&function["declaration"]),
            place,
            question: text(&part["question"]),
            proposals: part["proposals"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|proposal| (text(&proposal["means"]), proposal["answer"].clone()))
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described() -> Described {
        let text = json!({ "type": "string", "cType": { "type": "char", "isPointer": true } });
        let proposals = json!([{ "means": "room", "answer": { "isIn": false } }]);
        let open = json!({ "name": "out", "schema": text, "isIn": true, "question": "how large?", "proposals": proposals });
        let function = json!({ "name": "f", "declaration": "int f(char *out)", "parameters": [open] });
        Described { undecided: vec![function], ..Described::default() }
    }

    #[test]
    fn an_answer_makes_a_function_ready_and_stays_with_its_name() {
        let mut first = described();
        let questions = open_questions(&first.undecided);
        assert_eq!(questions.len(), 1);
        assert_eq!(questions[0].question, "how large?");
        let mut answers = Value::Null;
        let answer = json!({ "isIn": false, "schema": { "cType": { "size": 64 }, "default": null } });
        add_answer(&mut answers, &questions[0].function, &questions[0].place, answer);
        assert_eq!(apply(&mut first, &answers), [] as [String; 0]);
        assert!(first.undecided.is_empty());
        let parameter = &first.ready[0]["parameters"][0];
        assert_eq!(parameter["schema"]["cType"], json!({ "type": "char", "isPointer": true, "size": 64 }));
        assert!(parameter.get("question").is_none() && first.ready[0].get("declaration").is_none());
        assert!(parameter["schema"].as_object().is_some_and(|schema| schema.contains_key("default")));
    }

    #[test]
    fn functions_may_be_left_out_and_strange_names_are_reported() {
        let mut first = described();
        let mut answers = Value::Null;
        add_answer(&mut answers, "f", &AnswerPlace::Skip, Value::Null);
        add_answer(&mut answers, "gone", &AnswerPlace::Skip, Value::Null);
        assert_eq!(apply(&mut first, &answers), ["gone"]);
        assert!(first.undecided.is_empty() && first.ready.is_empty());
    }
}
