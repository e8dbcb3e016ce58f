//! Reads a document of good JSON into the model and goes on after a fault, so that all are told at once.
//! What public documents get wrong in ways that cannot be misunderstood is tolerated with a warning.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use toolmux_core::arguments::kind_of;
use toolmux_dylib_host::plan::VariableIs;

use super::content::{Document, ErrorMessage, Flow, Form, Function, Parameter, Return, Success};
use super::members::{Members, known};
use crate::documents::fault::{Faults, Path, Weight};
use crate::documents::function_list::{FunctionReader, read_functions};
use crate::opendyn::layout::Layout;

/// The longest name of a function.
const NAME_LENGTH: usize = 64;
/// The most functions of one document.
pub(in crate::opendyn) const MOST_FUNCTIONS: usize = 1024;
/// The longest a function may be given.
const MOST_TIMEOUT: Duration = Duration::from_mins(5);

/// Functions by name, each with its first fault.
type Unreadable = Vec<(String, String)>;

/// Reads one document.
pub(in crate::opendyn) struct Reader<'v> {
    pub(in crate::opendyn) faults: Faults,
    /// What references may name.
    pub(super) schemas: Option<&'v Map<String, Value>>,
    /// What `structure` may name.
    pub(super) structures: Option<&'v Map<String, Value>>,
    /// Those that were read already; nothing for one with a fault.
    pub(super) layouts: HashMap<&'v str, Option<Arc<Layout>>>,
}

impl<'v> Reader<'v> {
    pub(in crate::opendyn) fn new(document: &'v Value) -> Self {
        let schemas = document.get("schemas").and_then(Value::as_object);
        let structures = document.get("structures").and_then(Value::as_object);
        Reader { faults: Faults::default(), schemas, structures, layouts: HashMap::new() }
    }

    /// The document, when there is enough of one.
    pub(in crate::opendyn) fn document(&mut self, value: &'v Value) -> Option<Document> {
        let members = Members::of(value, &Path::Root, &mut self.faults)?;
        members.check_known(known::DOCUMENT, &mut self.faults);
        self.specification(&members);
        let (version, about) = self.info(&members);
        let codes = self.codes(&members);
        let (functions, unreadable) = self.functions(&members)?;
        Some(Document { version, about, functions, unreadable, codes })
    }

    /// The version of the specification: a later one may mean something else by the same words.
    fn specification(&mut self, members: &Members<'v, '_>) {
        let Some(version) = members.needed("opendyn", Weight::Tolerable, &mut self.faults) else { return };
        if version.split('.').next() != Some("1") {
            let what =
                format!("the document is written for OpenDyn `{version}`, and this program reads 1.0.0");
            self.faults.tolerable(&members.at.member("opendyn"), what, "write `1.0.0`");
        }
    }

    /// The version of the document, and what the library is for.
    fn info(&mut self, members: &Members<'v, '_>) -> (String, Option<String>) {
        let at = members.at.member("info");
        let first = || "1.0.0".to_owned();
        let Some(value) = members.get("info") else {
            let remedy = "add `\"info\": {\"title\": \"…\", \"version\": \"1.0.0\", \"callingConvention\": \"cdecl\"}`";
            self.faults.missing(members.at, "info", Weight::Tolerable, remedy);
            return (first(), None);
        };
        let Some(info) = Members::of(value, &at, &mut self.faults) else { return (first(), None) };
        info.check_known(known::INFO, &mut self.faults);
        info.needed("title", Weight::Tolerable, &mut self.faults);
        let convention = info.needed("callingConvention", Weight::Tolerable, &mut self.faults);
        let at = at.member("callingConvention");
        match convention.as_deref() {
            None | Some("cdecl") => {}
            Some("stdcall") => self.faults.warning(
                &at,
                "`stdcall` exists on 32-bit Windows only; the convention of this system is used",
                "write `cdecl`",
            ),
            Some(other) => self.faults.tolerable(
                &at,
                format!("there is no calling convention `{other}`; that of this system is used"),
                "write `cdecl`",
            ),
        }
        let about = info.text("description", &mut self.faults).filter(|about| !about.is_empty());
        (info.needed("version", Weight::Tolerable, &mut self.faults).unwrap_or_else(first), about)
    }

    fn codes(&mut self, members: &Members<'v, '_>) -> HashMap<String, String> {
        let at = members.at.member("code");
        let Some(codes) = members.get("code").and_then(|value| Members::of(value, &at, &mut self.faults))
        else {
            return HashMap::new();
        };
        let faults = &mut self.faults;
        codes.map.keys().filter_map(|name| Some((name.clone(), codes.text(name, faults)?))).collect()
    }

    fn functions(&mut self, members: &Members<'v, '_>) -> Option<(Vec<Function>, Unreadable)> {
        let at = members.at.member("functions");
        let Some(value) = members.get("functions") else {
            let remedy = "add `\"functions\": []` and list them in it";
            self.faults.missing(members.at, "functions", Weight::Fatal, remedy);
            return None;
        };
        let items = self.items(value, &at)?;
        if items.is_empty() {
            self.faults.warning(&at, "the document has no function", "describe at least one");
        }
        if items.len() > MOST_FUNCTIONS {
            let what = format!("there are {} functions, more than {MOST_FUNCTIONS}", items.len());
            self.faults.fatal(&at, what, "split it into several documents");
            return None;
        }
        Some(read_functions(self, items, &at))
    }

    fn function(&mut self, value: &'v Value, at: &Path<'_>, index: usize) -> Option<Function> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::FUNCTION, &mut self.faults);
        let name = members.needed("name", Weight::Fatal, &mut self.faults);
        if let Some(name) = &name {
            self.function_name(name, &at.member("name"));
        }
        let description = members.needed("description", Weight::Tolerable, &mut self.faults);
        let parameters = self.parameters(&members);
        let returns =
            members.get("return").map(|value| self.returns(value, &at.member("return"))).transpose();
        let symbol = members.text("symbol", &mut self.faults);
        let variable = self.variable(&members);
        let fixed = members.count("fixedParameters", &mut self.faults).map(|count| count as usize);
        let errno = members.switch("errno", &mut self.faults).unwrap_or(false);
        let error_message = self.error_message(&members);
        let timeout = self.timeout(&members);
        let name = name?;
        Some(Function {
            index,
            symbol: symbol.unwrap_or_else(|| name.clone()),
            name,
            description: description.unwrap_or_default(),
            parameters: parameters?,
            returns: returns.ok()?,
            variable,
            fixed,
            errno,
            error_message,
            timeout,
        })
    }

    fn variable(&mut self, members: &Members<'v, '_>) -> Option<VariableIs> {
        match members.get("variable")? {
            Value::Bool(is_variable) => is_variable.then_some(VariableIs::Value),
            Value::String(word) if word == "address" => Some(VariableIs::Address),
            other => {
                let what = format!("`variable` must be true or `address`, not {other}");
                self.faults.fatal(&members.at.member("variable"), what, "write `true`");
                None
            }
        }
    }

    fn function_name(&mut self, name: &str, at: &Path<'_>) {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || !name.bytes().all(good) || name.len() > NAME_LENGTH {
            let what = format!("`{name}` is not a valid name of a function");
            let remedy = format!("use 1 to {NAME_LENGTH} of `A-Z a-z 0-9 _ -`, and `symbol` for the C name");
            self.faults.fatal(at, what, remedy);
        }
    }

    fn error_message(&mut self, members: &Members<'v, '_>) -> Option<ErrorMessage> {
        let at = members.at.member("errorMessage");
        let members = Members::of(members.get("errorMessage")?, &at, &mut self.faults)?;
        members.check_known(known::ERROR_MESSAGE, &mut self.faults);
        Some(ErrorMessage {
            symbol: members.needed("symbol", Weight::Fatal, &mut self.faults)?,
            of: members.text("of", &mut self.faults),
            indirect: members.switch("indirect", &mut self.faults).unwrap_or(false),
        })
    }

    fn timeout(&mut self, members: &Members<'v, '_>) -> Option<Duration> {
        let timeout = Duration::from_millis(members.count("timeoutMs", &mut self.faults)?);
        if timeout > MOST_TIMEOUT || timeout.is_zero() {
            let what = format!("`timeoutMs` must be from 1 to {}", MOST_TIMEOUT.as_millis());
            self.faults.fatal(&members.at.member("timeoutMs"), what, "write a number such as `10000`");
        }
        Some(timeout)
    }

    fn parameters(&mut self, members: &Members<'v, '_>) -> Option<Vec<Parameter>> {
        let at = members.at.member("parameters");
        let Some(value) = members.get("parameters") else {
            let remedy = "add `\"parameters\": []` to a function that takes nothing";
            self.faults.missing(members.at, "parameters", Weight::Tolerable, remedy);
            return Some(Vec::new());
        };
        let mut names = HashSet::new();
        let mut parameters = Vec::new();
        for (index, value) in self.items(value, &at)?.iter().enumerate() {
            let at = at.item(index);
            let parameter = self.parameter(value, &at)?;
            if !names.insert(parameter.name.clone()) {
                let what = format!("there is another parameter `{}`", parameter.name);
                self.faults.fatal(&at.member("name"), what, "give every parameter a unique name");
            }
            parameters.push(parameter);
        }
        Some(parameters)
    }

    fn parameter(&mut self, value: &'v Value, at: &Path<'_>) -> Option<Parameter> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::PARAMETER, &mut self.faults);
        let name = members.needed("name", Weight::Fatal, &mut self.faults);
        let form = self.form(&members);
        let flow = self.flow(&members);
        Some(Parameter {
            name: name?,
            description: members.text("description", &mut self.faults),
            form: form?,
            flow,
            required: members.switch("required", &mut self.faults).unwrap_or(true),
        })
    }

    /// The public example puts `isIn` into `cType`.
    fn flow(&mut self, members: &Members<'v, '_>) -> Flow {
        let inner = members.get("schema").and_then(|schema| schema.get("cType")?.get("isIn")?.as_bool());
        let taken = members.switch("isIn", &mut self.faults).or_else(|| {
            let what = "`isIn` belongs to the parameter, not to its `cType`";
            inner.inspect(|_| self.faults.warning(members.at, what, "move it next to `schema`"))
        });
        let given = members.switch("isOut", &mut self.faults);
        match (taken.unwrap_or(true), given) {
            (true, Some(true)) => Flow::InOut,
            (true, _) => Flow::In,
            (false, Some(false)) => {
                let what = "the parameter is neither an input nor an output";
                self.faults.fatal(members.at, what, "set `isIn` or `isOut` to true");
                Flow::Out
            }
            (false, _) => Flow::Out,
        }
    }

    fn returns(&mut self, value: &'v Value, at: &Path<'_>) -> Result<Return, ()> {
        let members = Members::of(value, at, &mut self.faults).ok_or(())?;
        members.check_known(known::RETURN, &mut self.faults);
        let name = members.needed("name", Weight::Tolerable, &mut self.faults);
        let form: Option<Form> = self.form(&members);
        Ok(Return {
            name: name.unwrap_or_else(|| "result".to_owned()),
            description: members.text("description", &mut self.faults),
            form: form.ok_or(())?,
            success: self.success(&members),
        })
    }

    fn success(&mut self, members: &Members<'v, '_>) -> Option<Success> {
        let text = members.text("success", &mut self.faults)?;
        let success = Success::read(&text);
        if success.is_none() {
            let what = format!("`{text}` does not say which values mean success");
            let remedy =
                "write one of `==0`, `==0|100`, `!=0`, `>0`, `>=0`, `nonnull`, `fits`, with any number";
            self.faults.fatal(&members.at.member("success"), what, remedy);
        }
        success
    }

    pub(super) fn items(&mut self, value: &'v Value, at: &Path<'_>) -> Option<&'v Vec<Value>> {
        let items = value.as_array();
        if items.is_none() {
            self.faults.fatal(at, format!("must be an array, not {}", kind_of(value)), "write `[…]`");
        }
        items
    }
}

impl<'v> FunctionReader<'v> for Reader<'v> {
    type Function = Function;

    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    fn read_function(&mut self, value: &'v Value, at: &Path<'_>, index: usize) -> Option<Function> {
        self.function(value, at, index)
    }

    fn name_of(function: &Function) -> &str {
        &function.name
    }
}

impl Success {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        match text {
            "nonnull" => return Some(Success::NonNull),
            "fits" => return Some(Success::Fits),
            _ => {}
        }
        let number = |sign: &str| text.strip_prefix(sign)?.trim().parse::<i64>().ok();
        // `==0|100|101`
        let one_of = || {
            let numbers = text.strip_prefix("==")?.split('|');
            numbers.map(|number| number.trim().parse().ok()).collect::<Option<Vec<i64>>>()
        };
        one_of()
            .map(Success::OneOf)
            .or_else(|| number("!=").map(Success::IsNot))
            .or_else(|| number(">=").map(Success::AtLeast))
            .or_else(|| number(">").map(Success::Above))
    }
}
