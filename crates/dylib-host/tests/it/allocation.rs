//! A call in steady state asks nothing of the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use toolmux_dylib_host::Library;
use toolmux_dylib_host::plan::{Length, Pass};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{INT, Values, function, output, passing, plan, text_in};

/// The system's allocator, counting what each thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every request goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[test]
fn numbers_and_buffers_are_passed_without_allocation() {
    let mut functions = passing();
    let parameters = [
        ("name", text_in()),
        ("buf", output(Scalar::Char, 64, Length::Nul)),
        ("cap", Pass::Value(Scalar::UnsignedLong)),
    ];
    functions.push(function("greet", &parameters, INT));
    let mut library = Library::open(&plan(functions)).unwrap();
    let mut output = Vec::with_capacity(256);
    for (function, input) in [(0, Values::none().int(1).int(2)), (3, Values::none().bytes(b"X").int(64))] {
        library.call(function, &input.0, &mut output).unwrap();
        let before = ASKED.get();
        for _ in 0..10 {
            output.clear();
            library.call(function, &input.0, &mut output).unwrap();
        }
        assert_eq!(ASKED.get(), before);
    }
}
