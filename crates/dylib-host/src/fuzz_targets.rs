//! Invariants of what goes over the pipe between server and worker, and of the call engine, for any bytes: run by this
//! crate's tests for a bounded number of cases, and by `cargo fuzz`, there with the address sanitizer
//! (fuzz/README.md). Compiled for these two only.

use std::fmt::Debug;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Library;
use crate::fault::CallFault;
use crate::frame::{AnswerFrame, Crash, RequestFrame};
use crate::hello::{Abi, Degree, Enforced, Hello, Profile, Readiness, Ready, Sandbox};
use crate::limits::WorkerLimits;
use crate::plan::{Buffer, By, CFunction, CParameter, CReturn, Direction, Length, Measure, Pass, Plan, Size};
use crate::scalar::Scalar;
use crate::value::{Reader, put_bytes, put_errno, put_word};

/// A name, valid examples of the input, and the check.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// Every target of this crate.
pub fn targets() -> Vec<Target> {
    TARGETS.to_vec()
}

const TARGETS: &[Target] = &[
    ("dylib_frames", frame_examples, frames),
    ("dylib_hello_and_ready", hello_examples, hello_and_ready),
    ("dylib_values", value_examples, values),
    ("dylib_call", call_examples, call),
];

fn frame_examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut add = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = Vec::new();
        write(&mut frame);
        all.push(frame);
    };
    let crash = Crash { signal: 11, address: 0xdead_beef, parameter: Some(1) };
    for request in [
        RequestFrame::Hello { id: 0, json: b"{}" },
        RequestFrame::Call { id: 7, function: 1, values: b"12345678" },
    ] {
        add(&|out| request.encode(out).expect("a short frame"));
    }
    add(&|out| RequestFrame::Stop.encode(out).expect("a short frame"));
    for answer in [
        AnswerFrame::Ready { id: 0, json: b"{}" },
        AnswerFrame::Result { id: 7, values: b"\x02\0\0\0ab" },
        AnswerFrame::Fail { id: 7, fault: CallFault::BadHandle, text: "no" },
        AnswerFrame::Crash { id: 7, crash },
    ] {
        add(&|out| answer.encode(out).expect("a short frame"));
    }
    all
}

/// What is decoded is encoded as the same bytes, a frame never ends behind its input, and one that is cut is waited for.
fn frames(data: &[u8]) {
    if let Ok(Some((request, end))) = RequestFrame::decode(data) {
        let mut again = Vec::new();
        request.encode(&mut again).expect("it was decoded");
        // STOP has no use for its id.
        assert!(matches!(request, RequestFrame::Stop) || data[..end] == again[..], "{request:?}");
        assert_eq!(RequestFrame::decode(&again), Ok(Some((request, end))));
        assert_eq!(RequestFrame::decode(&data[..end - 1]), Ok(None));
    }
    if let Ok(Some((answer, end))) = AnswerFrame::decode(data) {
        let mut again = Vec::new();
        answer.encode(&mut again).expect("it was decoded");
        // Numbers of parameters that cannot be are one number only where they are written.
        assert!(matches!(answer, AnswerFrame::Crash { .. }) || data[..end] == again[..], "{answer:?}");
        assert_eq!(AnswerFrame::decode(&again), Ok(Some((answer, end))));
        assert_eq!(AnswerFrame::decode(&data[..end - 1]), Ok(None));
    }
}

fn hello_examples() -> Vec<Vec<u8>> {
    let sandbox = Sandbox { profile: Profile::Deny, readable: vec!["/a".into()], writable: Vec::new() };
    let enforced = Enforced { files: Degree::Partly, system_calls: Degree::Fully };
    let functions = vec![Readiness::Callable, Readiness::SymbolMissing("f".to_owned())];
    let hello = serde_json::to_vec(&Hello { plan: plan(), sandbox });
    let ready = serde_json::to_vec(&Ready { functions, abi: Abi::HOST, enforced });
    [hello, ready].map(|json| json.expect("it is writable")).to_vec()
}

/// What is read is written as something that is read as the same.
fn hello_and_ready(data: &[u8]) {
    fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) {
        let Ok(read) = serde_json::from_slice::<T>(data) else { return };
        let written = serde_json::to_vec(&read).expect("it was read");
        assert_eq!(serde_json::from_slice::<T>(&written).ok(), Some(read));
    }
    check::<Ready>(data);
    check::<Hello>(data);
}

/// A byte for each value to ask for, up to a zero byte; then the payload.
fn value_examples() -> Vec<Vec<u8>> {
    let mut payload = b"\x01\x02\x03\x02\0".to_vec();
    put_word(&mut payload, 7);
    put_bytes(&mut payload, Some(b"text")).expect("a short buffer");
    put_errno(&mut payload, 2);
    put_bytes(&mut payload, None).expect("a short buffer");
    vec![payload]
}

/// What is read is no more than there is, and written again it is the same bytes.
fn values(data: &[u8]) {
    let (asks, payload) = data.split_at(data.iter().position(|byte| *byte == 0).unwrap_or(data.len()));
    let payload = payload.get(1..).unwrap_or_default();
    let (mut reader, mut again) = (Reader::new(payload), Vec::new());
    let mut all_read = true;
    for ask in asks {
        let read = match ask % 3 {
            0 => reader.errno().map(|errno| put_errno(&mut again, errno)),
            1 => reader.word().map(|word| put_word(&mut again, word)),
            _ => reader.bytes().map(|bytes| put_bytes(&mut again, bytes).expect("it was read")),
        };
        all_read &= read.is_ok();
        if !all_read {
            break;
        }
    }
    assert!(payload.starts_with(&again), "more was read than there is");
    assert_eq!(all_read && again.len() == payload.len(), all_read && reader.end().is_ok());
}

/// Functions of the C library: `labs`, `strlen`, and `swab`, which swaps the bytes of each pair.
fn plan() -> Plan {
    let named = |name: &str, pass| CParameter { name: name.to_owned(), pass };
    let buffer = |direction, size| {
        Pass::Buffer(Buffer {
            element: Scalar::UnsignedChar,
            direction,
            terminated: false,
            size,
            length: Length::All,
        })
    };
    let text = Buffer {
        element: Scalar::Char,
        direction: Direction::In,
        terminated: true,
        size: None,
        length: Length::Nul,
    };
    let function = |symbol: &str, parameters, returns| CFunction {
        symbol: symbol.to_owned(),
        variable: None,
        parameters,
        returns,
        fixed_parameters: None,
        explanation: None,
        errno: false,
    };
    let as_many = Size::Of { measure: Measure::Count(0), times: 1.0, plus: 0 };
    let swab = vec![
        named("from", buffer(Direction::In, None)),
        named("to", buffer(Direction::Out, Some(as_many))),
        named("n", Pass::Length { of: 0, scalar: Scalar::Long, by: By::Value }),
    ];
    Plan {
        library: "libc.so.6".to_owned(),
        generation: 1,
        limits: WorkerLimits::default(),
        functions: vec![
            function("labs", vec![named("x", Pass::Value(Scalar::Long))], CReturn::Value(Scalar::Long)),
            function("strlen", vec![named("s", Pass::Buffer(text))], CReturn::Value(Scalar::UnsignedLong)),
            function("swab", swab, CReturn::Void),
        ],
    }
}

static LIBRARY: LazyLock<Mutex<Library>> =
    LazyLock::new(|| Mutex::new(Library::open(&plan()).expect("the C library can be loaded")));

/// The number of the function, then the payload of CALL.
fn call_examples() -> Vec<Vec<u8>> {
    let (mut labs, mut strlen, mut swab) = (vec![0], vec![1], vec![2]);
    put_word(&mut labs, u64::MAX);
    put_bytes(&mut strlen, Some(b"four")).expect("a short buffer");
    put_bytes(&mut swab, Some(b"badcfe")).expect("a short buffer");
    vec![labs, strlen, swab]
}

/// A payload that does not fit the plan is refused and leaves no output; another gives what the function does.
fn call(data: &[u8]) {
    let Some((number, payload)) = data.split_first() else { return };
    // `strlen(NULL)` is a crash of the C library.
    if *number == 1 && payload.starts_with(&[0xff; 4]) {
        return;
    }
    let mut output = b"before".to_vec();
    let mut library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    let called = library.call(usize::from(*number), payload, &mut output);
    let result = output.strip_prefix(b"before").expect("what stood there before stays");
    let mut reader = Reader::new(payload);
    match (called, number) {
        (Err(_), _) => assert!(result.is_empty()),
        (Ok(()), 0) => {
            let expect = reader.word().map(|word| word.cast_signed().unsigned_abs());
            assert_eq!(Reader::new(result).word(), expect);
        }
        (Ok(()), 1) => {
            let text = reader.bytes().ok().flatten().expect("strlen was given a text");
            let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            assert_eq!(Reader::new(result).word(), Ok(length as u64));
        }
        (Ok(()), _) => {
            let given = reader.bytes().ok().flatten().unwrap_or_default();
            let taken = Reader::new(result).bytes().ok().flatten().unwrap_or_default();
            let swapped: Vec<u8> = given.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
            assert_eq!((taken.len(), &taken[..swapped.len()]), (given.len(), &swapped[..]));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
