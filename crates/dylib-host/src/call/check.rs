//! Whether the parts of a planned function fit together, so that a call need not ask again.

use crate::callback::{Callback, CallbackAction, CallbackReturn, CallbackValue, MAX_CALLBACK_PARAMETERS};
use crate::plan::{
    self, Buffer, By, CReturn, Direction, ExplanationOf, KeptFor, Length, MAX_PARAMETERS, Measure, Pass, Size,
};
use crate::scalar::{Class, Scalar};
use crate::structure::{PointerMember, PointerTarget, Structure};

/// What is wrong with a function, in words.
pub(super) fn check(function: &plan::CFunction) -> Result<(), String> {
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
        CReturn::Structure(one) => check_structure(one).map_err(|what| format!("the return {what}")),
        CReturn::Structures(pointee) => {
            check_structure(&pointee.one).map_err(|what| format!("the return {what}"))?;
            check_size(function, pointee.size)
        }
        CReturn::Void | CReturn::Value(_) | CReturn::Handle { .. } | CReturn::Texts(_) => Ok(()),
    }?;
    if function.variable.is_some() && !function.parameters.is_empty() {
        return Err("a variable takes no parameters".to_owned());
    }
    Ok(())
}

fn check_pass(function: &plan::CFunction, pass: &Pass) -> Result<(), String> {
    match pass {
        Pass::Value(_)
        | Pass::Handle { .. }
        | Pass::NewHandle { .. }
        | Pass::Rows
        | Pass::Texts { .. }
        | Pass::IndirectTexts(_) => Ok(()),
        Pass::StructureValue(one) => check_structure(one),
        Pass::Structures(structures) => {
            check_structure(&structures.one)?;
            if structures.direction == Direction::Out && structures.size.is_none() {
                return Err("is an output without a size".to_owned());
            }
            check_size(function, structures.size)
        }
        Pass::Callback(callback) => check_callback(function, callback),
        Pass::Kept { of, .. } => match of {
            KeptFor::Parameter(index) => check_object(function, *index),
            KeptFor::Return if matches!(function.returns, CReturn::Handle { .. }) => Ok(()),
            KeptFor::Return => Err("is kept for an object that is not returned".to_owned()),
        },
        Pass::Buffer(buffer) => check_buffer(function, buffer),
        Pass::Indirect(pointee) => check_pointee(function, pointee),
        Pass::Length { of, scalar, .. } => match function.parameters.get(*of).map(|of| &of.pass) {
            Some(Pass::Buffer(_) | Pass::Structures(_) | Pass::Texts { .. } | Pass::Kept { .. }) => {
                if is_count(*scalar) {
                    Ok(())
                } else {
                    Err("is a length but no integer".to_owned())
                }
            }
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

fn check_structure(one: &Structure) -> Result<(), String> {
    let is_inside = |offset: usize, size: usize| offset.checked_add(size).is_some_and(|end| end <= one.size);
    let is_good = |pointer: &PointerMember| {
        let factors = match &pointer.target {
            PointerTarget::Text => &[][..],
            PointerTarget::Elements { factors, .. } => factors,
        };
        is_inside(pointer.offset, size_of::<usize>())
            && factors.iter().all(|(offset, scalar)| is_inside(*offset, scalar.size()))
    };
    if one.size == 0 || !one.pointers.iter().all(is_good) {
        return Err("is a structure with a member outside of it".to_owned());
    }
    Ok(())
}

fn check_callback(function: &plan::CFunction, callback: &Callback) -> Result<(), String> {
    if let CallbackAction::Collect { parts, returns, .. } = &callback.does {
        let named = parts.iter().filter_map(|part| match &part.is {
            CallbackValue::Bytes(factors) => Some(factors),
            _ => None,
        });
        let product = match returns {
            CallbackReturn::Product(factors) => Some(factors),
            CallbackReturn::Fixed(_) => None,
        };
        if parts.len() > MAX_CALLBACK_PARAMETERS {
            return Err(format!("is a callback of more than {MAX_CALLBACK_PARAMETERS} parameters"));
        }
        if !named.chain(product).flatten().all(|factor| *factor < parts.len()) {
            return Err("is a callback whose length is not among its parameters".to_owned());
        }
    }
    callback.listener.map_or(Ok(()), |index| check_object(function, index))
}

fn check_object(function: &plan::CFunction, index: usize) -> Result<(), String> {
    match function.parameters.get(index).map(|parameter| &parameter.pass) {
        Some(Pass::Handle { closes: false, .. }) => Ok(()),
        _ => Err("belongs to what is not an open object".to_owned()),
    }
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
        (Measure::Count(_), Some(Pass::Structures(structures))) => structures.direction != Direction::Out,
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
