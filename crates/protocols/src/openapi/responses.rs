//! What an operation gives: the schema of its good answers.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use toolmux_core::schema::Schema;
use toolmux_core::tool::Returns;

use super::document::{ApiDocument, Edition, text_of, texts_of};
use super::media::{MediaClass, best_media};
use super::path_items::FoundOperation;
use super::schema_writer::{Direction, SchemaWriter};

/// The longest schema by whose text operations with the same answers are found.
const MOST_KEY: usize = 512;

/// The schema of null.
static NULL: LazyLock<Value> = LazyLock::new(|| json!({ "type": "null" }));

/// Who wrote the schemas of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    OfDocument,
    /// Another toolmux: they are those of tools.
    OfToolmux,
}

/// Schemas of answers that were written so far: many operations give the same.
#[derive(Default)]
pub(super) struct AnswerSchemas(HashMap<String, Schema>);

impl AnswerSchemas {
    /// What an operation gives.
    pub(super) fn returns(
        &mut self,
        document: &ApiDocument,
        found: &FoundOperation<'_>,
        form: AnswerForm,
    ) -> Returns {
        let good = good_answers(document, found);
        if good.is_empty() {
            return Returns::Anything;
        }
        if good.iter().all(|answer| matches!(answer, GoodAnswer::Empty)) {
            return Returns::Nothing;
        }
        // One that may be anything else says nothing about the value.
        if good.iter().any(|answer| matches!(answer, GoodAnswer::Other)) {
            return Returns::Anything;
        }
        let writer = match (form, text_of(found.operation, "operationId")) {
            (AnswerForm::OfToolmux, Some(id)) => SchemaWriter::unchanged(document, format!("{id}.output.")),
            _ => SchemaWriter::new(document, Direction::Response),
        };
        Returns::Matching(self.schema(writer, &good))
    }

    fn schema<'d>(&mut self, mut writer: SchemaWriter<'d>, good: &[GoodAnswer<'d>]) -> Schema {
        let document = writer.document();
        let mut schemas: Vec<&Value> = good.iter().filter_map(GoodAnswer::described).collect();
        schemas.dedup();
        if good.iter().any(|answer| matches!(answer, GoodAnswer::Empty)) {
            schemas.push(&NULL);
        }
        let key = json!(schemas).to_string();
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        let mut written: Vec<Value> =
            schemas.iter().map(|schema| top(document, schema, &mut writer)).collect();
        let one = if written.len() == 1 { written.remove(0) } else { json!({ "anyOf": written }) };
        let schema = Schema::new(writer.finish(one));
        if key.len() <= MOST_KEY {
            self.0.insert(key, schema.clone());
        }
        schema
    }
}

/// The schema of a whole answer. A reference is written out once, so that its type shows at the top: clients look there.
fn top<'d>(document: &'d ApiDocument, schema: &'d Value, writer: &mut SchemaWriter<'d>) -> Value {
    match document.followed(schema) {
        Ok(map) => Value::Object(writer.members(map)),
        Err(_) => writer.write(schema),
    }
}

enum GoodAnswer<'d> {
    Json(&'d Value),
    Empty,
    /// Text or bytes, or JSON of which nothing is said.
    Other,
}

impl<'d> GoodAnswer<'d> {
    /// JSON of a schema. One that takes anything says nothing, and one that takes null alone is no value.
    fn of(schema: &'d Value) -> Self {
        let says_nothing = schema.as_object().is_some_and(Map::is_empty) || *schema == Value::Bool(true);
        match schema {
            _ if says_nothing => GoodAnswer::Other,
            schema if *schema == *NULL => GoodAnswer::Empty,
            schema => GoodAnswer::Json(schema),
        }
    }

    fn described(&self) -> Option<&'d Value> {
        match self {
            GoodAnswer::Json(schema) => Some(schema),
            GoodAnswer::Empty | GoodAnswer::Other => None,
        }
    }
}

/// The answers with a 2xx status.
fn good_answers<'d>(document: &'d ApiDocument, found: &FoundOperation<'d>) -> Vec<GoodAnswer<'d>> {
    let responses = found.operation.get("responses").and_then(Value::as_object);
    let good = responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2'));
    let read = good.filter_map(|(_, response)| document.followed(response).ok());
    read.map(|response| answer(document, found, response)).collect()
}

fn answer<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    response: &'d Map<String, Value>,
) -> GoodAnswer<'d> {
    match document.edition {
        Edition::V2 => match response.get("schema") {
            None => GoodAnswer::Empty,
            Some(schema) if produces_json(document, found) => GoodAnswer::of(schema),
            Some(_) => GoodAnswer::Other,
        },
        Edition::V3_0 | Edition::V3_1 => {
            let content =
                response.get("content").and_then(Value::as_object).filter(|content| !content.is_empty());
            let Some(content) = content else { return GoodAnswer::Empty };
            // Requests prefer JSON where a server can give several types.
            match best_media(content) {
                Some((MediaClass::Json, _, media)) => {
                    media.get("schema").map_or(GoodAnswer::Other, GoodAnswer::of)
                }
                _ => GoodAnswer::Other,
            }
        }
    }
}

/// Whether an operation of 2.0 answers in JSON, which is what one means that does not say.
fn produces_json(document: &ApiDocument, found: &FoundOperation<'_>) -> bool {
    let mut produced = texts_of(found.operation, "produces");
    if produced.is_empty() {
        produced = document.root.as_object().map(|root| texts_of(root, "produces")).unwrap_or_default();
    }
    produced.is_empty() || produced.iter().any(|kind| MediaClass::of(kind) == MediaClass::Json)
}
