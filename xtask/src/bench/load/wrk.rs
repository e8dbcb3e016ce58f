//! The load by wrk: a script in Lua that holds the request, and one line of numbers that it prints at the end.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{Load, Round};
use crate::bench::exchange::{ANSWER_TIMEOUT, Exchange};
use crate::process;

/// What the line begins with.
const MARK: &str = "numbers:";

/// Latencies and the duration are in microseconds; `status` counts answers of 400 and above.
const DONE: &str = r#"
done = function(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("numbers: %d %d %d %d %f %f\n", summary.requests, errors.status, broken,
    summary.duration, latency:percentile(50), latency:percentile(99)))
end
"#;

pub(super) fn generate(load: &Load, address: SocketAddr, folder: &Path) -> anyhow::Result<Round> {
    fs::create_dir_all(folder)?;
    let file = folder.join("load.lua");
    fs::write(&file, script(&load.exchange)).with_context(|| format!("cannot write {}", file.display()))?;
    // wrk knows whole seconds only.
    let seconds = load.duration.as_millis().div_ceil(1000);
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--connections", &load.connections.to_string()])
        .args(["--duration", &format!("{seconds}s"), "--timeout", &format!("{}s", ANSWER_TIMEOUT.as_secs())])
        .arg("--script")
        .arg(file)
        .arg(format!("http://{address}{}", load.exchange.path));
    read(&process::capture(&mut wrk)?)
}

/// Without a function `request` wrk makes the bytes once and sends the same ones each time.
fn script(exchange: &Exchange) -> String {
    let mut lines = vec![format!("wrk.method = {}", quoted(exchange.method))];
    let header =
        |(name, value): &(String, String)| format!("wrk.headers[{}] = {}", quoted(name), quoted(value));
    lines.extend(exchange.headers.iter().map(header));
    if !exchange.body.is_empty() {
        lines.push(format!("wrk.body = {}", quoted(&exchange.body)));
    }
    lines.join("\n") + DONE
}

/// A text as Lua writes it, whatever is in it.
fn quoted(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\{byte:03}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}

fn read(output: &str) -> anyhow::Result<Round> {
    let line = output.lines().find_map(|line| line.strip_prefix(MARK));
    let line = line.with_context(|| format!("wrk printed no line `{MARK}`:\n{output}"))?;
    let numbers: Vec<f64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("not all are numbers: {line}"))?;
    let [requests, bad, broken, microseconds, p50, p99] = numbers[..] else {
        bail!("not six numbers: {line}");
    };
    if broken > 0.0 {
        bail!("{broken} connections broke or waited too long");
    }
    let elapsed = Duration::from_secs_f64(microseconds / 1e6);
    Ok(Round { good: (requests - bad) as u64, bad: bad as u64, elapsed, p50, p99 })
}

#[cfg(test)]
mod tests {
    use super::{Exchange, Round, quoted, read, script};
    use std::time::Duration;

    fn check(output: &str, expect: Result<Round, &str>) {
        let round = read(output).map_err(|error| error.to_string());
        assert_eq!(round, expect.map_err(str::to_owned));
    }

    #[test]
    fn one_line_says_it_all() {
        let elapsed = Duration::from_millis(2500);
        check(
            "Running 2s test\n  Requests/sec: 9\nnumbers: 1000 10 0 2500000 120.000000 950.500000\n",
            Ok(Round { good: 990, bad: 10, elapsed, p50: 120.0, p99: 950.5 }),
        );
    }

    #[test]
    fn a_round_with_broken_connections_is_none() {
        check("numbers: 1000 0 3 2500000 120.0 950.5", Err("3 connections broke or waited too long"));
        check("numbers: 1000 0 3", Err("not six numbers:  1000 0 3"));
        check("unable to connect", Err("wrk printed no line `numbers:`:\nunable to connect"));
    }

    #[test]
    fn the_script_holds_the_request_whatever_is_in_it() {
        assert_eq!(quoted("a\"b\\c\n€"), r#""a\"b\\c\010\226\130\172""#);
        let script = script(&Exchange::post("/x", "{\"a\":1}", ""));
        for line in [
            "wrk.method = \"POST\"\n",
            "wrk.headers[\"Accept\"] = \"application/json\"\n",
            "wrk.headers[\"Content-Type\"] = \"application/json\"\n",
            "wrk.body = \"{\\\"a\\\":1}\"\n",
        ] {
            assert!(script.contains(line), "{script}");
        }
    }
}
