//! The hosts in the address of a store. PostgreSQL may have several, of which one can be written to; which one
//! changes when a standby is promoted.

use std::time::Duration;

use sqlx::{AnyConnection, Connection, Row};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::connections::database::Database;

const ATTRIBUTE: &str = "target_session_attrs=";
/// The pause before all hosts are tried again.
pub(crate) const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Which servers may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    Any,
    /// One that accepts writes.
    ReadWrite,
}

/// The addresses of one database, one for each host, and which of them is used.
pub(crate) struct Hosts {
    urls: Vec<String>,
    pub(crate) session: Session,
    /// The index of the host that is used now. Many read it, and the listener waits for it to change.
    used: watch::Sender<usize>,
}

/// What is wrong with an address. Never shows its user or password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// A host or port cannot be read.
    #[error("`{0}` is not a host: write several as `postgres://USER@HOST:PORT,HOST:PORT/DATABASE`")]
    Host(String),
    /// A part of the user or password would be taken for the host.
    #[error(
        "the user or password in the address of the store has a `/`, `?` or `#`: write it as %2F, %3F or %23"
    )]
    Unescaped,
    /// We write, so only some values make sense.
    #[error("`target_session_attrs={0}` is not supported: a store is written to, use `read-write` or `any`")]
    Session(String),
}

/// A server that does not accept writes, where one is wanted that does.
#[derive(Debug, thiserror::Error)]
#[error("the database server is read-only, and the store wants `target_session_attrs=read-write`")]
struct ReadOnly;

/// Each host, with what it failed by.
#[derive(Debug, thiserror::Error)]
#[error("no host of the store can be used: {}", .0.join("; "))]
struct NoHost(Vec<String>);

impl Hosts {
    /// An address that names one place, whatever is in it.
    pub(crate) fn only(url: &str) -> Self {
        Hosts { urls: vec![url.to_owned()], session: Session::Any, used: watch::Sender::new(0) }
    }

    /// `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?target_session_attrs=read-write`. With several
    /// hosts, one that accepts writes is the default.
    pub(crate) fn parse(url: &str) -> Result<Self, HostsError> {
        let Some((scheme, rest)) = url.split_once("://") else { return Ok(Hosts::only(url)) };
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, list) = authority.rfind('@').map_or(("", authority), |at| authority.split_at(at + 1));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if user.is_empty() && path.contains('@') {
            return Err(HostsError::Unescaped);
        }
        let (asked, query): (Vec<&str>, Vec<&str>) =
            query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| pair.starts_with(ATTRIBUTE));
        let hosts: Vec<&str> = list.split(',').collect();
        let session = match asked.last().map(|pair| &pair[ATTRIBUTE.len()..]) {
            None if hosts.len() == 1 => Session::Any,
            None | Some("read-write") => Session::ReadWrite,
            Some("any") => Session::Any,
            Some(other) => return Err(HostsError::Session(other.to_owned())),
        };
        let url_of = |host: &&str| {
            // The driver does not know an address of version 6 where it stands, only as a parameter.
            let parameter = address(host, hosts.len())?.map(|address| format!("host={address}"));
            let pairs: Vec<&str> = query.iter().copied().chain(parameter.as_deref()).collect();
            let mark = if pairs.is_empty() { "" } else { "?" };
            Ok(format!("{scheme}://{user}{host}{path}{mark}{}", pairs.join("&")))
        };
        let urls = hosts.iter().map(url_of).collect::<Result<_, _>>()?;
        Ok(Hosts { urls, session, used: watch::Sender::new(0) })
    }

    /// The address to connect to now.
    pub(crate) fn url(&self) -> &str {
        &self.urls[*self.used.borrow()]
    }

    /// Sees when another host is used from now on.
    pub(crate) fn used(&self) -> watch::Receiver<usize> {
        self.used.subscribe()
    }

    /// Tries the hosts in turn, from the one used now on, until one can be used or `patience` is over. One that
    /// does not answer costs its part of that only. A single host that may be of any kind is left to its pool.
    pub(crate) async fn find(&self, patience: Duration) -> Result<(), sqlx::Error> {
        if self.urls.len() == 1 && self.session == Session::Any {
            return Ok(());
        }
        let (until, mut failures) = (Instant::now() + patience, Vec::new());
        let share = patience / u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        while Instant::now() < until {
            failures.clear();
            // The host that was good last comes first: a short interruption must not move all servers to another one.
            let first = *self.used.borrow();
            for index in (first..self.urls.len()).chain(0..first) {
                let url = &self.urls[index];
                let failure = match timeout(share, self.probe(url)).await {
                    Ok(Ok(())) => {
                        // A host that is used already is no change: the listener would connect again for nothing.
                        self.used.send_if_modified(|used| std::mem::replace(used, index) != index);
                        return Ok(());
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(_late) => format!("no answer within {} ms", share.as_millis()),
                };
                failures.push(format!("{}: {failure}", without_password(url)));
            }
            // While a standby is promoted no host accepts writes for some seconds.
            sleep(TRY_AGAIN).await;
        }
        Err(sqlx::Error::Configuration(NoHost(failures).into()))
    }

    /// On a connection of its own: those of the pools may be silent, and would cost the whole patience.
    async fn probe(&self, url: &str) -> Result<(), sqlx::Error> {
        let mut connection = AnyConnection::connect(url).await?;
        self.session.check(&mut connection).await?;
        connection.close().await
    }
}

/// The address inside the brackets of version 6; nothing for a name, or an address of version 4.
fn address(host: &str, count: usize) -> Result<Option<&str>, HostsError> {
    let wrong = || HostsError::Host(host.to_owned());
    let (name, port, address) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or_else(wrong)?;
            address.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
            (address, port, Some(address))
        }
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            (name, port, None)
        }
    };
    let port_is_right =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    // One address without a host means the socket of this machine.
    if !port_is_right || (name.is_empty() && count > 1) {
        return Err(wrong());
    }
    Ok(address)
}

impl Session {
    /// An error when a server does not answer, or accepts no writes where that is wanted. A primary that became a standby keeps
    /// its connections, so that this is asked before each use and not once.
    pub(crate) async fn check(self, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
        if self == Session::Any {
            return connection.ping().await;
        }
        let row = sqlx::query("SHOW transaction_read_only").fetch_one(connection).await?;
        match row.try_get::<String, _>("transaction_read_only")?.as_str() {
            "off" => Ok(()),
            _ => Err(sqlx::Error::Configuration(ReadOnly.into())),
        }
    }
}

/// Whether a server was refused because it accepts no writes.
pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Configuration(cause) if cause.is::<ReadOnly>())
}

impl Database {
    /// Has new connections made to a host that can be used. Those that wait for a connection get one of them.
    pub(crate) async fn find_host(&self) -> Result<(), sqlx::Error> {
        if self.hosts.urls.len() == 1 {
            return Ok(());
        }
        let before = *self.hosts.used.borrow();
        self.hosts.find(self.settings.patience).await?;
        let changed = *self.hosts.used.borrow() != before;
        // The old host may never say that it is gone: whoever waits for an answer of it must not wait for that.
        if changed { self.replace_all() } else { Ok(()) }
    }
}

/// What may be shown of the address of a store: everything but user, password and parameters.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    match place.rsplit_once('@') {
        // A password may have a `?` that should have been escaped.
        _ if parameters.contains('@') => format!("{scheme}://…"),
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => format!("{scheme}://{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: &[&str]) {
        assert_eq!(Hosts::parse(url).unwrap().urls, expect, "{url}");
    }

    fn check_session(url: &str, expect: Session) {
        assert_eq!(Hosts::parse(url).unwrap().session, expect, "{url}");
    }

    fn check_wrong(url: &str, expect: &str) {
        let told = Hosts::parse(url).err().unwrap().to_string();
        assert!(told.contains(expect) && !told.contains("secret"), "{url}: {told}");
    }

    #[test]
    fn each_host_is_an_address_of_its_own() {
        check("postgres://a/db", &["postgres://a/db"]);
        check("postgres:///db?host=/run", &["postgres:///db?host=/run"]);
        check("postgres://u:p@a:1,b:2/db", &["postgres://u:p@a:1/db", "postgres://u:p@b:2/db"]);
        check("postgres://a,b:2/db", &["postgres://a/db", "postgres://b:2/db"]);
        check("postgresql://a,b?port=7", &["postgresql://a?port=7", "postgresql://b?port=7"]);
        check(
            "postgres://[::1]:1,10.0.0.1/db?sslmode=require",
            &["postgres://[::1]:1/db?sslmode=require&host=::1", "postgres://10.0.0.1/db?sslmode=require"],
        );
        check("postgres://[fe80::1]/db", &["postgres://[fe80::1]/db?host=fe80::1"]);
        check(
            "postgres://u:p%40@a,b,c/db?target_session_attrs=any&application_name=x",
            &["a", "b", "c"]
                .map(|host| format!("postgres://u:p%40@{host}/db?application_name=x"))
                .each_ref()
                .map(String::as_str),
        );
    }

    #[test]
    fn of_several_hosts_one_that_accepts_writes_is_wanted() {
        check_session("postgres://a/db", Session::Any);
        check_session("postgres://a/db?target_session_attrs=read-write", Session::ReadWrite);
        check_session("postgres://a,b/db", Session::ReadWrite);
        check_session("postgres://a,b/db?target_session_attrs=any", Session::Any);
        check_wrong(
            "postgres://u:secret@a,b/db?target_session_attrs=prefer-standby",
            "`target_session_attrs=prefer-standby`",
        );
    }

    #[test]
    fn a_wrong_host_is_named_without_the_password() {
        check_wrong("postgres://u:secret@a:x,b/db", "`a:x`");
        check_wrong("postgres://u:secret@a,,b/db", "``");
        check_wrong("postgres://u:secret@a,[::1/db", "`[::1`");
        check_wrong("postgres://u:secret@a:70000/db", "`a:70000`");
        check_wrong("postgres://u:secret/x@a/db", "%2F");
    }

    #[test]
    fn passwords_are_not_shown() {
        let places = ["u:secret@a,b/db?x=1", "a/db?password=secret", "u:secret?x@a/db", "u:secret/x@a/db"];
        for place in places {
            assert!(!without_password(&format!("postgres://{place}")).contains("secret"), "{place}");
        }
        assert_eq!(without_password("sqlite:records.db"), "sqlite:records.db");
        assert_eq!(without_password("postgres://u:secret@a:1,b/db"), "postgres://…@a:1,b/db");
    }
}
