//! `[sources]`: the tables of this file, and the servers of files that it imports.

use serde_json::Value;
use toolmux_core::names::is_plain;
use toolmux_core::nearest::nearest;
use toolmux_core::sources::Naming;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::SourceKind;

use super::fault::ConfigFault;
use super::resolve::{Reader, Variables};
use super::{SourceConfig, import};

/// Stands for a variable that is not set where the rest is judged all the same; it may be an address.
const UNSET_VARIABLE: &str = "http://unset.invalid";

impl Reader<'_> {
    pub(super) fn sources(&self, mut raw: toml::Table) -> Vec<SourceConfig> {
        let imported = match raw.get("import") {
            None | Some(toml::Value::Table(_)) => Vec::new(),
            Some(files) => self.imported(files),
        };
        if raw.get("import").is_some_and(|import| !import.is_table()) {
            raw.remove("import");
        }
        let own = raw.into_iter().filter_map(|(name, table)| self.kept(self.source(&name, table)));
        let mut sources: Vec<SourceConfig> = own.collect();
        // What this file says of a source wins over what another program's file says.
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        sources.extend(imported.into_iter().filter(|source| !names.contains(&source.name)));
        sources
    }

    /// The sources of other programs' files: one file, or several.
    fn imported(&self, files: &toml::Value) -> Vec<SourceConfig> {
        let fault = |what: String| self.fault(&["sources", "import"], what);
        let files: Vec<&toml::Value> = match files {
            toml::Value::Array(files) => files.iter().collect(),
            file => vec![file],
        };
        let lookup = |name: &str| match import::variable_named(name) {
            Err(why) if self.variables == Variables::MayBeUnset => {
                self.warnings.borrow_mut().push(fault(format!("`sources.import`: {why}")));
                Ok(UNSET_VARIABLE.to_owned())
            }
            found => found,
        };
        let read = |file: &toml::Value| {
            let file = file
                .as_str()
                .ok_or_else(|| fault("`import` is the path of a file, or several".to_owned()))?;
            let read = import::read_by(&self.folder.join(file), &lookup);
            read.map_err(|what| fault(format!("`sources.import`: {what}")))
        };
        files.into_iter().filter_map(|file| self.kept(read(file))).flatten().collect()
    }

    fn source(&self, name: &str, table: toml::Value) -> Result<SourceConfig, ConfigFault> {
        let fault = |what: String| self.fault(&["sources", name], what);
        let json = serde_json::to_value(table)
            .map_err(|_| fault(format!("source `{name}` has a value that cannot be written as JSON")))?;
        let Value::Object(mut members) = json else { return Err(fault("a source is a table".to_owned())) };
        let mut text = |key: &str| match members.shift_remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => {
                Err(self.fault(&["sources", name, key], format!("`sources.{name}.{key}` must be a string")))
            }
        };
        let kind = text("kind")?.ok_or_else(|| {
            fault(format!("source `{name}` has no `kind`")).hint(format!("one of: {}", kinds().join(", ")))
        })?;
        let known = self.source_kind(name, &kind)?;
        let toolkit = text("toolkit")?.unwrap_or_else(|| name.to_owned());
        if !is_plain(&toolkit) {
            let what = format!(
                "the toolkit of source `{name}` has characters other than ASCII letters, digits and _"
            );
            return Err(fault(what).hint("give the source a plain name with `toolkit = \"…\"`"));
        }
        let naming = self.naming(name, text("names")?.as_deref())?;
        let coerce = match members.shift_remove("coerce") {
            None => false,
            Some(Value::Bool(coerce)) => coerce,
            Some(_) => return Err(fault("`coerce` is true or false".to_owned())),
        };
        let allowlist = self.take_allowlist(name, &mut members)?;
        Ok(SourceConfig {
            name: name.to_owned(),
            toolkit,
            naming,
            coerce,
            allowlist,
            kind: known.kind,
            table: Value::Object(members),
            disabled_tools: Vec::new(),
            folder: self.folder.to_owned(),
        })
    }

    fn source_kind(&self, name: &str, kind: &str) -> Result<&'static SourceKind, ConfigFault> {
        SOURCES.iter().find(|known| known.kind == kind).ok_or_else(|| {
            let hint = match nearest(kind, kinds()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("one of: {}", kinds().join(", ")),
            };
            let what = format!("source `{name}` has an unknown kind");
            self.fault(&["sources", name, "kind"], what).hint(hint)
        })
    }

    fn naming(&self, name: &str, names: Option<&str>) -> Result<Naming, ConfigFault> {
        match names {
            None | Some("prefixed") => Ok(Naming::Prefixed),
            Some("bare") => Ok(Naming::Bare),
            Some(_) => {
                let what = format!("`sources.{name}.names` must be \"prefixed\" or \"bare\"");
                Err(self.fault(&["sources", name, "names"], what))
            }
        }
    }
}

fn kinds() -> Vec<&'static str> {
    SOURCES.iter().map(|known| known.kind).collect()
}
