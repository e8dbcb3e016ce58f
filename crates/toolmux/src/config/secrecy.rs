//! No value of a configuration stands in a fault: random secrets in every position of a full file, in every form that
//! people write, right or wrong.

use std::path::Path;

use proptest::prelude::*;

use super::{Config, ConfigFault};

/// A value at every place that a file may have; `toolmux check` likes it.
const FULL: &str = include_str!("secrecy.toml");
/// Stands for the value that is replaced.
const PLACE: &str = "\"@place@\"";

/// How a secret may have been written; `§` stands for it. The last ones are no TOML.
const FORMS: [&str; 18] = [
    r#""§""#,
    "'§'",
    "\"\"\"\nfirst = 1\n§\n\"\"\"",
    "'''§\nlast'''",
    r#"["x", "§"]"#,
    "[\n  \"x\",\n  \"§\",\n]",
    r#"[["x", "§"]]"#,
    r#"{ env = "§" }"#,
    r#"{ file = "§" }"#,
    r#"{ key = "§" }"#,
    r#"{ unknown = ["§"] }"#,
    r#"[{ token = "§" }]"#,
    r#""https://user:§@127.0.0.1:1/path?key=§""#,
    r#""{§}""#,
    r#""a" # §"#,
    "§",
    r#""§"#,
    r#"["§", "#,
];

/// The file with each of its values in turn replaced by the mark.
fn places() -> Vec<String> {
    fn walk(value: &toml::Value, put: &dyn Fn(toml::Value) -> String, found: &mut Vec<String>) {
        found.push(put(toml::Value::String("@place@".to_owned())));
        match value {
            toml::Value::Table(members) => {
                for (key, member) in members {
                    let put = |new: toml::Value| {
                        let mut members = members.clone();
                        members.insert(key.clone(), new);
                        put(toml::Value::Table(members))
                    };
                    walk(member, &put, found);
                }
            }
            toml::Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    let put = |new: toml::Value| {
                        let mut items = items.clone();
                        items[place] = new;
                        put(toml::Value::Array(items))
                    };
                    walk(item, &put, found);
                }
            }
            _ => {}
        }
    }
    let table: toml::Table = toml::from_str(FULL).expect("TOML");
    let mut found = Vec::new();
    let write = |value: toml::Value| toml::to_string(&value).unwrap_or_default();
    walk(&toml::Value::Table(table), &write, &mut found);
    found.retain(|text| text.contains(PLACE));
    found
}

/// Everything that can be shown of a fault.
fn shown(fault: &ConfigFault) -> String {
    let mut report = String::new();
    miette::GraphicalReportHandler::new().render_report(&mut report, fault).expect("a report");
    format!("{report}\n{fault}\n{}\n{:?}\n{:?}", fault.located(), fault.hint, fault)
}

fn check(folder: &Path, text: &str, secret: &str) {
    let file = folder.join("toolmux.toml");
    std::fs::write(&file, text).expect("written");
    let fault = match Config::read(text, "toolmux.toml", folder) {
        Err(fault) => Some(fault),
        Ok(config) => config.opening_fault(&file),
    };
    if let Some(fault) = fault {
        let shown = shown(&fault);
        // A part of a secret is a secret too.
        let parts =
            secret.as_bytes().windows(secret.len() * 2 / 3).filter_map(|part| std::str::from_utf8(part).ok());
        for part in parts {
            assert!(!shown.contains(part), "{part} of {secret} in {text}:\n{shown}");
        }
    }
}

#[test]
fn the_full_file_is_good() {
    let folder = folder();
    let file = folder.path().join("toolmux.toml");
    std::fs::write(&file, FULL).expect("written");
    let config = Config::load(&file).map_err(|fault| fault.located()).expect("it is good");
    assert_eq!(config.opening_fault(&file).map(|fault| fault.located()), None);
    assert!(places().len() > 100, "{}", places().len());
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = r#"{"openworkflow":"1.0.0","info":{"title":"a","version":"1.0.0"},"steps":[]}"#;
    std::fs::write(folder.path().join("flow.json"), workflow).expect("written");
    std::fs::write(folder.path().join("api.json"), "{}").expect("written");
    std::fs::write(folder.path().join("clients.json"), r#"{"mcpServers":{}}"#).expect("written");
    std::fs::write(folder.path().join("bob.key"), "a key in a file of its own").expect("written");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(folder.path().join("server.pem"), made.cert.pem()).expect("written");
    std::fs::write(folder.path().join("server.key"), made.signing_key.serialize_pem()).expect("written");
    folder
}

proptest! {
    // Each case tries every position in one form.
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn no_fault_shows_a_value(form in 0..FORMS.len(), secret in "[A-Za-z0-9]{6}[-_]?[A-Za-z0-9]{9}") {
        let (folder, written) = (folder(), FORMS[form].replace('§', &secret));
        for place in places() {
            check(folder.path(), &place.replace(PLACE, &written), &secret);
        }
    }

    #[test]
    fn no_fault_of_a_broken_file_shows_a_value(cut in 0..FULL.len(), secret in "[A-Za-z0-9]{16}") {
        let folder = folder();
        for place in places().iter().step_by(11) {
            let text = place.replace(PLACE, &format!("\"{secret}\""));
            let cut = text.floor_char_boundary(cut.min(text.len()));
            for broken in [format!("{}\"\"\"{}", &text[..cut], &text[cut..]), text[..cut].to_owned(),
                           format!("{} = {}", &text[..cut], &text[cut..])] {
                check(folder.path(), &broken, &secret);
            }
        }
    }
}
