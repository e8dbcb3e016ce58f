//! What one call costs: `add(int, int)` in-process, through a worker, and through a worker with 64 calls
//! under way. Prints the best and the middle of several rounds; a shared machine makes the rest noise.

#[path = "../tests/fixture/compile.rs"]
mod compile;

use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use toolmux_dylib_host::Library;
use toolmux_dylib_host::frame::{AnswerFrame, RequestFrame};
use toolmux_dylib_host::hello::{Hello, Profile, Sandbox};
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{Buffer, CFunction, CParameter, CReturn, Direction, Length, Pass, Plan, Size};
use toolmux_dylib_host::scalar::Scalar;
use toolmux_dylib_host::value::{put_bytes, put_word};

const ROUNDS: usize = 9;
const UNDER_WAY: u32 = 64;

fn main() {
    let plan = plan(&compile::compile(Path::new(env!("CARGO_TARGET_TMPDIR"))));
    let mut library = Library::open(&plan).expect("the fixture loads");
    in_process("add in-process", &mut library, 0, &adding());
    in_process("greet in-process", &mut library, 1, &greeting());
    for profile in [Profile::Pure, Profile::Deny, Profile::Off] {
        let sandbox = Sandbox { profile, ..Sandbox::default() };
        let mut worker = Worker::start(&Hello { plan: plan.clone(), sandbox });
        worker.one_by_one(profile);
        worker.many_at_once(profile);
        worker.end();
    }
}

fn in_process(name: &str, library: &mut Library, function: usize, input: &[u8]) {
    let mut output = Vec::new();
    measure(name, 200_000, 1, || {
        output.clear();
        library.call(function, black_box(input), &mut output).expect("the call succeeds");
        black_box(&output);
    });
}

/// Prints what one call takes when one run of `body` makes so many `calls`.
fn measure(name: &str, runs: u32, calls: u32, mut body: impl FnMut()) {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..runs).for_each(|_| body());
            start.elapsed()
        })
        .collect();
    rounds.sort();
    let each = |round: Duration| round.as_secs_f64() * 1e9 / f64::from(runs * calls);
    println!("{name:<40} {:>9.1} ns best {:>9.1} ns middle", each(rounds[0]), each(rounds[ROUNDS / 2]));
}

struct Worker {
    child: Child,
    unread: Vec<u8>,
}

impl Worker {
    fn start(hello: &Hello) -> Self {
        let start = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_dyn-worker"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let mut worker = Self { child, unread: Vec::new() };
        let json = serde_json::to_vec(hello).expect("a plan is JSON");
        worker.send(&[RequestFrame::Hello { id: 0, json: &json }]);
        worker.receive(1);
        let profile = hello.sandbox.profile;
        println!(
            "{:<40} {:>9.1} µs",
            format!("spawn to READY, {profile:?}"),
            start.elapsed().as_secs_f64() * 1e6
        );
        worker
    }

    fn one_by_one(&mut self, profile: Profile) {
        let values = adding();
        measure(&format!("add through a worker, {profile:?}"), 10_000, 1, || {
            self.send(&[RequestFrame::Call { id: 1, function: 0, values: &values }]);
            self.receive(1);
        });
    }

    fn many_at_once(&mut self, profile: Profile) {
        let values = adding();
        let calls: Vec<_> =
            (0..UNDER_WAY).map(|id| RequestFrame::Call { id, function: 0, values: &values }).collect();
        self.send(&calls);
        // As each answer arrives its caller asks again: 64 calls are always under way.
        measure(&format!("add, {UNDER_WAY} callers, {profile:?}"), 200, 1000, || {
            let mut left = 1000_usize;
            while left > 0 {
                let arrived = self.receive_some(left);
                self.send(&calls[..arrived]);
                left -= arrived;
            }
        });
        self.receive(UNDER_WAY as usize);
    }

    fn end(mut self) {
        self.send(&[RequestFrame::Stop]);
        self.child.wait().expect("the worker ends");
    }

    fn send(&mut self, requests: &[RequestFrame<'_>]) {
        let mut bytes = Vec::new();
        for request in requests {
            request.encode(&mut bytes).expect("the frame is small");
        }
        let pipe = self.child.stdin.as_mut().expect("the pipe is ours");
        pipe.write_all(&bytes).expect("the worker reads");
    }

    fn receive(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            left -= self.receive_some(left);
        }
    }

    /// At least one answer, at most so many.
    fn receive_some(&mut self, most: usize) -> usize {
        loop {
            let mut arrived = 0;
            let mut end = 0;
            while arrived < most
                && let Some((answer, length)) =
                    AnswerFrame::decode(&self.unread[end..]).expect("the worker keeps to the protocol")
            {
                assert!(
                    matches!(answer, AnswerFrame::Ready { .. } | AnswerFrame::Result { .. }),
                    "{answer:?}"
                );
                arrived += 1;
                end += length;
            }
            self.unread.drain(..end);
            if arrived > 0 {
                return arrived;
            }
            let mut chunk = [0; 1 << 14];
            let pipe = self.child.stdout.as_mut().expect("the pipe is ours");
            let count = pipe.read(&mut chunk).expect("the worker answers");
            assert_ne!(count, 0, "the worker is gone");
            self.unread.extend_from_slice(&chunk[..count]);
        }
    }
}

fn adding() -> Vec<u8> {
    let mut values = Vec::new();
    put_word(&mut values, 2);
    put_word(&mut values, 3);
    values
}

fn greeting() -> Vec<u8> {
    let mut values = Vec::new();
    put_bytes(&mut values, Some(b"world")).expect("the text is short");
    put_word(&mut values, 64);
    values
}

fn plan(library: &Path) -> Plan {
    let int = || CParameter { name: "x".to_owned(), pass: Pass::Value(Scalar::Int) };
    let text = |direction, size| {
        Pass::Buffer(Buffer { element: Scalar::Char, direction, terminated: true, size, length: Length::Nul })
    };
    let function = |symbol: &str, parameters| CFunction {
        symbol: symbol.to_owned(),
        variable: None,
        parameters,
        returns: CReturn::Value(Scalar::Int),
        fixed_parameters: None,
        explanation: None,
        errno: false,
    };
    let greet = vec![
        CParameter { name: "name".to_owned(), pass: text(Direction::In, None) },
        CParameter { name: "buf".to_owned(), pass: text(Direction::Out, Some(Size::Fixed(64))) },
        CParameter { name: "cap".to_owned(), pass: Pass::Value(Scalar::UnsignedLong) },
    ];
    Plan {
        library: library.to_string_lossy().into_owned(),
        generation: 1,
        limits: WorkerLimits::default(),
        functions: vec![function("add", vec![int(), int()]), function("greet", greet)],
    }
}
