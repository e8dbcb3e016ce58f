//! Idioms of C headers: a library of our own is compiled, described without a hand on the document, and called.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::opendyn_fixture::Libraries;
use crate::process::{stderr, stdout, toolmux};

const HEADER: &str = r"
#include <stddef.h>
#include <stdio.h>
#ifndef WIDTH
#error WIDTH must be set
#endif
#define PACK_BOUND 64

#ifdef __cplusplus
extern C {
#endif

/* A macro's own words. */
#define PACK_VERSION 3
int pack_version(void);

#define PACK_OK 0
#define PACK_TOO_SMALL 1
#define PACK_BROKEN 2

#define PACK_FLAG_UPPER 1
#define PACK_FLAG_TWICE 2

typedef unsigned char pack_id[4];
typedef enum { PACK_UP, PACK_DOWN = -1 } pack_order;
typedef struct pack pack;
typedef struct { int sum; long count; char label[8]; } pack_counter;
typedef struct __attribute__((packed)) { char a; long b; } pack_squeezed;

/// Opens a pack.
/// In two lines.
/// @param title what it is called, may be NULL
pack *pack_open(const char *title);
int pack_is_closed(const pack *p); ///< Whether it is closed.
void pack_close(pack *p);

/** Writes upper case.
 * @param[out] dst the result
 * @return the number of bytes written */
size_t pack_encode(void *dst, size_t dstCapacity, const void *src, size_t srcSize);
/* Returns PACK_OK, PACK_TOO_SMALL or PACK_BROKEN. */
int pack_copy(unsigned char *dest, unsigned long *destLen, const unsigned char *source, unsigned long sourceLen);
int pack_name(char *buf, size_t n);
double pack_mean(int n, const double *values);
void pack_id_make(pack_id out), pack_nothing(void);
/** @param flags PACK_FLAG_UPPER, PACK_FLAG_TWICE */
int pack_flags(int flags, pack_order order);
int pack_next(unsigned int *seed);
int pack_rows(pack *p, int (*callback)(void *, int, char **, char **), void *data, char **errmsg);
void pack_free(void *memory);
int pack_count(pack_counter *counter, int value);
typedef struct { int sum; void *hidden; char label[8]; } pack_state;
void pack_state_init(pack_state *state);
int pack_add(pack_state *state, int value);
int pack_squeeze(pack_squeezed *it);
void pack_sort(int *values, int (*compare)(const void *, const void *));
static inline int pack_inline(void) { return 1; }
";

const CODE: &str = r#"
#define WIDTH 8
#include "pack.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
struct pack { int open; };
int pack_version(void) { return PACK_VERSION; }
pack *pack_open(const char *t) { (void)t; pack *p = calloc(1, sizeof *p); p->open = 1; return p; }
int pack_is_closed(const pack *p) { return !p->open; }
void pack_close(pack *p) { free(p); }
size_t pack_encode(void *dst, size_t cap, const void *src, size_t n) {
    if (n > cap) return (size_t)-1;
    for (size_t i = 0; i < n; i++) ((char *)dst)[i] = toupper(((const unsigned char *)src)[i]);
    return n;
}
int pack_copy(unsigned char *d, unsigned long *dl, const unsigned char *s, unsigned long n) {
    if (n > *dl) return PACK_TOO_SMALL;
    memcpy(d, s, n); *dl = n; return PACK_OK;
}
int pack_name(char *buf, size_t n) { return snprintf(buf, n, "pack"); }
double pack_mean(int n, const double *v) { double s = 0; for (int i = 0; i < n; i++) s += v[i]; return s / n; }
void pack_id_make(pack_id out) { memcpy(out, "\x01\x02\xfe\xff", 4); }
void pack_nothing(void) {}
int pack_flags(int flags, pack_order order) { return flags * 10 + order; }
int pack_next(unsigned int *seed) { *seed += 1; return *seed * 2; }
int pack_rows(pack *p, int (*cb)(void *, int, char **, char **), void *data, char **errmsg) {
    char *names[] = { "a", "b" }, *one[] = { "x", NULL };
    (void)p;
    *errmsg = strdup("fine");
    return cb(data, 2, one, names);
}
void pack_free(void *m) { free(m); }
int pack_count(pack_counter *c, int value) { c->count++; strcpy(c->label, "sum"); return c->sum += value; }
void pack_state_init(pack_state *s) { s->sum = 0; s->hidden = s; strcpy(s->label, "sum"); }
int pack_add(pack_state *s, int value) { return s->hidden == s ? s->sum += value : -1; }
int pack_squeeze(pack_squeezed *it) { return it->a; }
void pack_sort(int *values, int (*compare)(const void *, const void *)) { (void)values; (void)compare; }
"#;

/// A folder with the header and the library.
fn library() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).expect("a folder");
    std::fs::write(folder.path().join("all.h"), "#include \"parts/pack.h\"\n").expect("written");
    std::fs::write(parts.join("pack.h"), HEADER).expect("written");
    std::fs::write(parts.join("pack.c"), CODE).expect("written");
    let file = folder.path().join("libpack.so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&file).arg(parts.join("pack.c")).output();
    let built = built.expect("a compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (folder, file)
}

fn describe(folder: &Path, more: &[&str]) -> (Value, String) {
    let base = [
        "describe",
        "all.h",
        "--library",
        "./libpack.so",
        "-D",
        "WIDTH=8",
        "--force",
        "--out",
        "it.opendyn.json",
    ];
    let output = toolmux(folder, &[&base, more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let checked = toolmux(folder, &["check", "it.opendyn.json"]);
    assert_eq!(stdout(&checked), "it.opendyn.json: valid OpenDyn document\n", "{}", stderr(&checked));
    let text = std::fs::read_to_string(folder.join("it.opendyn.json")).expect("written");
    (serde_json::from_str(&text).expect("JSON"), stderr(&output))
}

fn named<'a>(document: &'a Value, name: &str) -> &'a Value {
    let functions = document["functions"].as_array().expect("a list");
    functions.iter().find(|function| function["name"] == name).expect("it is there")
}

#[tokio::test]
async fn idioms_are_described_and_called() {
    let (folder, file) = library();
    let (document, told) = describe(folder.path(), &[]);
    assert!(!told.contains("pack_inline") && told.contains("pack_sort: decide"), "{told}");
    let names = document["functions"].to_string();
    assert!(
        !names.contains("pack_squeezed_allocate"),
        "the compiler does not confirm the size of a packed structure"
    );
    let libraries = Libraries::new();
    libraries.add("It", &document, &file, Value::Null).await;
    let opened = libraries.call("It.pack_open", json!({})).await.expect("opened");
    let pack = &opened["result"];
    let seeded = libraries.call("It.pack_state_allocate", json!({})).await.expect("allocated");
    let state = &seeded["result"];
    for (tool, arguments, expect) in [
        ("pack_version", json!({}), json!({ "result": 3 })),
        ("pack_is_closed", json!({ "p": pack }), json!({ "result": 0 })),
        ("pack_encode", json!({ "src": "abc" }), json!({ "result": 3, "dst": "ABC" })),
        (
            "pack_copy",
            json!({ "source": "xy" }),
            json!({ "result": 0, "code": "PACK_OK", "dest": "xy", "destLen": 2 }),
        ),
        ("pack_name", json!({}), json!({ "result": 4, "buf": "pack" })),
        ("pack_mean", json!({ "values": [1.0, 2.0, 6.0] }), json!({ "result": 3.0 })),
        ("pack_id_make", json!({}), json!({ "out": "0102feff" })),
        ("pack_nothing", json!({}), json!({})),
        (
            "pack_flags",
            json!({ "flags": ["PACK_FLAG_UPPER", "PACK_FLAG_TWICE"], "order": "PACK_DOWN" }),
            json!({ "result": 29 }),
        ),
        ("pack_flags", json!({ "flags": 1, "order": -1 }), json!({ "result": 9 })),
        ("pack_next", json!({ "seed": 4 }), json!({ "result": 10, "seed": 5 })),
        (
            "pack_rows",
            json!({ "p": pack }),
            json!({ "result": 0, "rows": [{ "a": "x", "b": null }], "errmsg": "fine" }),
        ),
        (
            "pack_count",
            json!({ "counter": { "sum": 2 }, "value": 5 }),
            json!({ "result": 7, "counter": { "sum": 7, "count": 1, "label": "sum" } }),
        ),
        ("pack_state_init", json!({ "state": state }), json!({})),
        ("pack_add", json!({ "state": state, "value": 5 }), json!({ "result": 5 })),
        ("pack_state_write", json!({ "pack_state": state, "sum": 10 }), json!({})),
        ("pack_add", json!({ "state": state, "value": 2 }), json!({ "result": 12 })),
        (
            "pack_state_read",
            json!({ "pack_state": state }),
            json!({ "members": { "sum": 12, "label": "sum" } }),
        ),
        ("pack_state_deallocate", json!({ "pack_state": state }), json!({})),
        ("pack_close", json!({ "p": pack }), json!({})),
    ] {
        assert_eq!(libraries.call(&format!("It.{tool}"), arguments).await, Ok(expect), "{tool}");
    }
    libraries.close().await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_the_worker_lives_on() {
    let (folder, file) = library();
    let (document, _) = describe(folder.path(), &["--only", "pack_encode", "--only", "pack_flags"]);
    let libraries = Libraries::new();
    libraries.add("It", &document, &file, Value::Null).await;
    let small = libraries
        .call("It.pack_encode", json!({ "src": "abc", "dstCapacity": 2 }))
        .await
        .expect_err("too small");
    assert!(small.contains("`dst` is too small"), "{small}");
    let again = libraries.call("It.pack_encode", json!({ "src": { "base64": "YQ==" } })).await;
    assert_eq!(again, Ok(json!({ "result": 1, "dst": "A" })), "the worker lives on");
    let name = libraries
        .call("It.pack_flags", json!({ "flags": 0, "order": "PACK_DWN" }))
        .await
        .expect_err("no such name");
    assert!(name.contains("order"), "{name}");
    libraries.close().await;
}

#[test]
fn comments_and_guesses_are_in_the_document() {
    let (folder, _) = library();
    let (document, _) = describe(folder.path(), &[]);
    assert_eq!(named(&document, "pack_open")["description"], "Opens a pack. In two lines.");
    assert_eq!(
        named(&document, "pack_open")["parameters"][0]["description"],
        "what it is called, may be NULL"
    );
    assert_eq!(named(&document, "pack_open")["parameters"][0]["required"], false);
    assert_eq!(named(&document, "pack_is_closed")["description"], "Whether it is closed.");
    let version = named(&document, "pack_version")["description"].as_str().expect("a text");
    assert_eq!(
        version, "int pack_version(void)",
        "the comment of a macro is not about the function behind it"
    );
    let guess = &named(&document, "pack_encode")["parameters"][2]["guess"];
    assert_eq!(
        *guess,
        json!({ "confidence": "high", "reason": "`srcSize` is taken for the length of `src`" })
    );
    assert!(named(&document, "pack_is_closed")["parameters"][0]["schema"]["cType"].get("closes").is_none());
    assert_eq!(named(&document, "pack_close")["parameters"][0]["schema"]["cType"]["closes"], true);
}

#[test]
fn answers_survive_and_differences_are_shown() {
    let (folder, _) = library();
    let (document, _) =
        describe(folder.path(), &["--strip-prefix", "pack_", "--only", "pack_so*", "--only", "pack_name"]);
    assert_eq!(document["undecided"][0]["symbol"], "pack_sort");
    assert_eq!(named(&document, "name")["symbol"], "pack_name");
    let answers = json!({ "answers": { "pack_sort": { "parameters": {
        "values": { "schema": { "cType": { "size": 4 } } }, "compare": { "schema": { "const": null } } } }, "pack_gone": { "skip": true } } });
    std::fs::write(folder.path().join("it.answers.json"), answers.to_string()).expect("written");
    let (document, told) = describe(folder.path(), &["--only", "pack_so*", "--only", "pack_name"]);
    assert!(document.get("undecided").is_none(), "{told}");
    assert_eq!(named(&document, "pack_sort")["parameters"][0]["schema"]["cType"]["size"], 4);
    assert!(told.contains("pack_gone: is answered"), "{told}");
    let base =
        ["describe", "all.h", "--library", "./libpack.so", "-D", "WIDTH=8", "--diff", "it.opendyn.json"];
    let differs =
        toolmux(folder.path(), &[&base[..], &["--only", "pack_name", "--only", "pack_mean"]].concat());
    assert_eq!((differs.status.code(), stdout(&differs).as_str()), (Some(1), "- pack_sort\n+ pack_mean\n"));
    let same = toolmux(folder.path(), &[&base[..], &["--only", "pack_so*", "--only", "pack_name"]].concat());
    assert_eq!((same.status.code(), stdout(&same).as_str()), (Some(0), ""));
}

#[test]
fn nothing_to_describe_is_an_error_with_its_reason() {
    let (folder, _) = library();
    std::fs::write(folder.path().join("empty.h"), "typedef int number;\n").expect("written");
    for (arguments, expect) in [
        (&["empty.h", "--library", "./libpack.so"][..], "`empty.h` declares no function"),
        (&["all.h", "--library", "./libpack.so"][..], "WIDTH must be set"),
        (
            &["all.h", "-DWIDTH=1", "--library", "./libpack.so", "--only", "other*"][..],
            "matches --only and --except",
        ),
        (&["all.h", "-DWIDTH=1", "--library", "libm.so.6"][..], "`libm.so.6` has none of"),
        (
            &["all.h", "--pkg-config", "no-such-package", "--library", "./libpack.so"][..],
            "`pkg-config` refuses",
        ),
    ] {
        let output = toolmux(folder.path(), &[&["describe"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(expect), "{arguments:?}: {told}");
    }
}
