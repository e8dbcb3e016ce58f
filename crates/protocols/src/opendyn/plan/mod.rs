//! From a document to what can be called: the worker's plan, and beside it how the values of each function
//! cross between JSON and bytes. What C cannot do with a description is told as a fault of the document.

mod lengths;
mod parameter;
mod returns;
mod structures;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolmux_core::json_text::read_strict;
use toolmux_dylib_host::plan;

use super::carrier::Carrier;
use super::document::{Document, Function, Reader, Success, ValueNames};
use super::handles::Slot;
use crate::documents::fault::{Fault, Faults, Path, not_json, without_bom};

/// The member of a result that says why a function failed, in the library's own words.
pub(super) const ERROR_MESSAGE: &str = "errorMessage";

/// A document whose functions can be called.
pub(super) struct Book {
    pub(super) version: String,
    /// What the library is for.
    pub(super) about: Option<String>,
    pub(super) functions: Vec<Planned>,
    /// Functions that cannot be called, each with the reason.
    pub(super) unusable: Vec<(String, String)>,
    /// Texts for values that functions return.
    pub(super) codes: std::collections::HashMap<String, String>,
}

/// One function as JSON and as C.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) function: plan::CFunction,
    /// What callers give, in the order of the document.
    pub(super) inputs: Vec<Input>,
    /// The values of CALL, in order.
    pub(super) feeds: Vec<Feed>,
    /// The values of RESULT, in order.
    pub(super) outputs: Vec<Output>,
    /// The same as far as finding handles in a RESULT needs to know.
    pub(super) slots: Arc<[Slot]>,
    /// Most objects that a call opens.
    pub(super) opens: usize,
    pub(super) success: Option<Success>,
    /// Names of values that it returns.
    pub(super) return_names: Option<Arc<ValueNames>>,
    /// Whether what a returned value means stands beside it as `code`.
    pub(super) tells_code: bool,
    /// Whether callers are told of `errno`.
    pub(super) tells_errno: bool,
    pub(super) timeout: Option<Duration>,
}

/// An argument that a caller gives.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) carrier: Carrier,
    /// The bytes of it when the caller gives none; nothing when the caller must.
    pub(super) absent: Option<Vec<u8>>,
    pub(super) default: Option<Value>,
    /// Whether `null` is a NULL pointer.
    pub(super) nullable: bool,
    /// Values that may be given by name.
    pub(super) names: Option<Arc<ValueNames>>,
    /// A handle whose object the function closes.
    pub(super) closes: bool,
}

/// Where a value of CALL comes from.
#[derive(Debug)]
pub(super) enum Feed {
    /// An input, by its index.
    Input(usize),
    /// Always these bytes.
    Fixed(Vec<u8>),
}

/// A value of RESULT.
#[derive(Debug)]
pub(super) struct Output {
    /// The member it becomes; nothing for a length that callers need not see.
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) carrier: Carrier,
    /// Whether it may be a NULL pointer.
    pub(super) nullable: bool,
    /// Whether it is nothing when what the function returned is no length of it.
    pub(super) must_fit: bool,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Return,
    Parameter,
}

impl Planned {
    /// The kinds of the objects that a call opens.
    pub(super) fn opened_kinds(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().filter_map(|output| match &output.carrier {
            Carrier::Handle(tag) => Some(tag.as_str()),
            Carrier::Word(_)
            | Carrier::One(_)
            | Carrier::Many(_)
            | Carrier::Text
            | Carrier::Bytes(_)
            | Carrier::Rows
            | Carrier::Structure(_)
            | Carrier::Structures(_)
            | Carrier::Texts
            | Carrier::Json => None,
        })
    }

    /// Whether a call opens or closes objects.
    pub(super) fn changes_handles(&self) -> bool {
        self.opens > 0 || self.inputs.iter().any(|input| input.closes)
    }
}

/// What of a text can be used, and all that is wrong with it; nothing when it is not an OpenDyn document at all.
pub(super) fn read(text: &str) -> (Option<Book>, Vec<Fault>) {
    let text = without_bom(text);
    let value = match read_strict(text) {
        Ok(value) => value,
        Err(error) => return (None, vec![not_json(&error)]),
    };
    let mut reader = Reader::new(&value);
    let document = reader.document(&value);
    let mut faults = reader.faults;
    let book = document.map(|document| book(document, &mut faults));
    (book, faults.placed(text))
}

/// Every fault of a text as an OpenDyn document; none means it is good.
pub fn check(text: &str) -> Vec<Fault> {
    read(text).1
}

fn book(document: Document, faults: &mut Faults) -> Book {
    let mut book = Book {
        version: document.version,
        about: document.about,
        functions: Vec::new(),
        unusable: document.unreadable,
        codes: document.codes,
    };
    for function in document.functions {
        let before = faults.fatal_count();
        let name = function.name.clone();
        let has_codes = !book.codes.is_empty();
        match (Planner { function: &function, has_codes, faults }.planned(), faults.words_since(before)) {
            (Some(planned), None) => book.functions.push(planned),
            (_, reason) => book.unusable.push((name, reason.unwrap_or_default())),
        }
    }
    book
}

/// Plans one function.
struct Planner<'a> {
    function: &'a Function,
    /// Whether the document has texts for values that functions return.
    has_codes: bool,
    faults: &'a mut Faults,
}

/// Which part of the function a fault is about.
#[derive(Clone, Copy)]
enum Place {
    Function,
    Parameter(usize),
    Return,
}

impl Planner<'_> {
    fn planned(mut self) -> Option<Planned> {
        let function = self.function;
        if function.parameters.len() > plan::MAX_PARAMETERS {
            let what = format!("there are more than {} parameters", plan::MAX_PARAMETERS);
            self.reject(Place::Function, what, "such a function cannot be called");
            return None;
        }
        let (returns, returned) = self.returns()?;
        let success = function.returns.as_ref().and_then(|returns| returns.success.clone());
        let mut planned = Planned {
            name: function.name.clone(),
            description: function.description.clone(),
            function: plan::CFunction {
                symbol: function.symbol.clone(),
                variable: function.variable,
                parameters: Vec::new(),
                returns,
                fixed_parameters: function.fixed,
                // Where a function can fail, its `errno` may tell that the sandbox is why.
                errno: function.errno || success.is_some(),
                explanation: self.explanation(success.as_ref()),
            },
            inputs: Vec::new(),
            feeds: Vec::new(),
            outputs: returned.into_iter().collect(),
            slots: Arc::default(),
            opens: 0,
            success,
            return_names: function.returns.as_ref().and_then(|returns| returns.form.names.clone()),
            tells_code: false,
            tells_errno: function.errno,
            timeout: function.timeout,
        };
        for index in 0..function.parameters.len() {
            let pass = self.parameter(index, &mut planned)?;
            let name = function.parameters[index].name.clone();
            planned.function.parameters.push(plan::CParameter { name, pass });
        }
        planned.tells_code = self.tells_code(&planned);
        self.check_names(&planned);
        self.check_variadic();
        planned.slots = planned.outputs.iter().map(|output| output.carrier.slot()).collect();
        planned.opens = planned.opened_kinds().count();
        Some(planned)
    }

    /// The function that gives the reason of a failure, where the document says what a failure is.
    fn explanation(&mut self, success: Option<&Success>) -> Option<plan::Explanation> {
        let message = self.function.error_message.as_ref()?;
        let Some(success) = success else {
            let what = "`errorMessage` is asked after a failure, and nothing says what a failure is";
            self.reject(Place::Function, what, "add `return.success`");
            return None;
        };
        let of = match message.of.as_deref() {
            None => plan::ExplanationOf::Nothing,
            Some("return") => plan::ExplanationOf::Return,
            Some(name) => plan::ExplanationOf::Parameter(self.index_of(name, Place::Function)?),
        };
        let (symbol, indirect) = (message.symbol.clone(), message.indirect);
        Some(plan::Explanation { symbol, of, indirect, success: success.condition() })
    }

    /// A document may have an output called `code`; then there is no room for another.
    fn tells_code(&self, planned: &Planned) -> bool {
        let returns_number = planned
            .outputs
            .first()
            .is_some_and(|output| output.role == Role::Return && matches!(output.carrier, Carrier::Word(_)));
        let is_free = !planned.outputs.iter().any(|output| output.name.as_deref() == Some("code"));
        let has_texts = self.has_codes || planned.return_names.is_some();
        planned.success.is_some() || (has_texts && returns_number && is_free)
    }

    /// The result is one object: every output needs a name of its own.
    fn check_names(&mut self, planned: &Planned) {
        let mut names: Vec<&str> = Vec::new();
        if planned.tells_errno {
            names.push("errno");
        }
        if planned.success.is_some() {
            names.push("code");
        }
        if planned.function.explanation.is_some() {
            names.push(ERROR_MESSAGE);
        }
        for output in &planned.outputs {
            let Some(name) = output.name.as_deref() else { continue };
            if names.contains(&name) {
                let what = format!("two members of the result would be called `{name}`");
                self.reject(Place::Function, what, "rename the return or the output");
            }
            names.push(name);
        }
    }

    fn check_variadic(&mut self) {
        if self.function.fixed.is_some_and(|fixed| fixed > self.function.parameters.len()) {
            let what = "`fixedParameters` is more than there are parameters";
            self.reject(Place::Function, what, "count the parameters before `...`");
        }
    }

    fn reject(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.tell(place, |faults, at| faults.fatal(at, what, remedy));
    }

    fn warn(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.tell(place, |faults, at| faults.warning(at, what, remedy));
    }

    /// Refuses what the specification allows and C needs to know more about.
    fn reject_legal(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.tell(place, |faults, at| faults.unusable(at, what, remedy));
    }

    fn tell(&mut self, place: Place, tell: impl FnOnce(&mut Faults, &Path<'_>)) {
        let functions = Path::Root.member("functions");
        let function = functions.item(self.function.index);
        match place {
            Place::Function => tell(self.faults, &function),
            Place::Parameter(index) => {
                tell(self.faults, &function.member("parameters").item(index).member("schema"));
            }
            Place::Return => tell(self.faults, &function.member("return").member("schema")),
        }
    }
}
