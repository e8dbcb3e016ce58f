//! Every C type at both ends of its range: by value, by pointer, in arrays; and how arguments are passed.
//! Each call is made in-process and through a worker, and both must say the same.

use toolmux_dylib_host::Library;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::plan::{By, CFunction, CReturn, Direction, Length, Pass, Plan, Size};
use toolmux_dylib_host::scalar::{Class, Scalar};

use crate::plans::{
    A_INT, INT, Values, buffer, function, hello, input, length, output, passing, plan, size_of,
};
use crate::worker::Worker;

/// The same plan twice: in this process and in a worker.
struct Both {
    library: Library,
    worker: Worker,
}

impl Both {
    fn open(functions: Vec<CFunction>) -> Self {
        let plan: Plan = plan(functions);
        Self { library: Library::open(&plan).unwrap(), worker: Worker::start(&hello(plan, Profile::Pure)) }
    }

    fn check(&mut self, function: usize, input: &Values, expected: &Values) {
        let mut output = vec![0xee];
        self.library.call(function, &input.0, &mut output).unwrap();
        assert_eq!(output[1..], expected.0, "function {function} in-process, {input:?}");
        assert_eq!(self.worker.result(function, input), expected.0, "function {function}, {input:?}");
    }
}

fn name(scalar: Scalar) -> String {
    serde_json::to_value(scalar).unwrap().as_str().unwrap().to_owned()
}

fn of_type(scalar: Scalar) -> Vec<CFunction> {
    let name = name(scalar);
    let value = Pass::Value(scalar);
    let wide = if scalar.class() == Class::Float { Scalar::Double } else { Scalar::UnsignedLongLong };
    let one = buffer(scalar, Direction::In, Some(Size::Fixed(1)), Length::All);
    let as_many = buffer(scalar, Direction::Out, Some(size_of(0)), Length::All);
    let count = ("n", length(0, Scalar::Int, By::Value));
    vec![
        function(&format!("id_{name}"), &[("x", value.clone())], CReturn::Value(scalar)),
        function(&format!("in_{name}"), &[("x", one)], CReturn::Value(scalar)),
        function(
            &format!("out_{name}"),
            &[("x", output(scalar, 1, Length::All)), ("v", value)],
            CReturn::Void,
        ),
        function(
            &format!("dbl_{name}"),
            &[("in", input(scalar)), count.clone(), ("out", as_many)],
            CReturn::Void,
        ),
        function(&format!("sum_{name}"), &[("in", input(scalar)), count], CReturn::Value(wide)),
    ]
}

/// Wire values worth trying.
fn samples(scalar: Scalar) -> Vec<u64> {
    match (scalar, scalar.range()) {
        (Scalar::Float, _) => {
            [0.0, -0.0, 0.1, f32::MIN, f32::MAX, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
                .map(|value| u64::from(value.to_bits()))
                .to_vec()
        }
        (_, None) => [0.0, -0.0, 0.1, f64::MIN, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            .map(f64::to_bits)
            .to_vec(),
        (_, Some((low, high))) => [low, high, 0, 1].map(|value| value as u64).to_vec(),
    }
}

fn doubled(scalar: Scalar, wire: u64) -> u64 {
    match scalar {
        Scalar::Float => u64::from((f32::from_bits(wire as u32) * 2.0).to_bits()),
        Scalar::Double => (f64::from_bits(wire) * 2.0).to_bits(),
        // C makes any number a truth before it is stored in a `bool`.
        Scalar::Bool => wire,
        _ => scalar.normalise(wire.wrapping_mul(2)),
    }
}

fn element(scalar: Scalar, wire: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    scalar.write(wire, &mut bytes);
    bytes
}

#[test]
fn both_ends_of_every_range_go_through_unchanged() {
    for scalar in Scalar::ALL {
        let mut both = Both::open(of_type(scalar));
        for wire in samples(scalar) {
            let one = element(scalar, wire);
            both.check(0, &Values::none().word(wire), &Values::none().word(wire));
            both.check(1, &Values::none().bytes(&one), &Values::none().word(wire));
            both.check(2, &Values::none().word(wire), &Values::none().bytes(&one));
        }
    }
}

#[test]
fn arrays_of_every_type_go_in_and_come_out() {
    for scalar in Scalar::ALL {
        let mut both = Both::open(of_type(scalar));
        let wires: Vec<u64> = samples(scalar).into_iter().take(5).collect();
        let given: Vec<u8> = wires.iter().flat_map(|wire| element(scalar, *wire)).collect();
        let taken: Vec<u8> = wires.iter().flat_map(|wire| element(scalar, doubled(scalar, *wire))).collect();
        both.check(3, &Values::none().bytes(&given), &Values::none().bytes(&taken));
        both.check(3, &Values::none().bytes(&[]), &Values::none().bytes(&[]));
        if scalar.class() != Class::Float {
            let sum = wires.iter().fold(0_u64, |sum, wire| sum.wrapping_add(*wire));
            both.check(4, &Values::none().bytes(&given), &Values::none().word(sum));
        }
    }
}

#[test]
fn mixed_arguments_reach_registers_and_stack() {
    let mut both = Both::open(passing());
    both.check(0, &Values::none().int(2).int(-3), &Values::none().int(-1));
    let mix12 = Values::none().int(-1).double(2.5).int(3).float(0.5).int(5).double(6.0);
    let mix12 = mix12.int(-7).float(8.0).int(9).double(0.25).int(11).word(1);
    let weighted = -1.0 + 2.5 * 2.0 + 9.0 + 2.0 + 25.0 + 36.0 - 49.0 + 64.0 + 81.0 + 2.5 + 121.0 + 12.0;
    both.check(1, &mix12, &Values::none().double(weighted));
    let mut mix20 = Values::none();
    for _ in 0..8 {
        mix20 = mix20.int(1).double(2.0);
    }
    let pairs: f64 = (0..8).map(|pair| f64::from(2 * pair + 1) + 2.0 * f64::from(2 * pair + 2)).sum();
    let mix20 = mix20.float(0.5).int(-3).float(2.0).int(-1);
    both.check(2, &mix20, &Values::none().double(pairs + 8.5 - 54.0 + 38.0 - 20.0));
}

#[test]
fn variadic_functions_get_what_follows_the_dots() {
    let of = |symbol, scalar, returns| {
        let x = ("x", Pass::Value(scalar));
        let parameters = [A_INT, x.clone(), x.clone(), x];
        CFunction { fixed_parameters: Some(1), ..function(symbol, &parameters, CReturn::Value(returns)) }
    };
    let mut both =
        Both::open(vec![of("vsum", Scalar::Int, Scalar::Long), of("vsumd", Scalar::Double, Scalar::Double)]);
    both.check(0, &Values::none().int(3).int(10).int(-20).int(30), &Values::none().int(60));
    both.check(1, &Values::none().int(3).double(0.5).double(1.0).double(2.0), &Values::none().double(8.5));
}

#[test]
fn floats_keep_their_width() {
    let float = Scalar::Float;
    let operand = Pass::Value(float);
    let mut both = Both::open(vec![
        function("mulf", &[("a", operand.clone()), ("b", operand)], CReturn::Value(float)),
        function("nan_", &[], CReturn::Value(Scalar::Double)),
        function("inf_", &[A_INT], CReturn::Value(Scalar::Double)),
    ]);
    both.check(0, &Values::none().float(0.1).float(3.0), &Values::none().float(0.1_f32 * 3.0));
    both.check(2, &Values::none().int(1), &Values::none().double(f64::INFINITY));
    both.check(2, &Values::none().int(-1), &Values::none().double(f64::NEG_INFINITY));
    let nan = both.worker.result(1, &Values::none());
    assert!(f64::from_bits(u64::from_le_bytes(nan.try_into().unwrap())).is_nan());
}

#[test]
fn pointers_to_numbers_are_read_after_the_call() {
    let swapped = buffer(Scalar::Int, Direction::InOut, Some(Size::Fixed(1)), Length::All);
    let mut both = Both::open(vec![
        function("swap_int", &[("a", swapped.clone()), ("b", swapped)], CReturn::Void),
        function("in_int", &[("x", input(Scalar::Int))], INT),
    ]);
    both.check(0, &Values::none().ints(&[7]).ints(&[-9]), &Values::none().ints(&[-9]).ints(&[7]));
    both.check(1, &Values::none().null(), &Values::none().int(0));
}

#[test]
fn errno_is_zero_unless_the_call_set_it() {
    let mut both = Both::open(vec![CFunction { errno: true, ..function("set_errno", &[A_INT], INT) }]);
    both.check(0, &Values::none().int(17), &Values::none().int(-1).errno(17).null());
    both.check(0, &Values::none().int(0), &Values::none().int(0).errno(0).null());
}
