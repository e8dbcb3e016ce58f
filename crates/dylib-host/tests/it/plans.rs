//! Plans in few words, and the plan of the whole fixture library.

use toolmux_dylib_host::hello::{Hello, Profile, Sandbox};
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{
    Buffer, By, CFunction, CParameter, CReturn, Direction, Length, Measure, Pass, Plan, Pointee, Size,
};
use toolmux_dylib_host::scalar::Scalar::{
    self, Char, Double, Float, Int, Long, LongLong, Short, UnsignedChar,
};
use toolmux_dylib_host::value::{put_bytes, put_word};

use crate::fixture;

pub(crate) fn function(symbol: &str, parameters: &[(&str, Pass)], returns: CReturn) -> CFunction {
    let parameter = |(name, pass): &(&str, Pass)| CParameter { name: (*name).to_owned(), pass: pass.clone() };
    CFunction {
        symbol: symbol.to_owned(),
        variable: None,
        parameters: parameters.iter().map(parameter).collect(),
        returns,
        fixed_parameters: None,
        explanation: None,
        errno: false,
    }
}

pub(crate) const fn buffer(
    element: Scalar,
    direction: Direction,
    size: Option<Size>,
    length: Length,
) -> Pass {
    Pass::Buffer(Buffer { element, direction, terminated: false, size, length })
}

/// An input of any length.
pub(crate) const fn input(element: Scalar) -> Pass {
    buffer(element, Direction::In, None, Length::All)
}

pub(crate) const fn output(element: Scalar, elements: u64, length: Length) -> Pass {
    buffer(element, Direction::Out, Some(Size::Fixed(elements)), length)
}

/// A string in the given direction.
pub(crate) const fn text(direction: Direction, size: Option<Size>) -> Pass {
    Pass::Buffer(Buffer { element: Char, direction, terminated: true, size, length: Length::Nul })
}

pub(crate) const fn text_in() -> Pass {
    text(Direction::In, None)
}

pub(crate) const fn length(of: usize, scalar: Scalar, by: By) -> Pass {
    Pass::Length { of, scalar, by }
}

/// As many elements as an integer says.
pub(crate) const fn size_from(parameter: usize) -> Size {
    Size::Of { measure: Measure::Value(parameter), times: 1.0, plus: 0 }
}

/// As many elements as an input has.
pub(crate) const fn size_of(parameter: usize) -> Size {
    Size::Of { measure: Measure::Count(parameter), times: 1.0, plus: 0 }
}

pub(crate) fn pointee(element: Scalar, size: Option<Size>, length: Length, free: Option<&str>) -> Pointee {
    Pointee { element, size, length, free: free.map(str::to_owned) }
}

pub(crate) fn string(free: Option<&str>) -> CReturn {
    CReturn::Pointer(pointee(Char, None, Length::Nul, free))
}

/// A plan of the fixture library.
pub(crate) fn plan(functions: Vec<CFunction>) -> Plan {
    Plan {
        library: fixture::library().to_str().unwrap().to_owned(),
        generation: 1,
        limits: WorkerLimits::default(),
        functions,
    }
}

pub(crate) fn hello(plan: Plan, profile: Profile) -> Hello {
    Hello { plan, sandbox: Sandbox { profile, ..Sandbox::default() } }
}

/// The values of a CALL.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values(pub(crate) Vec<u8>);

impl Values {
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn word(mut self, word: u64) -> Self {
        put_word(&mut self.0, word);
        self
    }

    pub(crate) fn int(self, value: i64) -> Self {
        self.word(value.cast_unsigned())
    }

    pub(crate) fn double(self, value: f64) -> Self {
        self.word(value.to_bits())
    }

    pub(crate) fn float(self, value: f32) -> Self {
        self.word(u64::from(value.to_bits()))
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        put_bytes(&mut self.0, Some(bytes)).unwrap();
        self
    }

    pub(crate) fn ints(self, values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.bytes(&bytes)
    }

    pub(crate) fn null(mut self) -> Self {
        put_bytes(&mut self.0, None).unwrap();
        self
    }

    pub(crate) fn errno(mut self, errno: i32) -> Self {
        self.0.extend(errno.to_le_bytes());
        self
    }
}

pub(crate) const INT: CReturn = CReturn::Value(Int);
pub(crate) const A_INT: (&str, Pass) = ("a", Pass::Value(Int));
pub(crate) const PATH: (&str, Pass) = ("path", text_in());

/// `add`, `mix12` and `mix20`: how arguments reach C.
pub(crate) fn passing() -> Vec<CFunction> {
    let value = Pass::Value;
    let unsigned = UnsignedChar;
    let mix12 =
        [Char, Double, Int, Float, Long, Double, Short, Float, unsigned, Double, LongLong, Scalar::Bool];
    let mut mix20 = [Int, Double].repeat(8);
    mix20.extend([Float, Short, Float, Char]);
    let of = |symbol, scalars: &[Scalar]| {
        let parameters: Vec<_> = scalars.iter().map(|scalar| ("x", value(*scalar))).collect();
        function(symbol, &parameters, CReturn::Value(Double))
    };
    vec![function("add", &[A_INT, ("b", value(Int))], INT), of("mix12", &mix12), of("mix20", &mix20)]
}
