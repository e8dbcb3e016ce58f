//! A loaded library and the path of one call through it.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_void};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use libffi::raw::ffi_call;
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use super::arena::{Arena, Ranges};
use super::arguments::Arguments;
use super::callbacks::object_closed;
use super::compile::{Symbols, compile};
use super::function::{Function, Returned, Step};
use super::handles::Handles;
use super::members::store_members;
use super::results::Results;
use crate::fault::{CallError, CallFault};
use crate::hello::Readiness;
use crate::limits::WorkerLimits;
use crate::load::{LibraryError, exported, locate};
use crate::plan::{KeptFor, MAX_PARAMETERS, Plan, VariableIs};

/// A library in this process. It is never unloaded: its threads and exit handlers may outlive us.
#[derive(Debug)]
pub struct Library {
    functions: Vec<Result<Function, Readiness>>,
    limits: WorkerLimits,
    handles: Handles,
    arena: Arena,
    arguments: Arguments,
    /// What functions keep pointers to, by the address of the object with which it ends.
    kept: HashMap<usize, Vec<usize>>,
    /// A structure that was returned by value.
    returned: Vec<u64>,
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
        let own = exported(path, &wanted, &plan.variables())?;
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
            kept: HashMap::new(),
            returned: Vec::new(),
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
        if function.places
            && let Err(error) = self.arguments.place(function, &mut self.arena, &self.limits, input)
        {
            self.arguments.free_copies();
            self.arguments.end_callbacks();
            return Err(error);
        }
        if function.closes {
            close(function, &self.arguments, &mut self.handles);
        }
        self.arena.set_live(self.arguments.placed);
        let (returned, errno) = invoke(function, &mut self.arguments.words, &mut self.returned);
        keep(function, &mut self.arguments, &mut self.kept, returned);
        let (start, mark) = (output.len(), self.handles.mark());
        let (arguments, limits) = (&self.arguments, &self.limits);
        let results = Results { function, arguments, limits, returned, errno };
        let written =
            results.check_canaries(&self.arena).and_then(|()| results.write(&mut self.handles, output));
        if written.is_err() {
            output.truncate(start);
            self.handles.forget_since(mark);
        }
        self.arguments.end_callbacks();
        if function.closes {
            release(function, &self.arguments, &mut self.kept);
        }
        self.arena.give_back(self.arguments.placed);
        written
    }

    pub(crate) fn ranges(&self) -> Arc<Ranges> {
        self.arena.ranges()
    }
}

fn invoke(function: &Function, words: &mut [u64; MAX_PARAMETERS], room: &mut Vec<u64>) -> (u64, i32) {
    if let Some(variable) = function.variable {
        return (value_of(function, variable), 0);
    }
    if function.stores {
        // SAFETY: the plan says where the members are; values were placed with the size of their types.
        unsafe { store_members(&words[..function.steps.len()]) };
        return (0, 0);
    }
    let mut pointers = [std::ptr::null_mut::<c_void>(); MAX_PARAMETERS];
    for (pointer, word) in pointers.iter_mut().zip(&mut words[..function.steps.len()]) {
        *pointer = std::ptr::from_mut(word).cast();
    }
    let mut by_value = function.by_value;
    while by_value != 0 {
        let index = by_value.trailing_zeros() as usize;
        pointers[index] = words[index] as *mut c_void;
        by_value &= by_value - 1;
    }
    let mut returned = 0_u64;
    let is_structure = matches!(function.returns, Returned::Structure(_));
    let place = if is_structure {
        room.clear();
        room.resize(function.return_words(), 0);
        room.as_mut_ptr().cast::<c_void>()
    } else {
        (&raw mut returned).cast()
    };
    // SAFETY: the Cif was prepared for exactly these parameters; every word holds the argument in its
    // low bytes, addresses among them point to memory placed for this call; structures by value are at theirs; the
    // return slot has the 8 bytes that libffi may write, or room for the structure. What the code behind the pointer does is the library's affair.
    unsafe {
        *libc::__errno_location() = 0;
        ffi_call(function.cif.as_raw_ptr(), Some(*function.code.as_fun()), place, pointers.as_mut_ptr());
        let errno = *libc::__errno_location();
        (if is_structure { place as u64 } else { returned }, errno)
    }
}

/// What a variable holds: a number, a pointer, or the address of a structure.
fn value_of(function: &Function, variable: VariableIs) -> u64 {
    let address = function.code.as_ptr() as usize;
    if variable == VariableIs::Address {
        return address as u64;
    }
    match &function.returns {
        Returned::Structure(_) => address as u64,
        Returned::Value(scalar) => {
            // SAFETY: the plan says that the symbol is a variable of this type.
            scalar.read(unsafe { slice::from_raw_parts(address as *const u8, scalar.size()) })
        }
        Returned::Void
        | Returned::Pointer(_)
        | Returned::Handle(_)
        | Returned::Structures(_)
        | Returned::Texts(_) => {
            // SAFETY: the plan says that the symbol is a variable that holds a pointer.
            unsafe { (address as *const u64).read_unaligned() }
        }
    }
}

/// Hands copies that outlive the call to the objects they belong to; without an object nobody could free them later.
fn keep(
    function: &Function,
    arguments: &mut Arguments,
    kept: &mut HashMap<usize, Vec<usize>>,
    returned: u64,
) {
    for (index, copy) in arguments.copies.drain(..) {
        let object = match function.steps[index] {
            Step::Kept { of: KeptFor::Parameter(object), .. } => arguments.words[object],
            _ => returned,
        };
        match object {
            // SAFETY: the copy was made by `malloc`; the call has returned and there is no object that has it.
            0 => unsafe { libc::free(copy as *mut c_void) },
            object => kept.entry(object as usize).or_default().push(copy),
        }
    }
}

/// Frees what closed objects had: copies and listeners.
fn release(function: &Function, arguments: &Arguments, kept: &mut HashMap<usize, Vec<usize>>) {
    for (step, word) in function.steps.iter().zip(arguments.words) {
        let Step::Handle { closes: true, .. } = step else { continue };
        object_closed(word as usize);
        for copy in kept.remove(&(word as usize)).into_iter().flatten() {
            // SAFETY: the copy was made by `malloc`, and the object that had it is closed.
            unsafe { libc::free(copy as *mut c_void) };
        }
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
