//! The loop over cases, what a failing case prints, and the environment variables that `cargo xtask fuzz` sets.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::FuzzTarget;
use crate::mutation::case;
use crate::random::Random;

/// How many cases each target gets in `cargo test`.
const CASES: usize = 1_000;
/// The manifest that names every target for `cargo fuzz`.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/Cargo.toml");

/// What `cargo xtask fuzz` asks for; plain tests find nothing set.
const TARGET: &str = "TOOLMUX_FUZZ_TARGET";
const SECONDS: &str = "TOOLMUX_FUZZ_SECONDS";
const SEED: &str = "TOOLMUX_FUZZ_SEED";
const INPUT: &str = "TOOLMUX_FUZZ_INPUT";
const CORPUS: &str = "TOOLMUX_FUZZ_CORPUS";

/// Tries every target, each with its examples first; panics with the first case that fails.
pub fn hold(targets: &[FuzzTarget]) {
    let manifest = fs::read_to_string(MANIFEST).expect("fuzz/Cargo.toml can be read");
    for target in targets {
        let name = target.0;
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "`{name}` is missing in fuzz/Cargo.toml");
        if let Some(folder) = env::var_os(CORPUS) {
            write_examples(&Path::new(&folder).join(name), &(target.1)());
        } else if env::var(TARGET).is_ok_and(|only| only != name) {
        } else if let Some(file) = env::var_os(INPUT) {
            check(target, &fs::read(file).expect("the input can be read"));
        } else {
            run(target);
        }
    }
}

fn run(target: &FuzzTarget) {
    let number = |variable| env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let until = number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let examples = (target.1)();
    assert!(!examples.is_empty(), "`{}` has no examples", target.0);
    for example in &examples {
        check(target, example);
    }
    let mut random = Random::new(number(SEED).unwrap_or_default(), target.0);
    let mut count = 0;
    while until.map_or(count < CASES, |until| Instant::now() < until) {
        check(target, &case(&examples, &mut random));
        count += 1;
    }
    if until.is_some() {
        println!("{}: {count} cases", target.0);
    }
}

fn check(target: &FuzzTarget, input: &[u8]) {
    let _shown = Shown { name: target.0, input };
    (target.2)(input);
}

fn write_examples(folder: &Path, examples: &[Vec<u8>]) {
    fs::create_dir_all(folder).expect("the corpus folder can be made");
    for (number, example) in examples.iter().enumerate() {
        fs::write(folder.join(format!("example-{number}")), example).expect("an example can be written");
    }
}

/// Tells the input of a case that fails, whatever panics in it.
struct Shown<'a> {
    name: &'a str,
    input: &'a [u8],
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("fuzz target `{}` failed; to repeat it:\n{}", self.name, repeat(self.name, self.input));
        }
    }
}

/// A shell command that runs the case alone.
fn repeat(name: &str, input: &[u8]) -> String {
    let plain = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !b"\\'%".contains(&byte);
    let escaped: String = input
        .iter()
        .map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("\\{byte:03o}") })
        .collect();
    format!("printf '{escaped}' > case.bin && cargo xtask fuzz {name} --input case.bin")
}

#[cfg(test)]
mod tests {
    use super::repeat;
    use crate::mutation::case;
    use crate::random::Random;

    #[test]
    fn a_failing_case_is_printed_as_a_command() {
        let expect = r"printf 'a\047\045\134 \000\377' > case.bin && cargo xtask fuzz names --input case.bin";
        assert_eq!(repeat("names", b"a'%\\ \0\xff"), expect);
    }

    #[test]
    fn cases_are_the_same_in_every_run_and_differ_between_targets() {
        let examples = [br#"{"a":[1,"two",{"b":null}]}"#.to_vec(), b"GET / 12".to_vec()];
        let cases = |name: &str| -> Vec<Vec<u8>> {
            let mut random = Random::new(0, name);
            (0..200).map(|_| case(&examples, &mut random)).collect()
        };
        assert_eq!(cases("a"), cases("a"));
        assert_ne!(cases("a"), cases("b"));
        let documents = cases("a")
            .iter()
            .filter(|case| serde_json::from_slice::<serde_json::Value>(case).is_ok())
            .count();
        assert!(documents > 10, "{documents} of 200 cases are still JSON");
    }
}
