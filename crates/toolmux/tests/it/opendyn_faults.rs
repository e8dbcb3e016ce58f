//! Everything a library can do wrong: the caller is told precisely, the next call works, and nobody else
//! notices.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::opendyn_fixture::{LIBRARY, Libraries, document, function, output};
use crate::process::{BINARY, stderr, stdout};

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// The function fails with these words; before, after and beside it another function and another library
/// work.
async fn check(broken: Value, arguments: Value, expect: &str) {
    check_with(broken, arguments, Value::Null, expect).await;
}

async fn check_with(broken: Value, arguments: Value, settings: Value, expect: &str) {
    let tool = format!("Fixture.{}", broken["name"].as_str().expect("it is there"));
    let libraries = Libraries::fixture(json!([broken, function("counter", "int", &[])]), settings).await;
    let other = document(json!([function("floor", "double", &[("x", "double")])]));
    libraries.add("Other", &other, "libm.so.6".as_ref(), Value::Null).await;
    let count = async || libraries.call("Fixture.counter", json!({})).await;
    assert_eq!(count().await, Ok(json!({ "result": 1 })));
    let (failed, beside) =
        tokio::join!(libraries.call(&tool, arguments), libraries.call("Other.floor", json!({ "x": 1.5 })));
    let failed = failed.expect_err("it fails");
    assert!(failed.contains(expect), "{failed}");
    assert_eq!(beside, Ok(json!({ "result": 1.0 })));
    assert_eq!(count().await, Ok(json!({ "result": 1 })), "the state is new");
    libraries.close().await;
}

fn nothing(name: &str) -> Value {
    function(name, "void", &[])
}

fn of_int(name: &str) -> Value {
    function(name, "int", &[("n", "int")])
}

#[tokio::test]
async fn crashes_name_the_signal() {
    check(nothing("segv"), json!({}), "`segv` crashed (SIGSEGV) at address 0x10").await;
    check(nothing("do_abort"), json!({}), "crashed (SIGABRT)").await;
    check(of_int("divz"), json!({ "n": 1 }), "crashed (SIGFPE)").await;
    check(of_int("recurse"), json!({ "n": 0 }), "crashed (SIGSEGV)").await;
    check(of_int("raise_sig"), json!({ "n": 15 }), "crashed (SIGTERM)").await;
    let wild = function("wild_write", "void", &[("address", "unsigned long")]);
    check(wild, json!({ "address": 0x1234_5000 }), "crashed (SIGSEGV) at address 0x12345000").await;
}

#[tokio::test]
async fn a_buffer_that_overflows_is_named() {
    let buffer = json!({ "type": "char", "isPointer": true, "size": 16 });
    let overflow = json!({ "name": "overflow", "description": "d", "parameters": [
        output("out", "string", buffer),
        { "name": "cap", "schema": { "type": "integer", "cType": { "type": "unsigned long", "lengthOf": "out" } } },
    ] });
    check(overflow, json!({}), "crashed (SIGSEGV) while writing parameter out").await;
}

#[tokio::test]
async fn writing_before_a_buffer_and_lying_about_its_length_are_found() {
    let buffer = json!({ "type": "char", "isPointer": true, "size": 8 });
    let parameters = json!([output("buf", "string", buffer)]);
    let underflow = json!({ "name": "underflow", "description": "d", "parameters": parameters });
    check(underflow, json!({}), "broke its description").await;
    let mut lie = function("lie_len", "int", &[]);
    let buffer = json!({ "type": "char", "isPointer": true, "size": 8, "lengthFrom": "return" });
    lie["parameters"] = json!([output("buf", "string", buffer)]);
    check(lie, json!({}), "broke its description").await;
}

#[tokio::test]
async fn a_heap_that_is_smashed_is_found_by_the_paranoid() {
    let smash = function("smash_heap", "void", &[("n", "int")]);
    check_with(smash, json!({ "n": 8 }), json!({ "paranoid": true }), "crashed (SIGABRT)").await;
}

#[tokio::test]
async fn leaving_the_process_is_told_with_its_status() {
    let leave = |name: &str| function(name, "void", &[("code", "int")]);
    check(leave("do_exit"), json!({ "code": 3 }), "ended the process it ran in (exit status 3)").await;
    check(leave("do__exit"), json!({ "code": 0 }), "(exit status 0)").await;
    check(nothing("close_all"), json!({}), "`close_all` ").await;
}

#[tokio::test]
async fn what_does_not_return_is_ended() {
    for name in ["hang", "spin", "block_sigs_spin"] {
        let mut hang = nothing(name);
        hang["timeoutMs"] = 100.into();
        check(hang, json!({}), "did not return within 100ms and was ended").await;
    }
    let mut patient = of_int("sleep_ms");
    patient["timeoutMs"] = 5000.into();
    let libraries = Libraries::fixture(json!([patient]), Value::Null).await;
    let slept = libraries.call("Fixture.sleep_ms", json!({ "n": 60 })).await;
    assert_eq!(slept, Ok(json!({ "result": 0 })));
    libraries.close().await;
}

#[tokio::test]
async fn calls_behind_a_crash_are_answered_by_the_next_worker() {
    let functions = json!([nothing("segv"), function("add", "int", &[("a", "int"), ("b", "int")])]);
    let libraries = Libraries::fixture(functions, Value::Null).await;
    let crash = libraries.call("Fixture.segv", json!({}));
    let behind = (0..20).map(|a| libraries.call("Fixture.add", json!({ "a": a, "b": 1 })));
    let (crashed, answers) = tokio::join!(crash, futures_util::future::join_all(behind));
    assert!(crashed.expect_err("it fails").contains("crashed (SIGSEGV)"));
    for (a, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, Ok(json!({ "result": a + 1 })));
    }
    libraries.close().await;
}

#[tokio::test]
async fn a_library_that_dies_again_and_again_is_given_a_rest() {
    let functions = json!([nothing("segv"), function("counter", "int", &[])]);
    let libraries = Libraries::fixture(functions, Value::Null).await;
    for _ in 0..5 {
        let crashed = libraries.call("Fixture.segv", json!({})).await.expect_err("it fails");
        assert!(crashed.contains("SIGSEGV"), "{crashed}");
    }
    let resting = libraries.call("Fixture.counter", json!({})).await.expect_err("it fails");
    assert!(resting.contains("died 5 times within 60s and is paused"), "{resting}");
    libraries.close().await;
}

#[tokio::test]
async fn a_library_gets_the_memory_it_may_take_and_no_more() {
    let functions = json!([function("leak", "int", &[("bytes", "unsigned long")])]);
    let libraries = Libraries::fixture(functions, json!({ "limits": { "memory": 8 << 20 } })).await;
    for (bytes, expect) in [(4 << 20, 1), (8 << 20, 0), (1000, 1)] {
        let answer = libraries.call("Fixture.leak", json!({ "bytes": bytes })).await;
        assert_eq!(answer, Ok(json!({ "result": expect })), "{bytes}");
    }
    libraries.close().await;
}

#[tokio::test]
async fn printing_reading_and_leaking_harm_nobody() {
    let functions = json!([
        function("print_out", "int", &[("s", "char*")]),
        function("read_stdin", "long", &[]),
        function("leak", "int", &[("bytes", "unsigned long")]),
        function("try_socket", "int", &[]),
        function("try_exec", "int", &[]),
        function("fork_bomb_one", "int", &[]),
        function("thread_left", "int", &[]),
    ]);
    let libraries = Libraries::fixture(functions, Value::Null).await;
    let check = async |tool: &str, arguments: Value, expect: i64| {
        let answer = libraries.call(&format!("Fixture.{tool}"), arguments).await;
        assert_eq!(answer, Ok(json!({ "result": expect })), "{tool}");
    };
    check("print_out", json!({ "s": "printed by the fixture\n" }), 23).await;
    check("read_stdin", json!({}), 0).await;
    check("leak", json!({ "bytes": 1 << 20 }), 1).await;
    check("leak", json!({ "bytes": 2_u64 << 30 }), 0).await;
    check("try_socket", json!({}), -1).await;
    check("try_exec", json!({}), -1).await;
    check("fork_bomb_one", json!({}), -1).await;
    check("thread_left", json!({}), 1).await;
    libraries.close().await;
}

#[tokio::test]
async fn what_a_library_left_running_ends_with_it() {
    let functions =
        json!([function("fork_bomb_one", "int", &[]), function("do_exit", "void", &[("code", "int")])]);
    let libraries = Libraries::fixture(functions, json!({ "sandbox": "off" })).await;
    let forked = libraries.call("Fixture.fork_bomb_one", json!({})).await;
    assert_eq!(forked, Ok(json!({ "result": 1 })));
    let left = libraries.call("Fixture.do_exit", json!({ "code": 4 })).await.expect_err("it fails");
    assert!(left.contains("(exit status 4)"), "{left}");
    libraries.close().await;
}

#[tokio::test]
async fn a_crash_while_loading_is_a_library_that_cannot_be_loaded() {
    let functions = json!([function("counter", "int", &[])]);
    let settings = json!({ "env": { "FIXTURE_CRASH_ON_LOAD": "1" } });
    let libraries = Libraries::fixture(functions, settings).await;
    assert!(libraries.names().is_empty());
    libraries.close().await;
}

#[tokio::test]
async fn more_than_may_wait_is_refused() {
    let functions = json!([of_int("sleep_ms")]);
    let libraries = Libraries::fixture(functions, json!({ "limits": { "queue": 2 } })).await;
    let calls = (0..3).map(|_| libraries.call("Fixture.sleep_ms", json!({ "n": 200 })));
    let answers = futures_util::future::join_all(calls).await;
    let refused: Vec<&String> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("Too many calls wait"), "{refused:?}");
    libraries.close().await;
}

/// The sandbox asks for no privilege: the same as whoever runs the tests and, if that is root, as nobody.
#[test]
fn any_user_is_isolated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let readable = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    };
    readable(path);
    for (from, to) in [(Path::new(BINARY), "toolmux"), (LIBRARY.as_path(), "fixture.so")] {
        std::fs::copy(from, path.join(to)).expect("copied");
        readable(&path.join(to));
    }
    let functions =
        json!([nothing("segv"), function("try_socket", "int", &[]), function("try_exec", "int", &[])]);
    std::fs::write(path.join("it.json"), document(functions).to_string()).expect("written");
    let config = "store = \"memory\"\n[sources.It]\nkind = \"opendyn\"\ndocument = \"it.json\"\nlibrary = \"./fixture.so\"\n";
    std::fs::write(path.join("toolmux.toml"), config).expect("written");
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(path).expect("it is there")) == 0;
    for user in [None, Some(NOBODY)].into_iter().filter(|user| root || user.is_none()) {
        let call = |tool: &str| {
            let mut command = Command::new(path.join("toolmux"));
            command.args(["call", tool]).current_dir(path).env("NO_COLOR", "1");
            if let Some(user) = user {
                command.uid(user).gid(user);
            }
            command.output().expect("it runs")
        };
        let refused = "{\"result\":-1}\n";
        assert_eq!(stdout(&call("It.try_socket")), refused, "{user:?}");
        assert_eq!(stdout(&call("It.try_exec")), refused, "{user:?}");
        let crashed = call("It.segv");
        assert_eq!(crashed.status.code(), Some(1), "{user:?}");
        assert!(stderr(&crashed).contains("crashed (SIGSEGV)"), "{}", stderr(&crashed));
    }
}
