//! A described library for Rust programs: loaded into the process, called with JSON, without a gateway.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolmux_dylib_host::Library;
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::Plan;

use super::handles::{HandleTable, Owner, TableSettings, UsedHandles};
use super::plan::{Book, read};

/// The one program that calls the library has all its objects.
const PROGRAM: Owner<'_> = Owner { caller: "", user: None, session: None };
/// It is loaded once.
const GENERATION: u32 = 1;

/// A library in this process, by its document. It can take the process down: only for what is trusted.
pub struct Direct {
    book: Book,
    library: Library,
    handles: Arc<HandleTable>,
    scratch: Vec<u8>,
    values: Vec<u8>,
    result: Vec<u8>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    /// The text is no document.
    #[error("the text is not an OpenDyn document")]
    Document,
    /// The library cannot be loaded.
    #[error("the library cannot be loaded")]
    Load(#[source] toolmux_dylib_host::LibraryError),
    /// There is no such function.
    #[error("there is no function `{0}`")]
    Function(String),
    /// An argument does not fit.
    #[error("`{parameter}` {message}")]
    Argument {
        parameter: String,
        /// What is wrong with it.
        message: String,
    },
    /// The function failed, by what it did or by what it returned.
    #[error("{0}")]
    Failed(String),
}

impl Direct {
    /// Loads a library.
    pub fn open(document: &str, library: &Path) -> Result<Self, DirectError> {
        let book = read(document).0.ok_or(DirectError::Document)?;
        let functions = book.functions.iter().map(|planned| planned.function.clone()).collect();
        let library = library.to_string_lossy().into_owned();
        let plan = Plan { library, generation: GENERATION, limits: WorkerLimits::default(), functions };
        let library = Library::open(&plan).map_err(DirectError::Load)?;
        let settings = TableSettings { quota: usize::MAX, idle: Duration::MAX, closable: HashSet::new() };
        let handles = HandleTable::new(settings);
        Ok(Direct { book, library, handles, scratch: Vec::new(), values: Vec::new(), result: Vec::new() })
    }

    /// Calls a function with an object of arguments; gives the object of its results.
    pub fn call(&mut self, function: &str, arguments: &str) -> Result<String, DirectError> {
        let found = self.book.functions.iter().position(|planned| planned.name == function);
        let index = found.ok_or_else(|| DirectError::Function(function.to_owned()))?;
        let planned = &self.book.functions[index];
        self.values.clear();
        let mut used = UsedHandles::new(&self.handles, PROGRAM);
        planned
            .encode(arguments, &mut used, &mut self.scratch, &mut self.values)
            .map_err(|fault| DirectError::Argument { parameter: fault.parameter, message: fault.message })?;
        let ticket = self.handles.reserve(used, planned.opens, &planned.slots);
        let ticket = ticket.map_err(|_| DirectError::Failed("too many objects are open".to_owned()))?;
        self.result.clear();
        if let Err(error) = self.library.call(index, &self.values, &mut self.result) {
            ticket.failed(error.fault);
            return Err(DirectError::Failed(error.text));
        }
        let opened = ticket.returned(&self.result, GENERATION);
        let decoded = planned
            .decode(&self.result, Some(&opened), &self.book.codes)
            .map_err(|error| DirectError::Failed(error.to_string()))?;
        opened.claim();
        decoded.failure.map_or(Ok(decoded.json), |failure| Err(DirectError::Failed(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_called_without_a_gateway() {
        let document = include_str!("../../../../examples/opendyn/libm.opendyn.json");
        let mut libm = Direct::open(document, "libm.so.6".as_ref()).unwrap();
        assert_eq!(libm.call("pow", r#"{"x":2,"y":10}"#).unwrap(), r#"{"result":1024.0}"#);
        assert_eq!(libm.call("pow", "{}").unwrap_err().to_string(), "`x` is required but missing");
        assert!(matches!(libm.call("nothing", "{}"), Err(DirectError::Function(_))));
        assert!(matches!(Direct::open("{}", "libm.so.6".as_ref()), Err(DirectError::Document)));
    }
}
