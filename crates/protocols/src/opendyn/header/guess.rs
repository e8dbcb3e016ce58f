//! What was guessed about a parameter or a return, how sure that is, and questions where no guess is good enough.

use serde_json::{Value, json};

/// How sure a guess is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Adds a guess to what it is about. A later guess joins an earlier one; the lower confidence counts.
pub(super) fn guess(about: &mut Value, confidence: Confidence, reason: impl Into<String>) {
    let reason = reason.into();
    let earlier = about["guess"]["reason"].as_str().map(str::to_owned);
    let lower = match about["guess"]["confidence"].as_str() {
        Some("low") => Confidence::Low,
        Some("medium") => confidence.min(Confidence::Medium),
        _ => confidence,
    };
    let reason = earlier.map_or_else(|| reason.clone(), |earlier| format!("{earlier}; {reason}"));
    about["guess"] = json!({ "confidence": lower.word(), "reason": reason });
}

/// What a person may choose: what it means, and what is then changed in the description.
pub(super) struct Proposal {
    pub(super) means: &'static str,
    pub(super) answer: Value,
}

/// Adds a question to what it is about.
pub(super) fn ask(about: &mut Value, question: impl Into<String>, proposals: Vec<Proposal>) {
    about["question"] = question.into().into();
    let proposals: Vec<Value> =
        proposals.into_iter().map(|one| json!({ "means": one.means, "answer": one.answer })).collect();
    about["proposals"] = proposals.into();
}

/// The guesses of a function that a person should look at: those that are not sure.
pub(super) fn review(parts: &[&Value]) -> Vec<Value> {
    let unsure = parts.iter().filter(|part| {
        part["guess"]["confidence"].as_str().is_some_and(|confidence| confidence != Confidence::High.word())
    });
    unsure.filter_map(|part| part["guess"].get("reason").cloned()).collect()
}
