//! What can go wrong before READY, and functions that are refused while the rest works.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::hello::{Abi, Degree, Enforced, Profile, Readiness};
use toolmux_dylib_host::plan::{By, CFunction, CReturn, Direction, Length, Pass, Plan};
use toolmux_dylib_host::scalar::Scalar::{Char, Double, Float, Int};
use toolmux_dylib_host::{Library, LibraryError};

use crate::fixture;
use crate::plans::{
    A_INT, INT, Values, buffer, function, hello, input, length, output, plan, size_from, string, text_in,
};
use crate::worker::{Reply, Worker};

/// Both ways of loading refuse the library with this text.
#[track_caller]
fn check_failed(library: &Path, text: &str) {
    let plan = Plan { library: library.to_str().unwrap().to_owned(), ..plan(Vec::new()) };
    let mut worker = Worker::spawn();
    let reply = worker.hello(&hello(plan.clone(), Profile::Pure));
    let Reply::Failed(CallFault::LoadFailed, told) = reply else { panic!("{reply:?}") };
    assert!(told.contains(text), "{told}");
    assert_eq!(worker.wait_for_code(), Some(71));
    assert!(Library::open(&plan).is_err());
}

#[test]
fn a_missing_file_is_named() {
    check_failed(
        Path::new("/nowhere/libgone.so"),
        "cannot read the library `/nowhere/libgone.so`: No such file",
    );
    check_failed(Path::new("libgone.so.1"), "no library `libgone.so.1`");
}

#[test]
fn a_library_for_another_processor_is_named_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.so");
    let mut elf = fs::read(fixture::library()).unwrap();
    // e_machine of the ELF header.
    elf[18] = 21;
    elf[19] = 0;
    fs::write(&path, elf).unwrap();
    check_failed(&path, "is made for PowerPc64");
}

#[test]
fn a_linker_script_names_the_library_to_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libm.so");
    let script = "/* GNU ld script\n*/\nOUTPUT_FORMAT(elf64-x86-64)\n\
                  GROUP ( /lib/libm.so.6  AS_NEEDED ( /lib/libmvec.so.1 ) )\n";
    fs::write(&path, script).unwrap();
    check_failed(&path, "is a linker script, not a library; name `/lib/libm.so.6` instead");
}

#[test]
fn other_files_are_not_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.so");
    fs::write(&path, "hello").unwrap();
    check_failed(&path, "is not a shared library");
    check_failed(folder.path(), "is not a shared library");
    fs::write(&path, &fs::read(fixture::library()).unwrap()[..3000]).unwrap();
    check_failed(&path, "text.so`");
}

#[test]
fn a_crash_while_loading_is_the_end_of_that_worker_only() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dyn-worker"));
    let mut worker = Worker::spawn_by(command.env("FIXTURE_CRASH_ON_LOAD", "1"));
    assert_eq!(worker.hello(&hello(plan(Vec::new()), Profile::Pure)), Reply::EndOfPipe);
    assert_eq!(worker.wait_for_signal(), Some(libc::SIGSEGV));
}

#[test]
fn ready_tells_the_abi_and_how_far_the_sandbox_holds() {
    for (profile, degree) in
        [(Profile::Pure, Degree::Fully), (Profile::Deny, Degree::Fully), (Profile::Off, Degree::Not)]
    {
        let ready = Worker::spawn().greet(&hello(plan(vec![function("counter", &[], INT)]), profile));
        assert_eq!(ready.functions, [Readiness::Callable]);
        assert_eq!(ready.abi, Abi::HOST);
        assert_eq!(ready.enforced, Enforced { files: degree, system_calls: degree });
    }
}

#[test]
fn a_function_of_another_library_is_not_one_of_this() {
    let functions = vec![
        function("strlen", &[("s", text_in())], INT),
        function("nowhere", &[], INT),
        function("hello", &[], string(Some("system"))),
        function("counter", &[], INT),
    ];
    let mut worker = Worker::spawn();
    let ready = worker.greet(&hello(plan(functions), Profile::Pure));
    let missing = |name| Readiness::SymbolMissing(format!("the library has no function `{name}`"));
    let expected = [missing("strlen"), missing("nowhere"), missing("system"), Readiness::Callable];
    assert_eq!(ready.functions, expected);
    let refused = worker.call(0, &Values::none());
    let text = "no function 0 can be called".to_owned();
    assert_eq!(refused, Reply::Failed(CallFault::UnknownFunction, text));
    assert_eq!(worker.result(3, &Values::none()), Values::none().int(1).0);
}

#[test]
fn a_plan_that_cannot_be_called_is_refused_with_its_reason() {
    let float = ("x", Pass::Value(Float));
    let sized_by = |parameter| ("x", buffer(Char, Direction::Out, Some(size_from(parameter)), Length::All));
    let of = |parameters: &[(&str, Pass)]| function("add", parameters, INT);
    let variadic = |fixed, parameter: &(&str, Pass)| CFunction {
        fixed_parameters: Some(fixed),
        explanation: None,
        ..of(&[A_INT, parameter.clone()])
    };
    let unsized_output = ("x", buffer(Char, Direction::Out, None, Length::All));
    let cases = [
        (of(&[unsized_output]), "`x` is an output without a size"),
        (of(&[("x", output(Int, 3, Length::Nul))]), "`x` takes its length from what is not an integer"),
        (
            of(&[("x", output(Int, 3, Length::Parameter(9)))]),
            "`x` takes its length from what is not an integer",
        ),
        (of(&[sized_by(0)]), "`x` takes its size from what is neither an integer nor an input"),
        (
            of(&[sized_by(1), float.clone()]),
            "`x` takes its size from what is neither an integer nor an input",
        ),
        (of(&[("x", length(0, Int, By::Value))]), "`x` is the length of something that is not a buffer"),
        (of(&[("x", length(1, Double, By::Value)), ("y", input(Int))]), "`x` is a length but no integer"),
        (of(&vec![A_INT; 33]), "it has more than 32 parameters"),
        (variadic(3, &A_INT), "it has fewer parameters than are fixed"),
        (variadic(1, &float), "`x` follows `...` and must be an int, a double or larger"),
    ];
    for (function, reason) in cases {
        let library = Library::open(&plan(vec![function])).unwrap();
        assert_eq!(library.readiness(), [Readiness::BadPlan(reason.to_owned())]);
    }
}

#[test]
fn a_void_function_may_have_no_parameters_at_all() {
    let mut library = Library::open(&plan(vec![function("free_count", &[], CReturn::Void)])).unwrap();
    let mut output = Vec::new();
    library.call(0, &[], &mut output).unwrap();
    assert!(output.is_empty());
}

#[test]
fn an_unreadable_library_says_why() {
    let error = Library::open(&Plan { library: "/".to_owned(), ..plan(Vec::new()) }).unwrap_err();
    assert!(matches!(error, LibraryError::NotALibrary(_)), "{error:?}");
}
