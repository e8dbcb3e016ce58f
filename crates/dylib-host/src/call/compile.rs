//! From a plan to a function that can be called: everything a call need not check again is checked here.

use std::ffi::c_void;
use std::sync::Arc;

use libffi::low::CodePtr;
use libffi::middle::{Cif, Type};

use super::callbacks;
use super::check::check;
use super::explanation::Explanation;
use super::function::{Free, Function, Pointee, Returned, Step, StructurePointee, TextList};
use super::handles::Handles;
use super::members;
use crate::hello::Readiness;
use crate::plan::{self, By, CReturn, Pass};
use crate::scalar::{Class, Scalar};
use crate::structure::{self, MemberType};

/// Finds the code of a function that the library file exports itself.
pub(super) trait Symbols {
    fn find(&self, name: &str) -> Option<*mut c_void>;
}

pub(super) fn compile(
    function: &plan::CFunction,
    symbols: &impl Symbols,
    handles: &mut Handles,
) -> Result<Function, Readiness> {
    check(function).map_err(Readiness::BadPlan)?;
    let code = find(symbols, &function.symbol)?;
    let parameters = function.parameters.iter();
    let steps: Box<[Step]> = parameters
        .clone()
        .map(|parameter| step(&parameter.pass, symbols, handles))
        .collect::<Result<_, _>>()?;
    let returns = match &function.returns {
        CReturn::Void => Returned::Void,
        CReturn::Value(scalar) => Returned::Value(*scalar),
        CReturn::Pointer(pointee) => Returned::Pointer(resolve(pointee, symbols)?),
        CReturn::Handle { tag } => Returned::Handle(handles.tag(tag)),
        CReturn::Structure(one) => Returned::Structure(Box::new(one.clone())),
        CReturn::Structures(pointee) => Returned::Structures(Box::new(StructurePointee {
            one: pointee.one.clone(),
            size: pointee.size,
            length: pointee.length,
            free: pointee.free.as_deref().map(|name| find_free(symbols, name)).transpose()?,
        })),
        CReturn::Texts(list) => Returned::Texts(text_list(list, symbols)?),
    };
    let is_value = |step: &Step| matches!(step, Step::StructureValue(_));
    let by_value = steps.iter().enumerate().filter(|(_, step)| is_value(step));
    let new_handles = steps.iter().filter(|step| matches!(step, Step::NewHandle { .. })).count();
    Ok(Function {
        cif: prepare(function)?,
        code: CodePtr::from_ptr(code),
        variable: function.variable,
        stores: code == members::store as *mut c_void,
        by_value: by_value.fold(0, |bits, (index, _)| bits | 1 << index),
        places: steps.iter().any(|step| !matches!(step, Step::Value(_) | Step::Handle { .. })),
        closes: steps.iter().any(|step| matches!(step, Step::Handle { closes: true, .. })),
        opens: new_handles + usize::from(matches!(returns, Returned::Handle(_))),
        names: parameters.map(|parameter| parameter.name.clone()).collect(),
        steps,
        returns,
        errno: function.errno,
        explanation: function
            .explanation
            .as_ref()
            .map(|explanation| Ok(Explanation::new(explanation, find(symbols, &explanation.symbol)?)))
            .transpose()?,
    })
}

fn step(pass: &Pass, symbols: &impl Symbols, handles: &mut Handles) -> Result<Step, Readiness> {
    Ok(match pass {
        Pass::Value(scalar) => Step::Value(*scalar),
        Pass::Buffer(buffer) => Step::Buffer(*buffer),
        &Pass::Length { of, scalar, by } => Step::Length { of, scalar, by },
        Pass::Indirect(pointee) => Step::Indirect(resolve(pointee, symbols)?),
        Pass::Handle { tag, closes } => Step::Handle { tag: handles.tag(tag), closes: *closes },
        Pass::NewHandle { tag } => Step::NewHandle { tag: handles.tag(tag) },
        Pass::Rows => Step::Rows,
        Pass::Structures(structures) => Step::Structures(Box::new(structures.clone())),
        Pass::StructureValue(one) => Step::StructureValue(Box::new(one.clone())),
        &Pass::Texts { terminated } => Step::Texts { terminated },
        Pass::IndirectTexts(list) => Step::IndirectTexts(text_list(list, symbols)?),
        Pass::Callback(callback) => Step::Callback(Arc::new(callback.clone())),
        &Pass::Kept { element, terminated, of } => Step::Kept { element, terminated, of },
    })
}

fn find(symbols: &impl Symbols, name: &str) -> Result<*mut c_void, Readiness> {
    let missing = || Readiness::SymbolMissing(format!("the library has no function `{name}`"));
    symbols.find(name).or_else(|| of_c_library(name)).ok_or_else(missing)
}

/// Structures that the caller of a library provides are allocated, freed and read by the C library.
fn of_c_library(name: &str) -> Option<*mut c_void> {
    match name {
        "calloc" => Some(libc::calloc as *mut c_void),
        "free" => Some(libc::free as *mut c_void),
        "memcpy" => Some(libc::memcpy as *mut c_void),
        "collected" => Some(callbacks::collected as *mut c_void),
        "store" => Some(members::store as *mut c_void),
        _ => None,
    }
}

fn resolve(pointee: &plan::Pointee, symbols: &impl Symbols) -> Result<Pointee, Readiness> {
    let free = pointee.free.as_deref().map(|name| find_free(symbols, name)).transpose()?;
    Ok(Pointee { element: pointee.element, size: pointee.size, length: pointee.length, free })
}

fn text_list(list: &structure::TextList, symbols: &impl Symbols) -> Result<TextList, Readiness> {
    let free = list.free.as_deref().map(|name| find_free(symbols, name)).transpose()?;
    Ok(TextList { length: list.length, free })
}

fn find_free(symbols: &impl Symbols, name: &str) -> Result<Free, Readiness> {
    if name == "free" {
        return Ok(libc::free);
    }
    // SAFETY: the plan vouches that this symbol is a function that takes one pointer.
    find(symbols, name).map(|code| unsafe { std::mem::transmute::<*mut c_void, Free>(code) })
}

fn prepare(function: &plan::CFunction) -> Result<Cif, Readiness> {
    let arguments = function.parameters.iter().map(|parameter| match &parameter.pass {
        Pass::Value(scalar) | Pass::Length { scalar, by: By::Value, .. } => ffi_type(*scalar),
        Pass::StructureValue(one) => structure_type(&one.members),
        Pass::Buffer(_)
        | Pass::Length { by: By::Pointer | By::Start | By::End, .. }
        | Pass::Indirect(_)
        | Pass::Handle { .. }
        | Pass::NewHandle { .. }
        | Pass::Rows
        | Pass::Structures(_)
        | Pass::Texts { .. }
        | Pass::IndirectTexts(_)
        | Pass::Callback(_)
        | Pass::Kept { .. } => Type::pointer(),
    });
    let result = match &function.returns {
        CReturn::Void => Type::void(),
        CReturn::Value(scalar) => ffi_type(*scalar),
        CReturn::Structure(one) => structure_type(&one.members),
        CReturn::Pointer(_) | CReturn::Handle { .. } | CReturn::Structures(_) | CReturn::Texts(_) => {
            Type::pointer()
        }
    };
    let prepared = match function.fixed_parameters {
        Some(fixed) => Cif::try_new_variadic(arguments, fixed, result),
        None => Cif::try_new(arguments, result),
    };
    let cif = prepared.map_err(|error| Readiness::BadPlan(format!("libffi cannot call it: {error:?}")))?;
    if has_sizes_of_plan(&cif, function) {
        return Ok(cif);
    }
    Err(Readiness::BadPlan("a structure that it passes by value is not laid out as described".to_owned()))
}

/// Whether structures by value are as large as the plan says: it could describe a layout that C does not make.
fn has_sizes_of_plan(cif: &Cif, function: &plan::CFunction) -> bool {
    // SAFETY: a prepared Cif has as many argument types as the function has parameters, and a return type.
    let size_of_argument = |index: usize| unsafe { (**(*cif.as_raw_ptr()).arg_types.add(index)).size };
    // SAFETY: as above.
    let size_of_return = || unsafe { (*(*cif.as_raw_ptr()).rtype).size };
    let mut parameters = function.parameters.iter().enumerate();
    parameters.all(|(index, parameter)| match &parameter.pass {
        Pass::StructureValue(one) => size_of_argument(index) == one.size,
        _ => true,
    }) && match &function.returns {
        CReturn::Structure(one) => size_of_return() == one.size,
        _ => true,
    }
}

fn structure_type(members: &[MemberType]) -> Type {
    Type::structure(members.iter().map(|member| match member {
        MemberType::Scalar(scalar) => ffi_type(*scalar),
        MemberType::Structure(members) => structure_type(members),
    }))
}

fn ffi_type(scalar: Scalar) -> Type {
    match (scalar.class(), scalar.size()) {
        (Class::Float, 4) => Type::f32(),
        (Class::Float, _) => Type::f64(),
        (Class::Signed, 1) => Type::i8(),
        (Class::Signed, 2) => Type::i16(),
        (Class::Signed, 4) => Type::i32(),
        (Class::Signed, _) => Type::i64(),
        (Class::Bool | Class::Unsigned, 1) => Type::u8(),
        (Class::Bool | Class::Unsigned, 2) => Type::u16(),
        (Class::Bool | Class::Unsigned, 4) => Type::u32(),
        (Class::Bool | Class::Unsigned, _) => Type::u64(),
    }
}
