//! Calls as people and programs read them.

use toolmux_core::hex::to_hex;
use toolmux_core::plural::counted;
use toolmux_core::receipt::{ContentDigest, Receipt, ReceiptOutcome};

use crate::cli::table::Table;
use crate::cli::terminal::{Form, Terminal, print_line};
use crate::printable::on_one_line;

/// A list, newest first.
pub(super) fn print_receipts(receipts: &[Receipt], form: Form, terminal: &Terminal) {
    match form {
        Form::Programs => receipts.iter().for_each(|receipt| print_line(&receipt.to_json())),
        Form::People => {
            let mut table = Table::new(["ID", "TIME", "CALLER", "RESULT", "MS", "TOOL"]);
            for receipt in receipts {
                let (id, ms) = (short_id(receipt), ms(receipt.us));
                let Receipt { caller, tool, .. } = receipt;
                table.row([&id, short_time(receipt), caller, result(receipt), &ms, tool]);
            }
            table.print(terminal);
        }
    }
}

/// One of those that come while somebody watches.
pub(super) fn print_followed(receipt: &Receipt, form: Form) {
    print_line(&match form {
        Form::Programs => receipt.to_json(),
        Form::People => {
            let (id, time) = (short_id(receipt), short_time(receipt));
            let (caller, tool) = (on_one_line(&receipt.caller), on_one_line(&receipt.tool));
            format!("{id}  {time}  {caller}  {}  {} ms  {tool}", result(receipt), ms(receipt.us))
        }
    });
}

/// One in full.
pub(super) fn print_one(receipt: &Receipt, form: Form) {
    if form == Form::Programs {
        return print_line(&receipt.to_json());
    }
    let line = |name: &str, value: &str| print_line(&format!("{name:<10} {}", on_one_line(value)));
    let optional = |name: &str, value: Option<&str>| value.into_iter().for_each(|value| line(name, value));
    line("id", &receipt.id.to_string());
    line("time", &receipt.time);
    line("caller", &receipt.caller);
    optional("user", receipt.user.as_deref());
    optional("protocol", Some(&*receipt.protocol).filter(|protocol| !protocol.is_empty()));
    line("tool", &receipt.tool);
    optional("source", receipt.source.as_deref());
    optional("method", receipt.method.as_deref());
    optional("call id", receipt.call_id.as_deref());
    optional("task", receipt.task.as_deref());
    line("verdict", &receipt.verdict);
    line("outcome", receipt.outcome.as_str());
    if receipt.repeated {
        line("repeated", "the answer is that of an earlier call with the same id");
    }
    line("attempts", &attempts(receipt));
    line("took", &format!("{} ms", ms(receipt.us)));
    for step in &receipt.steps {
        line("", &format!("{:<9} {} ms", step.step, ms(step.us)));
    }
    optional("arguments", receipt.arguments.map(content).as_deref());
    optional("result", receipt.result.map(content).as_deref());
    optional("values", receipt.argument_values.as_deref());
    optional("trace", receipt.trace.as_deref());
}

/// The end of the id, which is random: enough to find it again.
fn short_id(receipt: &Receipt) -> String {
    let id = receipt.id.to_string();
    id[id.len() - 12..].to_owned()
}

/// The time without what is the same in every line.
fn short_time(receipt: &Receipt) -> &str {
    receipt.time.get(5..23).unwrap_or(&receipt.time)
}

/// How it ended: why it was refused, or the outcome.
fn result(receipt: &Receipt) -> &str {
    match receipt.outcome {
        ReceiptOutcome::Refused => &receipt.verdict,
        outcome => outcome.as_str(),
    }
}

fn attempts(receipt: &Receipt) -> String {
    match receipt.errors.as_slice() {
        [] => receipt.attempts.to_string(),
        errors => format!("{}: {}", receipt.attempts, errors.join(", ")),
    }
}

fn ms(us: u64) -> String {
    format!("{}.{:03}", us / 1_000, us % 1_000)
}

fn content(digest: ContentDigest) -> String {
    let bytes = counted(usize::try_from(digest.bytes).unwrap_or(usize::MAX), "byte");
    format!("{bytes}, SHA-256 {}", to_hex(&digest.sha256))
}
