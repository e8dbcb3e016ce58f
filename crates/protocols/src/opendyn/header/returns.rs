//! What can be made of what a function returns.

use serde_json::{Value, json};

use super::c_type::CType;
use super::classify::Function;
use super::forms::{bytes, handle, number, text};
use super::guess::{Confidence, Proposal, ask, guess};
use super::structures::structure_schema;
use super::words::{is_making, words};

/// Names of values that mean success.
const GOOD: [&str; 6] = ["OK", "SUCCESS", "NO_ERROR", "NOERROR", "NONE", "SUCCEEDED"];

impl Function<'_> {
    /// The return of the function; nothing for `void`.
    pub(super) fn returned(&self) -> Result<Option<Value>, String> {
        let types = &self.facts.header.types;
        let returns = &self.declaration.returns;
        if *returns == CType::Void {
            return Ok(None);
        }
        let mut returned = json!({ "name": self.return_name() });
        if let Some(text) = &self.declaration.documentation.returns {
            returned["description"] = text.as_str().into();
        }
        if let Some(schema) = number(types, returns, false) {
            returned["schema"] = schema;
            self.add_success(&mut returned);
            return Ok(Some(returned));
        }
        match returns {
            CType::Pointer { to, constant } => self.returned_pointer(&mut returned, to, *constant)?,
            CType::Opaque(kind) => returned["schema"] = self.structure_by_value(kind)?,
            CType::Other(what) => return Err(format!("it uses {what}")),
            CType::Function(_) => return Err("it takes or gives a function".to_owned()),
            CType::Void | CType::Scalar(_) | CType::Enum(_) | CType::Array(..) => {
                return Err("what it returns cannot be passed".to_owned());
            }
        }
        Ok(Some(returned))
    }

    /// A name that no parameter has: the result is one object.
    fn return_name(&self) -> &'static str {
        let is_free = |name: &&str| !self.names.iter().any(|known| known == name);
        ["result", "returned", "return_value"].into_iter().find(is_free).unwrap_or("value_returned")
    }

    fn returned_pointer(&self, returned: &mut Value, to: &CType, constant: bool) -> Result<(), String> {
        match to {
            CType::Scalar("char") if constant => returned["schema"] = text(),
            CType::Scalar("char") => self.returned_text(returned),
            CType::Scalar("unsigned char") if constant && self.names_text() => returned["schema"] = text(),
            CType::Opaque(kind) if self.facts.is_value(kind) => {
                returned["schema"] = structure_schema(kind, "object", true);
                guess(
                    returned,
                    Confidence::Medium,
                    format!("it is taken for one `{kind}` that stays with the library"),
                );
            }
            CType::Opaque(kind) => self.returned_object(returned, kind),
            CType::Pointer { to, .. } if **to == CType::Scalar("char") => self.returned_texts(returned),
            CType::Function(_) => return Err("it takes or gives a function".to_owned()),
            CType::Other(what) => return Err(format!("it uses {what}")),
            CType::Void | CType::Scalar("unsigned char") if self.counter().is_some() => {
                self.returned_bytes(returned, constant);
            }
            _ => {
                returned["schema"] = bytes();
                let question = "it returns a pointer: to what, how many, who frees it?";
                ask(returned, question, pointer_proposals());
            }
        }
        Ok(())
    }

    /// `void *imagePngPtr(image *im, int *size)`
    fn returned_bytes(&self, returned: &mut Value, constant: bool) {
        returned["schema"] = bytes();
        let c = &mut returned["schema"]["cType"];
        c["encoding"] = if self.is_of_texts() { "utf8" } else { "base64" }.into();
        if let Some(counter) = self.counter() {
            c["lengthFrom"] = self.names[counter].as_str().into();
        }
        let free = self
            .facts
            .free_for(&self.declaration.documentation.whole)
            .or(self.is_of_texts().then_some("free"));
        if let Some(free) = free.filter(|_| !constant) {
            c["free"] = free.into();
        }
        guess(
            returned,
            Confidence::Low,
            "it is taken to return bytes, as many as the length by pointer says",
        );
    }

    /// Where the length of what is returned is written.
    fn counter(&self) -> Option<usize> {
        (0..self.names.len()).find(|index| self.is_counter(*index) && self.measured_by(*index).is_none())
    }

    /// Whether the bytes of a function such as `u8_toupper` or `utf8_normalize` are text.
    pub(super) fn is_of_texts(&self) -> bool {
        words(&self.declaration.name).first().is_some_and(|first| matches!(first.as_str(), "u8" | "utf8"))
    }

    fn names_text(&self) -> bool {
        const TEXTS: [&str; 8] = ["text", "name", "str", "string", "msg", "message", "errmsg", "version"];
        words(&self.declaration.name).iter().any(|word| TEXTS.contains(&word.as_str()))
    }

    fn returned_text(&self, returned: &mut Value) {
        returned["schema"] = text();
        let whole = &self.declaration.documentation.whole;
        let lower = whole.to_lowercase();
        let makes = is_making(&self.declaration.name) || self.writes_text();
        let says = lower.contains("free") || lower.contains("malloc") || lower.contains("allocated");
        match self.facts.free_for(whole).filter(|free| *free != self.declaration.name && (makes || says)) {
            Some(free) => {
                returned["schema"]["cType"]["free"] = free.into();
                guess(
                    returned,
                    Confidence::Medium,
                    format!("the text that it returns is taken to be freed by `{free}`"),
                );
            }
            None => {
                guess(
                    returned,
                    Confidence::Low,
                    "the text that it returns is taken to stay with the library",
                );
            }
        }
    }

    fn writes_text(&self) -> bool {
        const VERBS: [&str; 8] = ["dump", "dumps", "render", "to", "print", "write", "format", "mprintf"];
        words(&self.declaration.name).iter().any(|word| VERBS.contains(&word.as_str()))
    }

    fn returned_object(&self, returned: &mut Value, kind: &str) {
        returned["schema"] = handle(kind);
        if is_making(&self.declaration.name) {
            returned["success"] = "nonnull".into();
        }
        guess(
            returned,
            Confidence::Medium,
            format!("what it returns is taken for a `{kind}` that stays open"),
        );
    }

    /// Which numbers mean success, where the header says so.
    fn add_success(&self, returned: &mut Value) {
        if let CType::Enum(name) = &self.declaration.returns {
            if self.returns_amount() {
                return;
            }
            let values = self.facts.header.types.enumeration(name).unwrap_or_default();
            let is_good =
                |(name, value): &(String, i128)| *value == 0 && GOOD.iter().any(|good| name.ends_with(good));
            if values.iter().any(is_good) && values.len() > 2 {
                returned["success"] = "==0".into();
                guess(returned, Confidence::High, format!("`{name}` has a value for success"));
            }
            return;
        }
        if self.gives_length() {
            let is_unsigned = self.declaration.returns == CType::Scalar("unsigned long");
            returned["success"] = if is_unsigned { "fits" } else { ">=0" }.into();
            guess(returned, Confidence::Medium, "what it returns is taken for the length of what it writes");
            return;
        }
        if !matches!(self.declaration.returns, CType::Scalar("int")) {
            return;
        }
        if let Some(success) = documented_success(&self.declaration.documentation.whole) {
            returned["success"] = success.into();
            guess(
                returned,
                Confidence::Medium,
                format!("the comment says that {} means success", words_of(success)),
            );
        }
        self.add_status_names(returned);
        self.add_named_success(returned);
    }

    /// Whether what is returned says whether it worked, and not how much there is.
    pub(super) fn is_status(&self) -> bool {
        let is_enum = matches!(self.declaration.returns, CType::Enum(_));
        is_enum || documented_success(&self.declaration.documentation.whole) == Some("==0")
    }
}

fn words_of(success: &str) -> &'static str {
    if success == "==0" { "0" } else { "0 or more" }
}

/// What a comment says about the number that is returned.
fn documented_success(comment: &str) -> Option<&'static str> {
    const ZERO: [&str; 14] = [
        "0 on success",
        "zero on success",
        "0 if success",
        "zero if success",
        "returns 0 if ok",
        "0 if no error",
        "return 0, or -1",
        "returns 0, or -1",
        "0 for success",
        "zero for success",
        "0 or an error code",
        "0 when success",
        "zero upon success",
        "0 upon success",
    ];
    const NOT_NEGATIVE: [&str; 4] =
        ["negative on error", "negative value on error", "or a negative error", "negative error code"];
    let lower = comment.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    if ZERO.iter().any(|text| lower.contains(text)) {
        return Some("==0");
    }
    NOT_NEGATIVE.iter().any(|text| lower.contains(text)).then_some(">=0")
}

fn pointer_proposals() -> Vec<Proposal> {
    vec![
        Proposal {
            means: "it is a text that stays with the library",
            answer: json!({ "schema": { "cType": { "type": "char" } } }),
        },
        Proposal {
            means: "it is an object that stays open",
            answer: json!({ "schema": { "cType": { "type": "void", "handle": "object" } } }),
        },
    ]
}
