//! May the caller call it.

use super::resolve::near;
use crate::call::Caller;
use crate::catalog::Catalog;
use crate::names::ToolRef;
use crate::refusal::Refusal;

pub(super) fn permit(
    catalog: &Catalog,
    caller: &Caller,
    place: usize,
    wanted: &ToolRef,
) -> Result<(), Refusal> {
    if catalog.permits(caller, place) {
        Ok(())
    } else {
        Err(Refusal::NotPermitted { tool: wanted.to_string(), nearest: near(catalog, caller, wanted) })
    }
}
