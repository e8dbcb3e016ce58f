//! `[tools]`: from what is written to what is used, and what of it cannot be meant.

use toolmux_core::delivery::Place;
use toolmux_core::names::FLAT_LENGTH;
use toolmux_core::sources::ToolSettings;
use toolmux_core::toolset::Pattern;

use super::fault::ConfigFault;
use super::raw_tool::RawTool;
use super::resolve::Reader;

type Tools = Vec<(Pattern, ToolSettings)>;

impl Reader<'_> {
    pub(super) fn tools(&self, raw: Vec<(String, RawTool)>) -> Tools {
        let mut tools = Tools::new();
        for (written, tool) in raw {
            let (pattern, settings) = (Pattern::new(written), tool.settings());
            self.kept(self.check_name(&pattern, &settings, &tools));
            self.kept(self.check_arguments(&pattern, &settings));
            tools.push((pattern, settings));
        }
        tools
    }

    /// A name is for one tool, and one that every protocol takes. Two tools of one toolkit cannot share it.
    fn check_name(
        &self,
        pattern: &Pattern,
        settings: &ToolSettings,
        before: &[(Pattern, ToolSettings)],
    ) -> Result<(), ConfigFault> {
        let Some(name) = &settings.name else { return Ok(()) };
        let written = pattern.as_str();
        let fault = |what: String| self.fault(&["tools", written, "name"], what);
        if !pattern.is_exact() || !written.contains('.') {
            let what = format!("`name` of [tools.\"{written}\"] would rename several tools");
            return Err(fault(what)
                .hint("give it under the name of one tool, such as [tools.\"GitHub.issues_create\"]"));
        }
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > FLAT_LENGTH || !name.bytes().all(is_good) {
            let what = format!("`name` of [tools.\"{written}\"] is not a name that every protocol accepts");
            return Err(fault(what).hint(format!("1 to {FLAT_LENGTH} letters, digits, `_` and `-`")));
        }
        let same = |(other, settings): &&(Pattern, ToolSettings)| {
            settings.name.as_ref() == Some(name) && toolkit(other) == toolkit(pattern)
        };
        let Some((other, _)) = before.iter().find(same) else { return Ok(()) };
        let what = format!(
            "`name` of [tools.\"{written}\"] is the same as that of [tools.\"{}\"] in line {}",
            other.as_str(),
            self.line(&["tools", other.as_str(), "name"])
        );
        Err(fault(what).hint("two tools of one toolkit need two names"))
    }

    fn check_arguments(&self, pattern: &Pattern, settings: &ToolSettings) -> Result<(), ConfigFault> {
        let delivered = settings.deliver.iter().filter_map(|delivery| match &delivery.place {
            Place::Argument(name) => Some(name),
            Place::Header { .. } | Place::Environment(_) => None,
        });
        let Some(twice) = delivered.into_iter().find(|name| settings.arguments.contains_key(*name)) else {
            return Ok(());
        };
        let place = ["tools", pattern.as_str(), "arguments", twice];
        // The name of an argument is a key in one of the two places, so that it can be shown.
        let what = format!(
            "[tools.\"{}\"] has the argument `{twice}` in both `arguments` and `deliver`",
            pattern.as_str()
        );
        Err(self.fault(&place, what).hint("leave it out of one of them"))
    }

    fn line(&self, path: &[&str]) -> usize {
        let start = self.spans.of(path).map_or(0, |span| span.start);
        self.text.get(..start).unwrap_or_default().matches('\n').count() + 1
    }
}

/// What a pattern says of the toolkit.
fn toolkit(pattern: &Pattern) -> &str {
    pattern.as_str().split_once('.').map_or(pattern.as_str(), |(toolkit, _)| toolkit)
}
