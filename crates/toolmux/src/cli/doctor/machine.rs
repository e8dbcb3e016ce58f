//! This machine: what may be read of this process, its clock, and how many files may be open.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, header};
use rustix::process::{Resource, getrlimit};
use toolmux_http::client::{HttpClient, HttpLimits};

use super::Finding;
use crate::config::Config;
use crate::process_hardening::children_can_trace;

/// How far clocks may be apart before tokens are refused.
const APART: Duration = Duration::from_mins(1);
/// How long another server gets to tell its time.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Open files in addition to those of connections: libraries, stores, sources.
const OTHER_FILES: u64 = 64;

pub(super) async fn examine(config: Option<&Config>) -> Vec<Finding> {
    let mut findings = vec![clock()];
    findings.extend(children_can_trace().then(|| {
        let what = "commands run as root with CAP_SYS_PTRACE, and can read the secrets of this server";
        Finding::warning("secret", what, "run it as a user of its own, or without that capability")
    }));
    if let Some(config) = config {
        findings.extend(other_clocks(config).await);
        findings.push(open_files(config.connections.connections as u64));
    }
    findings
}

/// The time cannot be before that of our own file.
fn clock() -> Finding {
    let made = std::env::current_exe().and_then(|file| file.metadata()?.modified());
    match made.ok().and_then(|made| made.duration_since(SystemTime::now()).ok()) {
        Some(behind) if behind > APART => Finding::failing(
            "clock",
            format!(
                "the system clock is at least {} slow: this program was built later",
                humantime::format_duration(behind)
            ),
            "timedatectl set-ntp true",
        ),
        _ => Finding::good("clock", "the system clock is plausible"),
    }
}

/// What servers among the sources say the time is.
async fn other_clocks(config: &Config) -> Vec<Finding> {
    let client = HttpClient::new(HttpLimits { timeout: CLOCK_TIMEOUT, ..HttpLimits::default() });
    let mut findings = Vec::new();
    for source in &config.sources {
        let Some(url) = source.table["url"].as_str().and_then(|url| url.parse().ok()) else { continue };
        let Ok(answer) = client.send(Method::HEAD, &url, HeaderMap::new(), Vec::new()).await else {
            continue;
        };
        let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok()?.parse_date());
        let Some(theirs) = date else { continue };
        let now = SystemTime::now();
        let apart = now.duration_since(theirs).unwrap_or_else(|ahead| ahead.duration());
        let apart = Duration::from_secs(apart.as_secs());
        findings.push(if apart > APART {
            let what =
                format!("the clock of {} differs by {}", source.name, humantime::format_duration(apart));
            Finding::warning("clock", what, "tokens may be refused because of that: timedatectl set-ntp true")
        } else {
            Finding::good("clock", format!("{} has the same time", source.name))
        });
    }
    findings
}

trait HttpDate {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that HTTP still writes.
    fn parse_date(&self) -> Option<SystemTime>;
}

impl HttpDate for str {
    fn parse_date(&self) -> Option<SystemTime> {
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        let [_, day, month, year, time, "GMT"] = self.split(' ').collect::<Vec<_>>()[..] else { return None };
        let month = MONTHS.find(month).filter(|_| month.len() == 3)? / 3 + 1;
        humantime::parse_rfc3339(&format!("{year}-{month:02}-{day}T{time}Z")).ok()
    }
}

fn open_files(connections: u64) -> Finding {
    let area = "files";
    let most = getrlimit(Resource::Nofile).current;
    let wanted = connections + OTHER_FILES;
    match most {
        Some(most) if most < wanted => Finding::warning(
            area,
            format!("{most} files may be open, but `limits.connections` allows {connections} connections"),
            format!("ulimit -n {wanted}, or LimitNOFILE={wanted} in the systemd unit, or fewer connections"),
        ),
        Some(most) => Finding::good(area, format!("{most} files may be open")),
        None => Finding::good(area, "any number of files may be open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_are_read() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!("Sun, 06 Nov 1994 08:49:37 GMT".parse_date(), Some(moment));
        assert_eq!("Sun, 06 Foo 1994 08:49:37 GMT".parse_date(), None);
        assert_eq!("yesterday".parse_date(), None);
    }

    #[test]
    fn too_few_files_are_told_with_the_number_that_is_enough() {
        assert!(open_files(0).remedy.is_none());
        let remedy = open_files(u64::from(u32::MAX)).remedy;
        assert!(remedy.is_none_or(|remedy| remedy.contains("ulimit -n 4294967359")));
    }
}
