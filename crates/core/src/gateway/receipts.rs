//! Receipts of the path: what is noted of each request, and where they are read.

use super::Gateway;
use crate::arguments::Arguments;
use crate::call::{Caller, Request};
use crate::catalog::Entry;
use crate::ports::source::{Relay, Relayed};
use crate::receipt::arguments::without_secrets;
use crate::receipt::{ReceiptDraft, ReceiptKind, ReceiptLog};
use crate::refusal::Refusal;
use crate::trace_context::CallSpan;

impl Gateway {
    /// The newest receipts of this process.
    pub fn receipts(&self) -> &ReceiptLog {
        &self.receipts
    }

    /// Notes which tool is meant, and the arguments where the configuration wants them.
    pub(crate) fn note_tool(&self, receipt: &mut ReceiptDraft, entry: &Entry, arguments: &Arguments) {
        receipt.found(entry.receipt_names());
        if self.receipts.keeps_arguments() {
            let length = arguments.text().get().len();
            if let Some(values) = without_secrets(arguments.value(), entry.tool.input.value(), length) {
                receipt.keep_arguments(values);
            }
        }
    }

    /// Gives a request its span, unless it has one: that of a nested call, or of a task that was stored.
    pub(crate) fn trace(&self, request: &mut Request) {
        if request.span.is_none() {
            request.span = CallSpan::begin(self.settings.load().traces, request.trace.as_deref());
        }
    }

    pub(super) fn relay_receipt(&self, caller: &Caller, source: &str, relay: &Relay) -> ReceiptDraft {
        let mut receipt = self.receipts.begin(ReceiptKind::Relay, caller).of_relay(source, relay);
        receipt.traced(CallSpan::begin(self.settings.load().traces, relay.trace.as_deref()));
        receipt
    }

    /// Notes what came of a relay, and counts a refusal.
    pub(super) fn relayed(
        &self,
        receipt: &ReceiptDraft,
        answer: Result<Relayed, Refusal>,
    ) -> Result<Relayed, Refusal> {
        match &answer {
            Ok(relayed) => receipt.relayed(relayed),
            Err(refusal) => {
                receipt.answered(Err(refusal));
                self.refused(refusal);
            }
        }
        answer
    }
}
