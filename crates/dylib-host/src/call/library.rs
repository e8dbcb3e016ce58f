//! A loaded library and the path of one call through it.

use std::collections::HashSet;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::sync::Arc;

use libffi::raw::ffi_call;
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use super::arena::{Arena, Ranges};
use super::arguments::Arguments;
use super::compile::{Symbols, compile};
use super::function::{Function, Step};
use super::handles::Handles;
use super::results::Results;
use crate::fault::{CallError, CallFault};
use crate::hello::Readiness;
use crate::limits::WorkerLimits;
use crate::load::{LibraryError, exported, locate};
use crate::plan::{MAX_PARAMETERS, Plan};

/// A library in this process. It is never unloaded: its threads and exit handlers may outlive us.
#[derive(Debug)]
pub struct Library {
    functions: Vec<Result<Function, Readiness>>,
    limits: WorkerLimits,
    handles: Handles,
    arena: Arena,
    arguments: Arguments,
    _loaded: Loaded,
}

// SAFETY: the raw pointers inside are code of a library that stays loaded and memory that this value
// owns; `&mut self` keeps calls one at a time. Whether C code minds being called from changing threads
// is part of trusting it with a place in this process.
unsafe impl Send for Library {}

impl Library {
    /// Loads the library into this process and prepares its functions. Its constructors run here: only
    /// for libraries that may take this process down.
    pub fn open(plan: &Plan) -> Result<Self, LibraryError> {
        Self::open_file(&locate(&plan.library)?, plan)
    }

    pub(crate) fn open_file(path: &Path, plan: &Plan) -> Result<Self, LibraryError> {
        let wanted = plan.symbols();
        let own = exported(path, &wanted)?;
        let flags = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;
        // SAFETY: loading runs foreign code; whoever opens a library accepts that, see above.
        let loaded = unsafe { Loaded::open(Some(path), flags) }
            .map_err(|source| LibraryError::Refused { path: path.to_owned(), source })?;
        let mut handles = Handles::new(plan.generation, plan.limits.handles);
        let symbols = Own { own, loaded: &loaded };
        let functions =
            plan.functions.iter().map(|function| compile(function, &symbols, &mut handles)).collect();
        Ok(Self {
            functions,
            limits: plan.limits,
            handles,
            arena: Arena::default(),
            arguments: Arguments::default(),
            _loaded: loaded,
        })
    }

    /// Per function of the plan: callable, or why not.
    pub fn readiness(&self) -> Vec<Readiness> {
        let refusal = |function: &Result<Function, Readiness>| function.as_ref().err().cloned();
        self.functions.iter().map(|function| refusal(function).unwrap_or(Readiness::Callable)).collect()
    }

    /// Calls a function. `input` is the payload of CALL; the payload of RESULT is appended to `output`,
    /// which is left as it was if the call fails.
    pub fn call(&mut self, function: usize, input: &[u8], output: &mut Vec<u8>) -> Result<(), CallError> {
        let Some(Ok(function)) = self.functions.get(function) else {
            return Err(CallFault::UnknownFunction.because(format!("no function {function} can be called")));
        };
        self.arguments.read(function, &self.handles, input)?;
        self.handles.make_room(function.opens)?;
        if function.places {
            self.arguments.place(function, &mut self.arena, &self.limits, input)?;
        }
        if function.closes {
            close(function, &self.arguments, &mut self.handles);
        }
        self.arena.set_live(self.arguments.placed);
        let (returned, errno) = invoke(function, &mut self.arguments.words);
        let (start, mark) = (output.len(), self.handles.mark());
        let (arguments, limits) = (&self.arguments, &self.limits);
        let results = Results { function, arguments, limits, returned, errno };
        let written =
            results.check_canaries(&self.arena).and_then(|()| results.write(&mut self.handles, output));
        if written.is_err() {
            output.truncate(start);
            self.handles.forget_since(mark);
        }
        self.arena.give_back(self.arguments.placed);
        written
    }

    pub(crate) fn ranges(&self) -> Arc<Ranges> {
        self.arena.ranges()
    }
}

fn invoke(function: &Function, words: &mut [u64; MAX_PARAMETERS]) -> (u64, i32) {
    let mut pointers = [std::ptr::null_mut::<c_void>(); MAX_PARAMETERS];
    for (pointer, word) in pointers.iter_mut().zip(&mut words[..function.steps.len()]) {
        *pointer = std::ptr::from_mut(word).cast();
    }
    let mut returned = 0_u64;
    // SAFETY: the Cif was prepared for exactly these parameters; every word holds the argument in its
    // low bytes, addresses among them point to memory placed for this call; the return slot has the 8
    // bytes that libffi may write. What the code behind the pointer does is the library's affair.
    unsafe {
        *libc::__errno_location() = 0;
        ffi_call(
            function.cif.as_raw_ptr(),
            Some(*function.code.as_fun()),
            (&raw mut returned).cast(),
            pointers.as_mut_ptr(),
        );
        (returned, *libc::__errno_location())
    }
}

fn close(function: &Function, arguments: &Arguments, handles: &mut Handles) {
    for (step, word) in function.steps.iter().zip(arguments.words) {
        if let Step::Handle { tag, closes: true } = step {
            handles.close(*tag, word as usize);
        }
    }
}

/// The symbols that the file defines itself.
struct Own<'a> {
    own: HashSet<&'a str>,
    loaded: &'a Loaded,
}

impl Symbols for Own<'_> {
    fn find(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(*self.own.get(name)?).ok()?;
        // SAFETY: only the address is taken; its type is stated by the plan where it is called.
        let symbol = unsafe { self.loaded.get::<*mut c_void>(name.as_bytes_with_nul()) }.ok()?;
        Some(symbol.into_raw()).filter(|address| !address.is_null())
    }
}
