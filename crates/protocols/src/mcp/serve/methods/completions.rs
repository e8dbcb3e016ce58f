//! `completion/complete`: what may stand in an argument of a prompt or in a resource's template.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::offers::Offers;
use super::relay::{Caching, relay};
use super::{prompts, resources};
use crate::mcp::members::Members;
use crate::mcp::serve::request::{Exchange, relayed_params};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Params, Reply};

/// Dropping the future cancels what the source was asked.
pub(in crate::mcp) async fn complete(exchange: Exchange) -> Reply {
    #[derive(Deserialize)]
    struct CompleteParams<'a> {
        #[serde(borrow, rename = "ref")]
        reference: &'a RawValue,
    }
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let invalid = || Fault::new(INVALID_PARAMS, "`ref` must name a prompt or a resource");
    let params = exchange.request.text.as_deref().ok_or_else(invalid)?;
    let CompleteParams { reference } = serde_json::from_str(params.get()).map_err(|_| invalid())?;
    let named = Params::read(Some(reference))?;
    let mut members = Members::read(reference).ok_or_else(invalid)?;
    let found = match (named.name.as_deref(), named.uri.as_deref()) {
        (Some(name), _) => {
            let found = prompts::find(&exchange, &offers.all, name)?;
            members.put("name", &*found.item);
            found
        }
        (None, Some(uri)) => resources::find(&exchange, &offers.all, uri)?,
        (None, None) => return Err(invalid()),
    };
    let reference = members.write();
    let params = relayed_params::with(&exchange, |members| members.put_raw("ref", reference));
    relay(&exchange, found, params, Caching::Unsaid).await
}
