//! What is wrong with arguments, in words that a model can act on.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::preview::{MOST_QUOTED, is_unknown};
use crate::arguments::kind_of;
use crate::nearest::nearest;
use crate::refusal::ParameterError;

/// How many characters of what a schema wants are told.
const MOST_WANTED: usize = 1_000;
/// How many faults of one call are told at most.
pub(super) const MOST_FAULTS: usize = 32;

/// One entry for each parameter that the error is about; `known` are the parameters at the top.
pub(super) fn describe(error: &jsonschema::ValidationError<'_>, known: &[String]) -> Vec<ParameterError> {
    let at = readable_path(error.instance_path().as_str());
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![ParameterError { parameter: below(name), message: "is required but missing".into() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .take(MOST_FAULTS)
            .map(|name| ParameterError { parameter: below(name), message: unknown(name, &at, known) })
            .collect(),
        kind => {
            let wanted = cut(wanted(kind, error, &at));
            let message = match error.instance() {
                value if is_unknown(value) => wanted,
                value => format!("{wanted}, got {}", quoted(value)),
            };
            vec![ParameterError { parameter: at, message }]
        }
    }
}

/// Words that quote a schema are as long as its author likes.
fn cut(mut words: String) -> String {
    if let Some((end, _)) = words.char_indices().nth(MOST_WANTED) {
        words.truncate(end);
        words.push('…');
    }
    words
}

fn unknown(name: &str, at: &str, known: &[String]) -> String {
    match nearest(name, known.iter().map(String::as_str)).filter(|_| at.is_empty()) {
        Some(meant) => format!("is not a known parameter; did you mean `{meant}`?"),
        None => "is not a known parameter".to_owned(),
    }
}

fn wanted(kind: &ValidationErrorKind, error: &jsonschema::ValidationError<'_>, at: &str) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => format!("must be {}", article(&kind.to_string())),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<String> = kinds.iter().map(|kind| article(&kind.to_string())).collect();
            format!("must be {}", kinds.join(" or "))
        }
        Kind::Enum { options } => {
            let options: Vec<String> =
                options.as_array().into_iter().flatten().take(20).map(ToString::to_string).collect();
            format!("must be one of {}", options.join(", "))
        }
        Kind::Constant { expected_value } => format!("must be {expected_value}"),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::UniqueItems => "must not repeat an item".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        Kind::Format { format } => format!("must be a valid {format}"),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, at),
        Kind::OneOfMultipleValid { .. } => {
            "must fit exactly one of its alternatives but fits several".to_owned()
        }
        _ => format!("does not satisfy `{}`: {}", kind.keyword(), error.masked()),
    }
}

/// The alternatives of `anyOf` and `oneOf`, each by its first fault.
fn alternatives(context: &[Vec<jsonschema::ValidationError<'static>>], at: &str) -> String {
    let words = |told: ParameterError| {
        let wanted = told.message.split(", got ").next().unwrap_or_default().to_owned();
        match told.parameter.strip_prefix(at).map(|below| below.trim_start_matches('.')) {
            Some("") | None => wanted,
            Some(below) => format!("{below} {wanted}"),
        }
    };
    let is_known = |fault: &&jsonschema::ValidationError<'static>| !is_unknown(fault.instance());
    let firsts = context.iter().filter_map(|faults| faults.iter().find(is_known));
    let each: Vec<String> = firsts.flat_map(|fault| describe(fault, &[])).map(words).take(8).collect();
    if each.is_empty() { "must fit one of its alternatives".to_owned() } else { each.join(" or ") }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

fn quoted(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let text = value.to_string();
    let short = match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    format!("{} {short}", kind_of(value))
}

/// `/items/0/price` as `items[0].price`.
fn readable_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            path.extend(["[", part, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    path
}
