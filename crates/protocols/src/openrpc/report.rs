//! What a source makes of an OpenRPC document, for `toolmux check`: nothing is asked for it.

use toolmux_core::ports::source::Listing;

use super::document::read;
use super::load::read_file;
use super::server::ServerAddress;
use super::settings::{DocumentPlace, OpenRpcSettings};
use crate::registry::{DocumentReport, OpenError, Opening};

/// What a source of this table serves; nothing where the document is at an address or comes from the server.
pub(super) fn report(opening: &Opening<'_>) -> Result<Option<DocumentReport>, OpenError> {
    let settings = opening.settings::<OpenRpcSettings>()?.read(opening)?;
    let DocumentPlace::File(file) = &settings.document else { return Ok(None) };
    let (document, faults) = read(&read_file(file).map_err(OpenError::new)?);
    let document = document.ok_or_else(|| {
        let first = faults.first().map(|fault| format!(": {fault}")).unwrap_or_default();
        OpenError::new(format!("the OpenRPC document cannot be used{first}"))
            .hint(format!("toolmux check {}", file.display()))
    })?;
    let tools = document.methods.into_iter().map(|method| method.tool);
    let mut listing = Listing { tools: Vec::new(), unusable: document.unusable };
    match ServerAddress::find(&settings, document.server.as_deref()) {
        Ok(_) => listing.tools = tools.collect(),
        // Without a server no method can be called.
        Err(why) => listing.unusable.extend(tools.map(|tool| (tool.name.to_string(), why.clone()))),
    }
    Ok(Some(DocumentReport { listing, excluded: Vec::new(), warnings: Vec::new() }))
}
