//! What a source makes of its document: which operations it serves, which it does not, and why. Nothing is started or asked
//! for that.

use std::path::Path;

use serde_json::{Value, json};
use toolmux_core::names::{ToolId, plain_name};
use toolmux_core::plural::counted;
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::sources::ToolSettings;
use toolmux_core::tool::Tool;
use toolmux_core::toolset::Pattern;
use toolmux_protocols::DOCUMENTS;
use toolmux_protocols::registry::{DocumentKind, DocumentReport, Opening};

use crate::config::{SourceConfig, read_secret_if_set};

/// How many operations are named that `include` leaves out.
const MOST_NAMED: usize = 10;

/// The operations of one document.
pub(super) struct ServedOperations {
    source: Option<String>,
    served: Vec<String>,
    unserved: Vec<(String, String)>,
    excluded: Vec<String>,
    /// What is most likely a mistake in the settings.
    warnings: Vec<String>,
}

/// What a source of a configuration serves, if its document says that.
pub(super) fn served_by(
    source: &SourceConfig,
    tools: &[(Pattern, ToolSettings)],
) -> anyhow::Result<Option<ServedOperations>> {
    let hook = DOCUMENTS.iter().filter(|kind| kind.source_kind == source.kind).find_map(|kind| kind.report);
    let Some(hook) = hook else { return Ok(None) };
    let secrets = |setting: &_| read_secret_if_set(setting, &source.folder);
    let table = source.table.clone();
    let opening = Opening { name: &source.name, table, folder: &source.folder, secrets: &secrets };
    let Some(DocumentReport { listing, excluded, warnings }) = hook(&opening)? else { return Ok(None) };
    let is_configured = |tool: &Tool| {
        let plain = plain_name(&tool.name).into();
        let id = ToolId { toolkit: source.toolkit.as_str().into(), tool: plain, version: tool.version };
        tools.iter().any(|(pattern, own)| own.requires.is_some() && pattern.matches(&id, &tool.name))
    };
    let mut operations = ServedOperations {
        source: Some(source.name.clone()),
        served: Vec::new(),
        unserved: listing.unusable,
        excluded,
        warnings,
    };
    for tool in &listing.tools {
        match tool.requires.chosen(&source.allowlist) {
            Err(reason) if !is_configured(tool) => operations.unserved.push((tool.name.to_string(), reason)),
            _ => operations.served.push(tool.name.to_string()),
        }
    }
    Ok(Some(operations))
}

/// What a document alone would serve.
pub(super) fn served_by_file(kind: &DocumentKind, file: &Path) -> anyhow::Result<Option<ServedOperations>> {
    let Some(hook) = kind.report else { return Ok(None) };
    let detected = (kind.source)(&std::path::absolute(file)?, None)?;
    let secrets = |_: &_| Err("a document has no secrets".to_owned());
    let opening =
        Opening { name: "document", table: detected.table, folder: Path::new("."), secrets: &secrets };
    let Some(DocumentReport { listing, excluded, warnings }) = hook(&opening)? else { return Ok(None) };
    let (mut served, mut unserved) = (Vec::new(), listing.unusable);
    for tool in &listing.tools {
        match tool.requires.chosen(&GrantAllowlist::default()) {
            Ok(_) => served.push(tool.name.to_string()),
            Err(reason) => unserved.push((tool.name.to_string(), reason)),
        }
    }
    Ok(Some(ServedOperations { source: None, served, unserved, excluded, warnings }))
}

impl ServedOperations {
    pub(super) fn json(&self) -> Value {
        let unserved: Vec<Value> =
            self.unserved.iter().map(|(name, why)| json!({ "name": name, "reason": why })).collect();
        let mut told =
            json!({ "served": self.served, "not_served": unserved, "not_included": self.excluded });
        if !self.warnings.is_empty() {
            told["warnings"] = self.warnings.clone().into();
        }
        if let Some(source) = &self.source {
            told["source"] = source.as_str().into();
        }
        told
    }

    /// The same for people: how many, and each that is not served with the reason.
    pub(super) fn lines(&self) -> Vec<String> {
        let all = self.served.len() + self.unserved.len() + self.excluded.len();
        let source = self.source.as_ref().map(|source| format!("{source}: ")).unwrap_or_default();
        let mut lines =
            vec![format!("{source}{} of {} served", self.served.len(), counted(all, "operation"))];
        lines.extend(self.warnings.iter().map(|warning| format!("  warning: {warning}")));
        lines.extend(self.unserved.iter().map(|(name, why)| format!("  not served: {name}: {why}")));
        if !self.excluded.is_empty() {
            let named: Vec<&str> = self.excluded.iter().take(MOST_NAMED).map(String::as_str).collect();
            let more = if self.excluded.len() > MOST_NAMED { ", …" } else { "" };
            let count = self.excluded.len();
            lines.push(format!("  not in `include`: {count}: {}{more}", named.join(", ")));
        }
        lines
    }
}
