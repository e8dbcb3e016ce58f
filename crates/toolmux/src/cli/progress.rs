//! What a running tool tells, on standard error: one line that changes on a terminal, a line each elsewhere.

use tokio::sync::mpsc;
use toolmux_core::progress::Update;

use super::terminal::{Terminal, note};

/// How many signs a full bar has.
const BAR: usize = 24;

/// Shows updates until there are no more.
pub(super) async fn follow(mut updates: mpsc::Receiver<Update>, terminal: &Terminal) {
    while let Some(update) = updates.recv().await {
        show(&update, terminal);
    }
    terminal.clear();
}

/// Shows one update.
pub(super) fn show(update: &Update, terminal: &Terminal) {
    match update {
        Update::Progress { done, total, message } => {
            let line = line(*done, *total, message.as_deref().unwrap_or_default());
            if terminal.is_live() {
                terminal.show(&format!("{}{line}", bar(*done, *total)));
            } else {
                note(&line);
            }
        }
        Update::Log { level, data } => {
            terminal.clear();
            note(&format!("{level}: {}", data.get()));
        }
        Update::Data(_) => {}
    }
}

fn line(done: f64, total: Option<f64>, message: &str) -> String {
    let of = total.map(|total| format!("/{total}")).unwrap_or_default();
    format!("[{done}{of}] {message}").trim_end().to_owned()
}

fn bar(done: f64, total: Option<f64>) -> String {
    let Some(total) = total.filter(|total| *total > 0.0) else { return String::new() };
    let full = ((done / total).clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{} ", "█".repeat(full), "░".repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_figures_words_and_a_bar() {
        assert_eq!(line(3.0, Some(10.0), "counting"), "[3/10] counting");
        assert_eq!(line(0.5, None, ""), "[0.5]");
        assert_eq!(bar(5.0, Some(10.0)), format!("{}{} ", "█".repeat(12), "░".repeat(12)));
        assert_eq!(bar(5.0, None), "");
    }
}
