//! `toolmux docs`: the manual from the program alone.

use crate::process::{stderr, stdout, toolmux};

#[test]
fn topics_pages_and_words_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |words: &[&str], expect: &[&str]| {
        let output = toolmux(folder.path(), &[&["docs"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        for text in expect {
            assert!(stdout(&output).contains(text), "{words:?}: {}", stdout(&output));
        }
    };
    check(&[], &["index ", "connect ", "sources/mcp ", "protocols/mcp "]);
    check(&["connect"], &["# Connect an agent\n", "## Claude Desktop\n"]);
    check(&["opendyn"], &["# C libraries (OpenDyn)\n"]);
    check(&["mcp"], &["sources/mcp ", "protocols/mcp "]);
    check(&["idempotency key"], &["protocols/oxp:", "idempotency key"]);
    check(&["two", "replicas"], &["production:"]);
}

#[test]
fn a_topic_that_is_not_there_is_refused_with_the_nearest() {
    let folder = tempfile::tempdir().expect("a folder");
    for (word, hint) in [("conect", "did you mean `connect`?"), ("xyzzy", "`toolmux docs` lists the topics")]
    {
        let output = toolmux(folder.path(), &["docs", word]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
}
