//! Small charts, drawn here as SVG: sizes are attributes and colours are classes, so that they need no script and no style of
//! their own. Each has its numbers in words as well.

use maud::{Markup, html};

use crate::pages::{format_number as number, format_seconds as seconds};
use crate::series::MinuteCounts;
use crate::view::Flow;

const WIDTH: usize = 600;
const HEIGHT: usize = 120;
/// How many minutes a chart has room for.
const MINUTES: usize = 60;
/// How many boxes a column of the map has.
const MOST_BOXES: usize = 8;

/// Calls of each minute, by how they ended.
pub(crate) fn calls_per_minute(minutes: &[MinuteCounts]) -> Markup {
    let all = |minute: &MinuteCounts| minute.returned + minute.failed + minute.refused;
    let most = minutes.iter().map(all).max().unwrap_or_default();
    let step = WIDTH as f64 / MINUTES as f64;
    let scale = |count: u64| if most == 0 { 0.0 } else { count as f64 / most as f64 * (HEIGHT - 4) as f64 };
    html! {
        figure.chart {
            figcaption { "Calls per minute" span.small { " most " (number(most)) } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ "Calls per minute over the last hour, at most " (most) } preserveAspectRatio="none" {
                (ground())
                @for minute in minutes {
                    @let left = WIDTH as f64 - (minute.ago + 1) as f64 * step;
                    @for (class, below, count) in [
                        ("good", 0, minute.returned), ("bad", minute.returned, minute.failed), ("warn", minute.returned + minute.failed, minute.refused)
                    ] { @if count > 0 {
                        rect class=(class) x=(format!("{left:.1}")) width=(format!("{:.1}", step - 1.5))
                            y=(format!("{:.1}", HEIGHT as f64 - scale(below + count))) height=(format!("{:.1}", scale(count).max(1.0)))
                            { title { (minute.ago) " min ago: " (count) " " (word(class)) } }
                    } }
                }
            }
            p.legend.small { span.key.good { "returned" } span.key.bad { "failed" } span.key.warn { "refused" } }
        }
    }
}

fn word(class: &str) -> &'static str {
    match class {
        "good" => "returned",
        "bad" => "failed",
        _ => "refused",
    }
}

fn ground() -> Markup {
    html! { line class="axis" x1="0" x2=(WIDTH) y1=(HEIGHT - 1) y2=(HEIGHT - 1) {} }
}

/// Its class, its words, and its values by how many minutes ago they were.
type PercentileLine = (&'static str, &'static str, Vec<(usize, f64)>);

/// Latencies of each minute: half, 95 % and 99 % of its calls took at most so long.
pub(crate) fn latencies(minutes: &[MinuteCounts]) -> Markup {
    let lines: [PercentileLine; 3] = [
        ("p50", "half", points(minutes, |minute| minute.p50)),
        ("p95", "95 %", points(minutes, |minute| minute.p95)),
        ("p99", "99 %", points(minutes, |minute| minute.p99)),
    ];
    let values = || lines.iter().flat_map(|(_, _, points)| points.iter().map(|(_, value)| *value));
    let most = values().fold(0.0, f64::max);
    html! {
        figure.chart {
            figcaption { "Latency" @if most > 0.0 { span.small { " most " (seconds(most)) } } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label="Latency of calls by percentile over the last hour" preserveAspectRatio="none" {
                (ground())
                @for (class, _, points) in &lines { polyline class=(class) points=(polyline(points, most)) fill="none" {} }
            }
            p.legend.small { @for (class, words, points) in &lines {
                span.key.(class) { (words) @if let Some((_, last)) = points.last() { " ≤ " (seconds(*last)) } }
            } }
        }
    }
}

fn points(minutes: &[MinuteCounts], value: impl Fn(&MinuteCounts) -> Option<f64>) -> Vec<(usize, f64)> {
    minutes.iter().filter_map(|minute| Some((minute.ago, value(minute)?))).collect()
}

/// A line through points; one point is a short line.
fn polyline(points: &[(usize, f64)], most: f64) -> String {
    let step = WIDTH as f64 / MINUTES as f64;
    let at = |ago: usize, value: f64, shift: f64| {
        let y =
            if most > 0.0 { HEIGHT as f64 - 2.0 - value / most * (HEIGHT - 6) as f64 } else { HEIGHT as f64 };
        format!("{:.1},{y:.1}", WIDTH as f64 - (ago as f64 + shift) * step)
    };
    let mut text: Vec<String> = points.iter().map(|(ago, value)| at(*ago, *value, 1.0)).collect();
    text.extend(points.last().map(|(ago, value)| at(*ago, *value, 0.0)));
    text.join(" ")
}

/// A bar for each kind with its number.
pub(crate) fn bars(title: &str, kinds: &[(String, u64)]) -> Markup {
    let most = kinds.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    html! {
        figure.chart {
            figcaption { (title) span.small { " since the start" } }
            @if kinds.is_empty() { p.empty { "None." } }
            @else { table.bars { tbody { @for (kind, count) in kinds { tr {
                th scope="row" { (kind.replace('_', " ")) }
                td { svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" { rect class="bad" width=(format!("{:.1}", *count as f64 / most as f64 * 100.0)) height="8" {} } }
                td.number { (number(*count)) }
            } } } } }
        }
    }
}

/// What flows from sources by their tools to callers.
pub(crate) fn map(flows: &[Flow], receipts: usize) -> Markup {
    let columns = [
        heaviest(flows, |flow| &flow.source),
        heaviest(flows, |flow| &flow.tool),
        heaviest(flows, |flow| &flow.caller),
    ];
    let rows = columns.iter().map(Vec::len).max().unwrap_or_default();
    let height = rows * 34 + 8;
    html! {
        figure.chart.map {
            figcaption { "Sources → tools → callers" span.small { " the newest " (number(receipts as u64)) " calls" } }
            @if flows.is_empty() { p.empty { "No call was made yet." } }
            @else {
                svg viewBox={ "0 0 900 " (height) } role="img" aria-label={ "Calls from sources by their tools to callers: " (said(flows)) } {
                    @for (ends, left, x) in [((0, 1), |f: &Flow| (f.source.clone(), f.tool.clone()), 220), ((1, 2), |f: &Flow| (f.tool.clone(), f.caller.clone()), 620)] as [((usize, usize), fn(&Flow) -> (String, String), i32); 2] {
                        (links(flows, (&columns[ends.0], &columns[ends.1]), left, x))
                    }
                    @for (column, x, width) in [(&columns[0], 0, 220), (&columns[1], 300, 320), (&columns[2], 700, 200)] {
                        @for (place, (name, count)) in column.iter().enumerate() {
                            rect class="box" x=(x) y=(place * 34 + 4) width=(width) height="26" rx="5" {}
                            text x=(x + 8) y=(place * 34 + 21) { (cut(name, width as usize / 9)) title { (name) } }
                            text class="count" text-anchor="end" x=(x + width - 8) y=(place * 34 + 21) { (number(*count)) }
                        }
                    }
                }
            }
        }
    }
}

fn said(flows: &[Flow]) -> String {
    let told = flows
        .iter()
        .take(5)
        .map(|flow| format!("{} {} {}: {}", flow.source, flow.tool, flow.caller, flow.calls));
    told.collect::<Vec<_>>().join("; ")
}

fn cut(name: &str, most: usize) -> String {
    let name = crate::invisible::plain(name);
    if name.chars().count() <= most {
        name.into_owned()
    } else {
        name.chars().take(most - 1).chain(['…']).collect()
    }
}

/// The names with the most calls.
fn heaviest(flows: &[Flow], name: impl Fn(&Flow) -> &String) -> Vec<(String, u64)> {
    let mut counted: Vec<(String, u64)> = Vec::new();
    for flow in flows {
        match counted.iter_mut().find(|(known, _)| known == name(flow)) {
            Some((_, count)) => *count += flow.calls,
            None => counted.push((name(flow).clone(), flow.calls)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.truncate(MOST_BOXES);
    counted
}

type Column = Vec<(String, u64)>;

/// The lines between two columns, as wide as what flows.
fn links(
    flows: &[Flow],
    (from, to): (&Column, &Column),
    ends: fn(&Flow) -> (String, String),
    x: i32,
) -> Markup {
    let most = flows.iter().map(|flow| flow.calls).max().unwrap_or(1).max(1);
    let place = |column: &Column, name: &str| column.iter().position(|(known, _)| known == name);
    let lines = flows.iter().filter_map(|flow| {
        let (one, other) = ends(flow);
        Some((place(from, &one)? * 34 + 17, place(to, &other)? * 34 + 17, flow.calls))
    });
    html! {
        @for (one, other, calls) in lines {
            path class="flow" fill="none" stroke-width=(format!("{:.1}", 1.0 + calls as f64 / most as f64 * 9.0))
                d={ "M" (x) " " (one) " C" (x + 40) " " (one) " " (x + 40) " " (other) " " (x + 80) " " (other) } {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_their_numbers_in_words_and_no_style_of_their_own() {
        let minutes = [MinuteCounts { returned: 3, failed: 1, p50: Some(0.2), ..MinuteCounts::default() }];
        let flows = [Flow { source: "S".into(), tool: "S.t".into(), caller: "<b>".into(), calls: 4 }];
        let all = [
            calls_per_minute(&minutes),
            latencies(&minutes),
            bars("Errors", &[("busy".into(), 2)]),
            map(&flows, 4),
        ];
        let html: String = all.into_iter().map(Markup::into_string).collect();
        for words in ["0 min ago: 3 returned", "half ≤ 200 ms", "busy", "&lt;b&gt;"] {
            assert!(html.contains(words), "{words} is not in {html}");
        }
        assert!(!html.contains("style=") && !html.contains("<b>"), "{html}");
    }
}
