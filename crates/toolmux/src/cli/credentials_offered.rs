//! The lines of a configuration that give a source what its tools need: what a document asks for is offered where the source
//! is added.

use toolmux_core::requirements::{AskedBy, Requirements};
use toolmux_core::tool::Tool;

use toolmux_core::plural::counted;

/// What to add to the configuration so that every tool of a source is served; nothing when all are.
pub(super) fn credentials_offered(source: &str, tools: &[Tool]) -> Option<String> {
    let needing: Vec<&Tool> = tools.iter().filter(|tool| tool.requires.asked_by == AskedBy::Nobody).collect();
    let needing: Vec<&Tool> = needing
        .into_iter()
        .filter(|tool| !tool.requires.alternatives.iter().any(Requirements::is_empty))
        .collect();
    if needing.is_empty() {
        return None;
    }
    let (mut secrets, mut providers): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for tool in &needing {
        let sets = std::iter::once(&tool.requires).chain(&tool.requires.alternatives);
        for set in sets {
            set.secrets.iter().for_each(|name| add(&mut secrets, name));
            set.authorization.iter().for_each(|needed| add(&mut providers, &needed.id));
        }
    }
    let is_or_are = if needing.len() == 1 { "is" } else { "are" };
    let mut lines = vec![format!(
        "{source}: {} {is_or_are} not served until the configuration gives what the document asks for.\n\
         Either `headers` of the source carry it in every request, or name it for the source:\n",
        counted(needing.len(), "tool")
    )];
    lines.push(format!("[sources.{source}]"));
    if !secrets.is_empty() {
        lines.push(format!("secrets = {}", listed(&secrets)));
    }
    if !providers.is_empty() {
        lines.push(format!("# or, with a token of each user:\nproviders = {}", listed(&providers)));
    }
    if !secrets.is_empty() {
        lines.push("\n[secrets]".to_owned());
        let secret = |name: &&str| format!("{} = {{ env = \"{}\" }}", key(name), variable(source, name));
        lines.extend(secrets.iter().map(secret));
    }
    for provider in &providers {
        lines.push(format!("\n# [auth.providers.{}]\n# see docs/authorization.md", key(provider)));
    }
    Some(lines.join("\n"))
}

fn add<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn listed(names: &[&str]) -> String {
    serde_json::Value::from(names.to_vec()).to_string()
}

/// A key of TOML.
fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string()
    }
}

/// The name of an environment variable for a secret of a source.
fn variable(source: &str, name: &str) -> String {
    toolmux_core::names::plain_name(&format!("{source}_{name}")).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use toolmux_core::requirements::Authorization;
    use toolmux_core::schema::Schema;

    use super::*;

    #[test]
    fn what_a_document_asks_for_is_offered_as_lines_of_a_configuration() {
        let plain = Tool::new("open", "", Schema::no_parameters());
        assert_eq!(credentials_offered("Pets", std::slice::from_ref(&plain)), None);
        let mut needy = Tool::new("needy", "", Schema::no_parameters());
        let by_token = Requirements {
            authorization: vec![Authorization::new("pet auth", vec![])],
            ..Requirements::default()
        };
        needy.requires = Requirements {
            secrets: vec!["api_key".into()],
            asked_by: AskedBy::Nobody,
            alternatives: vec![by_token],
            ..Requirements::default()
        };
        let offered = credentials_offered("Pets", &[plain, needy]).expect("offered");
        for line in [
            "Pets: 1 tool is not served",
            "secrets = [\"api_key\"]",
            "providers = [\"pet auth\"]",
            "api_key = { env = \"PETS_API_KEY\" }",
            "[auth.providers.\"pet auth\"]",
        ] {
            assert!(offered.contains(line), "{line} is not in:\n{offered}");
        }
    }
}
