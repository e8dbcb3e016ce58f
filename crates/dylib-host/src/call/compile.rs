//! From a plan to a function that can be called: everything a call need not check again is checked here.

use std::ffi::c_void;

use libffi::low::CodePtr;
use libffi::middle::{Cif, Type};

use super::explanation::Explanation;
use super::function::{Free, Function, Pointee, Returned, Step};
use super::handles::Handles;
use crate::hello::Readiness;
use crate::plan::{
    self, Buffer, By, CReturn, Direction, ExplanationOf, Length, MAX_PARAMETERS, Measure, Pass, Size,
};
use crate::scalar::{Class, Scalar};

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
    };
    let new_handles = steps.iter().filter(|step| matches!(step, Step::NewHandle { .. })).count();
    Ok(Function {
        cif: prepare(function)?,
        code: CodePtr::from_ptr(code),
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
        _ => None,
    }
}

fn resolve(pointee: &plan::Pointee, symbols: &impl Symbols) -> Result<Pointee, Readiness> {
    let free = pointee.free.as_deref().map(|name| find_free(symbols, name)).transpose()?;
    Ok(Pointee { element: pointee.element, size: pointee.size, length: pointee.length, free })
}

fn find_free(symbols: &impl Symbols, name: &str) -> Result<Free, Readiness> {
    if name == "free" {
        return Ok(libc::free);
    }
    // SAFETY: the plan vouches that this symbol is a function that takes one pointer.
    find(symbols, name).map(|code| unsafe { std::mem::transmute::<*mut c_void, Free>(code) })
}

fn prepare(function: &plan::CFunction) -> Result<Cif, Readiness> {
    let arguments = function.parameters.iter().map(|parameter| match parameter.pass {
        Pass::Value(scalar) | Pass::Length { scalar, by: By::Value, .. } => ffi_type(scalar),
        Pass::Buffer(_)
        | Pass::Length { by: By::Pointer, .. }
        | Pass::Indirect(_)
        | Pass::Handle { .. }
        | Pass::NewHandle { .. }
        | Pass::Rows => Type::pointer(),
    });
    let result = match function.returns {
        CReturn::Void => Type::void(),
        CReturn::Value(scalar) => ffi_type(scalar),
        CReturn::Pointer(_) | CReturn::Handle { .. } => Type::pointer(),
    };
    let prepared = match function.fixed_parameters {
        Some(fixed) => Cif::try_new_variadic(arguments, fixed, result),
        None => Cif::try_new(arguments, result),
    };
    prepared.map_err(|error| Readiness::BadPlan(format!("libffi cannot call it: {error:?}")))
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

fn check(function: &plan::CFunction) -> Result<(), String> {
    if function.parameters.len() > MAX_PARAMETERS {
        return Err(format!("it has more than {MAX_PARAMETERS} parameters"));
    }
    for parameter in &function.parameters {
        check_pass(function, &parameter.pass).map_err(|what| format!("`{}` {what}", parameter.name))?;
    }
    check_variadic(function)?;
    check_explanation(function)?;
    match &function.returns {
        CReturn::Pointer(pointee) => {
            check_pointee(function, pointee).map_err(|what| format!("the return {what}"))
        }
        CReturn::Void | CReturn::Value(_) | CReturn::Handle { .. } => Ok(()),
    }
}

fn check_pass(function: &plan::CFunction, pass: &Pass) -> Result<(), String> {
    match pass {
        Pass::Value(_) | Pass::Handle { .. } | Pass::NewHandle { .. } | Pass::Rows => Ok(()),
        Pass::Buffer(buffer) => check_buffer(function, buffer),
        Pass::Indirect(pointee) => check_pointee(function, pointee),
        Pass::Length { of, scalar, .. } => match function.parameters.get(*of).map(|of| &of.pass) {
            Some(Pass::Buffer(_)) if is_count(*scalar) => Ok(()),
            Some(Pass::Buffer(_)) => Err("is a length but no integer".to_owned()),
            _ => Err("is the length of something that is not a buffer".to_owned()),
        },
    }
}

fn check_buffer(function: &plan::CFunction, buffer: &Buffer) -> Result<(), String> {
    match buffer.direction {
        Direction::In => {}
        Direction::Out if buffer.size.is_none() => return Err("is an output without a size".to_owned()),
        Direction::Out | Direction::InOut => check_length(function, buffer.element, buffer.length)?,
    }
    if buffer.terminated && buffer.element.size() != 1 {
        return Err("ends with a NUL but is not made of bytes".to_owned());
    }
    check_size(function, buffer.size)
}

fn check_pointee(function: &plan::CFunction, pointee: &plan::Pointee) -> Result<(), String> {
    if pointee.length == Length::All && pointee.size.is_none() {
        return Err("points to memory of unknown size".to_owned());
    }
    check_length(function, pointee.element, pointee.length)?;
    check_size(function, pointee.size)
}

fn check_size(function: &plan::CFunction, size: Option<Size>) -> Result<(), String> {
    let Some(Size::Of { measure, times, .. }) = size else { return Ok(()) };
    if !times.is_finite() {
        return Err("has a size that is not finite".to_owned());
    }
    let (Measure::Value(parameter) | Measure::Count(parameter)) = measure;
    let known = match (measure, function.parameters.get(parameter).map(|parameter| &parameter.pass)) {
        (Measure::Value(_), Some(Pass::Value(scalar))) => is_count(*scalar),
        (Measure::Value(_), Some(Pass::Buffer(buffer))) => {
            is_count(buffer.element) && buffer.direction != Direction::Out
        }
        (Measure::Count(_), Some(Pass::Buffer(buffer))) => buffer.direction != Direction::Out,
        _ => false,
    };
    if known { Ok(()) } else { Err("takes its size from what is neither an integer nor an input".to_owned()) }
}

fn check_length(function: &plan::CFunction, element: Scalar, length: Length) -> Result<(), String> {
    let counted = match length {
        Length::All => true,
        Length::Nul => element.size() == 1,
        Length::Return | Length::ReturnIfFits => {
            matches!(function.returns, CReturn::Value(scalar) if is_count(scalar))
        }
        Length::Parameter(index) => match function.parameters.get(index).map(|parameter| &parameter.pass) {
            Some(Pass::Value(scalar) | Pass::Length { scalar, .. }) => is_count(*scalar),
            Some(Pass::Buffer(buffer)) => is_count(buffer.element),
            _ => false,
        },
    };
    if counted { Ok(()) } else { Err("takes its length from what is not an integer".to_owned()) }
}

fn check_explanation(function: &plan::CFunction) -> Result<(), String> {
    let Some(ExplanationOf::Parameter(index)) = function.explanation.as_ref().map(|one| one.of) else {
        return Ok(());
    };
    match function.parameters.get(index).map(|parameter| &parameter.pass) {
        Some(Pass::Handle { closes: false, .. } | Pass::NewHandle { .. } | Pass::Value(_)) => Ok(()),
        _ => Err("its failures are explained by what is neither a number nor an open object".to_owned()),
    }
}

/// C promotes what follows `...`, so smaller types cannot arrive there.
fn check_variadic(function: &plan::CFunction) -> Result<(), String> {
    let Some(fixed) = function.fixed_parameters else { return Ok(()) };
    let Some(variable) = function.parameters.get(fixed..) else {
        return Err("it has fewer parameters than are fixed".to_owned());
    };
    for parameter in variable {
        if let Pass::Value(scalar) | Pass::Length { scalar, by: By::Value, .. } = parameter.pass
            && (scalar == Scalar::Float || scalar.size() < Scalar::Int.size())
        {
            return Err(format!("`{}` follows `...` and must be an int, a double or larger", parameter.name));
        }
    }
    Ok(())
}

fn is_count(scalar: Scalar) -> bool {
    matches!(scalar.class(), Class::Signed | Class::Unsigned)
}
