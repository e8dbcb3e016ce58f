//! What can be made of one parameter: a description, a question, or nothing.

use serde_json::{Value, json};

use super::buffers::byte_proposals;
use super::c_type::{CType, Signature};
use super::classify::Function;
use super::comment::allows_null;
use super::facts::object_of;
use super::forms::{array, bytes, handle, input, null, number, output, text};
use super::guess::{Confidence, Proposal, ask, guess};
use super::words::{is_destination, is_optional, is_plural, is_read_and_written, is_user_data};

impl Function<'_> {
    /// The parameter at an index; the reason where it makes the function impossible.
    pub(super) fn parameter(&self, index: usize) -> Result<Value, String> {
        let mut parameter = self.undescribed(index)?;
        let name = &self.names[index];
        if let Some(documented) = self.declaration.documentation.parameter(name) {
            parameter["description"] = documented.text.as_str().into();
        }
        self.add_optional(index, &mut parameter);
        self.add_flag_names(index, &mut parameter);
        Ok(parameter)
    }

    fn undescribed(&self, index: usize) -> Result<Value, String> {
        if let Some((buffer, pair)) = self.measured_by(index)
            && let Some(paired) = self.paired(buffer, pair)
        {
            return Ok(self.paired_length(index, &paired));
        }
        if let Some(pair) = &self.pairs[index]
            && let Some(paired) = self.paired(index, pair)
        {
            return Ok(self.paired_buffer(&paired));
        }
        if let Some(parameter) = self.edge(index) {
            return Ok(parameter);
        }
        let (name, c) = (&self.names[index], &self.declaration.parameters[index].c);
        if let Some(schema) = number(&self.facts.header.types, c, false) {
            return Ok(input(name, schema));
        }
        match c {
            CType::Pointer { to, constant } => self.pointer(index, to, *constant),
            CType::Function(_) => Ok(self.callback(index)),
            CType::Opaque(kind) => self.structure_by_value(kind).map(|schema| input(name, schema)),
            CType::Other(what) => Err(format!("it uses {what}")),
            CType::Void | CType::Scalar(_) | CType::Enum(_) | CType::Array(..) => {
                Err(format!("`{name}` has a type that cannot be read"))
            }
        }
    }

    fn pointer(&self, index: usize, to: &CType, constant: bool) -> Result<Value, String> {
        let name = &self.names[index];
        match to {
            CType::Function(_) => Ok(self.callback(index)),
            CType::Other(what) => Err(format!("it uses {what}")),
            CType::Scalar("char") if constant => Ok(input(name, text())),
            CType::Scalar("char") => Ok(self.lone_text(index)),
            CType::Scalar("unsigned char") => Ok(self.lone_bytes(index, constant)),
            CType::Scalar(_) | CType::Enum(_) => Ok(self.lone_number(index, to, constant)),
            CType::Opaque(kind) if self.facts.is_value(kind) => Ok(self.structure(index, kind, constant)),
            CType::Opaque(kind) => Ok(self.object(index, kind)),
            CType::Array(element, count) => Ok(self.fixed_array(index, element, *count, constant)),
            CType::Void => Ok(self.anything(index)),
            CType::Pointer { to, constant } => self.pointer_to_pointer(index, to, *constant),
        }
    }

    fn lone_number(&self, index: usize, to: &CType, constant: bool) -> Value {
        let name = &self.names[index];
        let types = &self.facts.header.types;
        let (Some(word), Some(one)) = (types.number(to), number(types, to, true)) else { return json!({}) };
        // A lone number that is written is one number, unless it is named as many.
        let is_many = constant || is_plural(name) || is_destination(name);
        if let Some(like) = self.counted_like(index).filter(|_| is_many) {
            let mut parameter = if constant { input(name, array(word)) } else { output(name, array(word)) };
            parameter["schema"]["cType"]["size"] = like.into();
            guess(
                &mut parameter,
                Confidence::Low,
                format!("`{name}` is taken to have as many elements as `{like}`"),
            );
            return parameter;
        }
        if is_plural(name) {
            let mut parameter = input(name, array(word));
            ask(
                &mut parameter,
                format!("`{name}` points to elements: how many, and which way?"),
                number_proposals(),
            );
            return parameter;
        }
        let taken = self.direction(name) == Some("in,out") || is_read_and_written(name);
        let (mut parameter, reason) = match (constant, taken) {
            (true, _) => (input(name, one), format!("`{name}` is taken for one `{word}`")),
            (false, true) => {
                (input(name, one), format!("`{name}` is taken for one `{word}` that is read and changed"))
            }
            (false, false) => (output(name, one), format!("`{name}` is taken for an output of one `{word}`")),
        };
        if taken && !constant {
            parameter["isOut"] = true.into();
            parameter["schema"]["default"] = if word == "bool" { false.into() } else { 0.into() };
            parameter["required"] = false.into();
        }
        let documented = self.direction(name).is_some();
        guess(&mut parameter, if documented { Confidence::High } else { Confidence::Medium }, reason);
        parameter
    }

    fn object(&self, index: usize, kind: &str) -> Value {
        let name = &self.names[index];
        let mut parameter = input(name, handle(kind));
        if self.facts.closes(&self.declaration.name, index) {
            parameter["schema"]["cType"]["closes"] = true.into();
            let reason = format!("`{}` is taken to end the `{kind}`", self.declaration.name);
            guess(&mut parameter, Confidence::Medium, reason);
        }
        parameter
    }

    /// `uuid_t out`, `double v[3]`, `mpz_t x`.
    fn fixed_array(&self, index: usize, element: &CType, count: Option<u64>, constant: bool) -> Value {
        let name = &self.names[index];
        if let CType::Opaque(kind) = element {
            return self.object(index, kind);
        }
        let word = self.facts.header.types.number(element);
        let (Some(word), Some(count)) = (word, count) else {
            if let (Some(word), Some(like)) = (word, self.counted_like(index)) {
                let mut parameter =
                    if constant { input(name, array(word)) } else { output(name, array(word)) };
                parameter["schema"]["cType"]["size"] = like.into();
                guess(
                    &mut parameter,
                    Confidence::Low,
                    format!("`{name}` is taken to have as many elements as `{like}`"),
                );
                return parameter;
            }
            let mut parameter = input(name, array(word.unwrap_or("unsigned long")));
            ask(
                &mut parameter,
                format!("`{name}` is an array: how many elements, and which way?"),
                number_proposals(),
            );
            return parameter;
        };
        let schema = match element {
            CType::Scalar("char") => text(),
            CType::Scalar("unsigned char") => bytes(),
            _ => array(word),
        };
        let taken = constant || self.direction(name) == Some("in");
        let mut parameter = if taken { input(name, schema) } else { output(name, schema) };
        if *element == CType::Scalar("unsigned char") {
            parameter["schema"]["cType"]["encoding"] = "hex".into();
        }
        if !taken || *element != CType::Scalar("char") {
            parameter["schema"]["cType"]["size"] = count.into();
        }
        guess(&mut parameter, Confidence::High, format!("`{name}` is declared with {count} elements"));
        parameter
    }

    fn anything(&self, index: usize) -> Value {
        let name = &self.names[index];
        let behind_callback = index > 0 && is_callback(&self.declaration.parameters[index - 1].c);
        if is_user_data(name) || behind_callback {
            let mut parameter = input(name, null());
            guess(
                &mut parameter,
                Confidence::High,
                format!("`{name}` is only handed to callbacks: it is always NULL"),
            );
            return parameter;
        }
        let mut parameter = input(name, bytes());
        ask(&mut parameter, format!("`{name}` points to anything: bytes, or an object?"), byte_proposals());
        parameter
    }

    fn callback(&self, index: usize) -> Value {
        let name = &self.names[index];

        if is_row_callback(&self.declaration.parameters[index].c) {
            let c = json!({ "type": "void", "isPointer": true, "callback": "rows" });
            let has_rows = self.names.iter().any(|known| known == "rows");
            let shown = if has_rows { name.as_str() } else { "rows" };
            let mut parameter = output(shown, json!({ "type": "array", "cType": c }));
            guess(&mut parameter, Confidence::High, format!("`{name}` is called with the rows of a result"));
            return parameter;
        }
        if let Some(parameter) = self.collecting(index) {
            return parameter;
        }
        let mut parameter = input(name, null());
        if self.may_be_null(name) {
            guess(
                &mut parameter,
                Confidence::Medium,
                format!("the function `{name}` may be left out: it is always NULL"),
            );
            return parameter;
        }
        let proposals = vec![Proposal {
            means: "it may be NULL, and is never given",
            answer: json!({ "schema": { "const": null } }),
        }];
        ask(
            &mut parameter,
            format!("`{name}` is a function that the library calls: may it be left out?"),
            proposals,
        );
        parameter
    }

    fn pointer_to_pointer(&self, index: usize, to: &CType, constant: bool) -> Result<Value, String> {
        let name = &self.names[index];
        if let Some(parameter) = self.text_list(index, to, constant) {
            return Ok(parameter);
        }
        match to {
            CType::Function(_) | CType::Other(_) => Err("it takes or gives a function".to_owned()),
            CType::Opaque(kind) if !is_plural(name) && !self.is_ending() => {
                let mut parameter = output(name, handle(kind));
                let confidence = if self.facts.is_made(kind) { Confidence::Medium } else { Confidence::Low };
                guess(
                    &mut parameter,
                    confidence,
                    format!("`{name}` is taken for an output of a new `{kind}`"),
                );
                Ok(parameter)
            }
            CType::Scalar("char") if !is_plural(name) && !self.is_ending() => {
                Ok(self.text_by_pointer(index, constant))
            }
            CType::Scalar("unsigned char") if self.pairs[index].is_some() => Ok(self.bytes_by_pointer(index)),
            _ => {
                let mut parameter = output(name, handle(object_of(to).unwrap_or("object")));
                let proposals = vec![
                    Proposal { means: "the function writes a new object there", answer: json!({}) },
                    Proposal {
                        means: "it is always NULL",
                        answer: json!({ "isIn": true, "schema": null_pointer() }),
                    },
                ];
                ask(
                    &mut parameter,
                    format!("`{name}` is a pointer to a pointer: what does it lead to?"),
                    proposals,
                );
                Ok(parameter)
            }
        }
    }

    /// `char **error`: a text that the library makes.
    fn text_by_pointer(&self, index: usize, constant: bool) -> Value {
        let name = &self.names[index];
        let mut parameter = output(name, text());
        parameter["schema"]["cType"]["indirect"] = true.into();
        let free = self.facts.free_for(&self.declaration.documentation.whole).filter(|_| !constant);
        match free {
            Some(free) => {
                parameter["schema"]["cType"]["free"] = free.into();
                guess(
                    &mut parameter,
                    Confidence::Medium,
                    format!("`{name}` is taken for a text that `{free}` frees"),
                );
            }
            None => guess(
                &mut parameter,
                Confidence::Low,
                format!("`{name}` is taken for a text that stays with the library"),
            ),
        }
        parameter
    }

    /// `unsigned char **out, size_t *length`.
    fn bytes_by_pointer(&self, index: usize) -> Value {
        let name = &self.names[index];
        let mut parameter = output(name, bytes());
        let c = &mut parameter["schema"]["cType"];
        c["indirect"] = true.into();
        if let Some(pair) = &self.pairs[index] {
            c["lengthFrom"] = self.names[pair.length].as_str().into();
        }
        if let Some(free) = self.facts.free_for(&self.declaration.documentation.whole) {
            c["free"] = free.into();
        }
        guess(&mut parameter, Confidence::Low, format!("`{name}` is taken for bytes that the library makes"));
        parameter
    }

    /// Which pointers may be NULL, and which may be left out.
    fn add_optional(&self, index: usize, parameter: &mut Value) {
        let c = &parameter["schema"]["cType"];
        let is_hidden = parameter["schema"].get("const").is_some() || c.get("lengthOf").is_some();
        let is_pointer = c["isPointer"] == true && parameter["isIn"] == true;
        if !is_pointer || is_hidden || c["closes"] == true || parameter["required"] == false {
            return;
        }
        let name = &self.names[index];
        if self.may_be_null(name) || is_optional(name) {
            parameter["required"] = false.into();
            return;
        }
        let is_first =
            !self.declaration.parameters[..index].iter().any(|one| matches!(one.c, CType::Pointer { .. }));
        let has_size = c.get("size").is_some();
        // What nobody makes, and is named as a context, is usually left to the library.
        let kind = c["handle"].as_str().unwrap_or_default();
        let is_unmade = !kind.is_empty() && !self.facts.is_made(kind) && is_setting(kind);
        if is_unmade {
            parameter["schema"]["nullable"] = true.into();
            return;
        }
        // Where a library has a context of its own, NULL often stands for it.
        let is_context = matches!(name.as_str(), "ctx" | "context") && self.names.len() > 1;
        if (!is_first || is_context) && !has_size && parameter.get("isOut").is_none() {
            parameter["schema"]["nullable"] = true.into();
        }
    }

    pub(super) fn may_be_null(&self, name: &str) -> bool {
        let documentation = &self.declaration.documentation;
        let documented = documentation.parameter(name).is_some_and(|one| allows_null(&one.text, None));
        documented || allows_null(&documentation.whole, Some(name))
    }
}

/// The function behind a pointer, or one that is passed as if it were a value.
pub(super) fn signature_of(c: &CType) -> Option<&Signature> {
    match c {
        CType::Function(signature) => Some(signature),
        CType::Pointer { to, .. } => match &**to {
            CType::Function(signature) => Some(signature),
            _ => None,
        },
        _ => None,
    }
}

/// A kind of object for which libraries have one of their own.
fn is_setting(kind: &str) -> bool {
    let kind = kind.to_lowercase();
    ["context", "ctx", "allocator", "options", "jit_stack"].iter().any(|part| kind.contains(part))
}

fn null_pointer() -> Value {
    json!({ "cType": { "type": "void", "isPointer": true }, "const": null })
}

pub(super) fn is_callback(c: &CType) -> bool {
    match c {
        CType::Function(_) => true,
        CType::Pointer { to, .. } => matches!(**to, CType::Function(_)),
        _ => false,
    }
}

/// `int (*)(void *, int, char **, char **)`
fn is_row_callback(c: &CType) -> bool {
    let Some(signature) = signature_of(c) else { return false };
    let takes: Vec<&CType> = signature.parameters.iter().map(|one| &one.c).collect();
    let is_texts = |c: &CType| {
        matches!(c, CType::Pointer { to, .. }
        if matches!(&**to, CType::Pointer { to, .. } if **to == CType::Scalar("char")))
    };
    let is_data = |c: &CType| matches!(c, CType::Pointer { to, .. } if **to == CType::Void);
    matches!(&takes[..], [data, CType::Scalar("int"), values, names] if is_data(data) && is_texts(values) && is_texts(names))
}

fn number_proposals() -> Vec<Proposal> {
    vec![
        Proposal { means: "it is an array that is read", answer: json!({}) },
        Proposal {
            means: "it is written by the function: room for 1024 elements",
            answer: json!({ "isIn": false, "schema": { "cType": { "size": 1024 } } }),
        },
    ]
}
