//! Random values and random bytes through the call engine.

use proptest::prelude::*;
use toolmux_dylib_host::Library;
use toolmux_dylib_host::plan::{By, CReturn, Direction, Length, Pass};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{Values, buffer, function, input, length, passing, plan, size_of, text_in};

fn library() -> Library {
    let long = Scalar::LongLong;
    let mut functions = passing();
    functions.push(function("id_long_long", &[("x", Pass::Value(long))], CReturn::Value(long)));
    functions.push(function(
        "dbl_short",
        &[
            ("in", input(Scalar::Short)),
            ("n", length(0, Scalar::Int, By::Value)),
            ("out", buffer(Scalar::Short, Direction::Out, Some(size_of(0)), Length::All)),
        ],
        CReturn::Void,
    ));
    functions.push(function("is_null", &[("s", text_in())], CReturn::Value(Scalar::Int)));
    Library::open(&plan(functions)).unwrap()
}

fn call(library: &mut Library, function: usize, input: &Values) -> Vec<u8> {
    let mut output = Vec::new();
    library.call(function, &input.0, &mut output).unwrap();
    output
}

proptest! {
    #[test]
    fn c_adds_as_rust_does(pairs: Vec<(i32, i32)>) {
        let mut library = library();
        for (a, b) in pairs {
            let sum = call(&mut library, 0, &Values::none().int(i64::from(a)).int(i64::from(b)));
            prop_assert_eq!(sum, Values::none().int(i64::from(a.wrapping_add(b))).0);
        }
    }

    #[test]
    fn numbers_and_arrays_come_back_exactly(number: i64, shorts: Vec<i16>) {
        let mut library = library();
        prop_assert_eq!(call(&mut library, 3, &Values::none().int(number)), Values::none().int(number).0);
        let given: Vec<u8> = shorts.iter().flat_map(|short| short.to_le_bytes()).collect();
        let taken: Vec<u8> = shorts.iter().flat_map(|short| short.wrapping_mul(2).to_le_bytes()).collect();
        prop_assert_eq!(call(&mut library, 4, &Values::none().bytes(&given)), Values::none().bytes(&taken).0);
    }

    #[test]
    fn any_payload_is_called_or_refused_and_a_refusal_leaves_no_output(
        function in 0..8usize,
        payload: Vec<u8>,
    ) {
        let mut output = b"before".to_vec();
        if library().call(function, &payload, &mut output).is_err() {
            prop_assert_eq!(output, b"before");
        }
    }
}
