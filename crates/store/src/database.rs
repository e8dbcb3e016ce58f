//! The database of either kind: its connections, its clock, its notifiers, and who we are in it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use sqlx::any::install_default_drivers;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, Row, SqlSafeStr};
use toolmux_core::BoxFuture;
use toolmux_core::message::Message;
use toolmux_core::ports::store::{Notifiers, StoreError};

use crate::file::{FileLost, OpenFile};
use crate::heartbeat::Heartbeat;
use crate::hosts::{Hosts, Session};
use crate::outage::Outage;
use crate::pools::{Pools, options};
use crate::presence::Presence;
use crate::sql::sql;
use crate::surplus::Written;
use crate::uncertain_claims::UncertainClaim;
use crate::{OpenError, StoreSettings};

/// The longest notification; PostgreSQL allows 8,000 bytes.
const MOST_ANNOUNCED: usize = 7_000;

/// What differs between the two kinds.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// Run once when the store is opened, before its tables are made.
    pub(crate) prepare: &'static [&'static str],
    /// Run on every new connection; takes no lock and writes nothing.
    pub(crate) setup: &'static [&'static str],
    pub(crate) migrations: &'static [(i64, &'static str, &'static str)],
    pub(crate) writers: u32,
    pub(crate) readers: u32,
    /// Whether a connection may die or go silent while nobody notices.
    pub(crate) remote: bool,
    /// The setting that bounds how long the server keeps a transaction in which nothing is asked, in milliseconds.
    pub(crate) idle_transaction: Option<&'static str>,
    /// Behind a `SELECT` whose rows others may be taking.
    pub(crate) skip_locked: &'static str,
    /// Tells other servers whom to notify.
    pub(crate) announce: Option<&'static str>,
    /// The milliseconds of the database's own clock, when machines share it.
    pub(crate) clock: Option<&'static str>,
    /// Said on every new connection that only looks.
    pub(crate) looking: &'static [&'static str],
    /// Gives the room of removed rows back, where the database does not do so by itself.
    pub(crate) vacuum: Option<&'static str>,
    /// The size of everything.
    pub(crate) bytes: &'static str,
    /// Whether the code of an error means that every other write would fail too.
    pub(crate) fails_all: fn(&str) -> bool,
    /// Makes its file before the database does, for a database that is one.
    pub(crate) create: fn(&str),
    /// The file it is, for a database that is one.
    pub(crate) file: fn(&str) -> Option<std::io::Result<OpenFile>>,
    /// The address for connections that are opened later, when it exists.
    pub(crate) existing: fn(&str) -> String,
    /// Shows to other servers of the same machine that we are there, where only those can have it open.
    pub(crate) presence: fn(&str) -> Option<std::io::Result<Presence>>,
    /// Notifies of what other servers do, as long as it is polled.
    pub(crate) watch: fn(Arc<Database>) -> BoxFuture<'static, ()>,
}

pub(crate) struct Database {
    pub(crate) engine: &'static Engine,
    pub(crate) hosts: Hosts,
    pub(crate) pools: ArcSwap<Pools>,
    pub(crate) outage: Outage,
    pub(crate) notifiers: Arc<Notifiers>,
    /// Our own name among the servers that share the database.
    pub(crate) holder: String,
    pub(crate) settings: StoreSettings,
    pub(crate) uncertain_claims: Mutex<Vec<UncertainClaim>>,
    pub(crate) heartbeat: Mutex<Heartbeat>,
    pub(crate) presence: OnceLock<Presence>,
    pub(crate) file: Option<OpenFile>,
    pub(crate) calls_written: Written,
    pub(crate) tasks_written: Written,
    claim: String,
    turn: AtomicI64,
    offset: AtomicI64,
}

impl Database {
    pub(crate) async fn open(
        url: &str,
        engine: &'static Engine,
        settings: StoreSettings,
    ) -> Result<Self, OpenError> {
        let hosts = hosts(url, engine, settings).await?;
        (engine.create)(hosts.url());
        let connect = async |most| {
            let options = options(engine, engine.setup, most, settings);
            options.connect(hosts.url()).await.map_err(OpenError::Connect)
        };
        let write = connect(engine.writers).await?;
        for statement in engine.prepare {
            sqlx::query(*statement).execute(&write).await.map_err(OpenError::Connect)?;
        }
        let migrations = engine.migrations.iter().map(|(version, name, text)| {
            let kind = MigrationType::Simple;
            Migration::new(*version, (*name).into(), kind, (*text).into_sql_str(), false)
        });
        let migrator = Migrator::with_migrations(migrations.collect());
        migrator.run(&write).await.map_err(OpenError::Migrate)?;
        let read = connect(engine.readers).await?;
        for pool in [&read, &write] {
            pool.set_connect_options((engine.existing)(hosts.url()).parse().map_err(OpenError::Connect)?);
        }
        let file = (engine.file)(url).transpose().map_err(|error| OpenError::Connect(error.into()))?;
        let mut database = Database::on(hosts, engine, settings, Pools { read, write });
        database.file = file;
        Ok(database)
    }

    /// The same without changing anything in it.
    pub(crate) async fn open_read_only(
        url: &str,
        engine: &'static Engine,
        settings: StoreSettings,
    ) -> Result<Self, OpenError> {
        let mut hosts = hosts(url, engine, settings).await?;
        // The host found accepts writes; a connection to it that only looks does not.
        hosts.session = Session::Any;
        let read = options(engine, engine.looking, 1, settings).connect(hosts.url()).await;
        let read = read.map_err(OpenError::Connect)?;
        Ok(Database::on(hosts, engine, settings, Pools { write: read.clone(), read }))
    }

    fn on(hosts: Hosts, engine: &'static Engine, settings: StoreSettings, pools: Pools) -> Self {
        Database {
            engine,
            hosts,
            pools: ArcSwap::from_pointee(pools),
            outage: Outage::default(),
            notifiers: Arc::default(),
            holder: uuid::Uuid::new_v4().to_string(),
            settings,
            uncertain_claims: Mutex::default(),
            heartbeat: Mutex::default(),
            presence: OnceLock::new(),
            file: None,
            calls_written: Written::default(),
            tasks_written: Written::default(),
            claim: sql!("task_claim").replace("/* skip locked */", engine.skip_locked),
            turn: AtomicI64::new(1),
            offset: AtomicI64::new(0),
        }
    }

    pub(crate) fn claim(&self) -> String {
        self.claim.clone()
    }

    /// A number nobody else of this server has: tells our own writes apart when an answer was lost.
    pub(crate) fn next_turn(&self) -> i64 {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// Milliseconds by the clock all servers share.
    pub(crate) fn now(&self) -> i64 {
        self.at(SystemTime::now())
    }

    /// A time of our own clock by the clock all servers share.
    pub(crate) fn at(&self, time: SystemTime) -> i64 {
        millis(time).saturating_add(self.offset.load(Ordering::Relaxed))
    }

    /// Whoever's lease ended before this is dead.
    pub(crate) fn dead_before(&self) -> i64 {
        let heartbeat = self.heartbeat.lock().unwrap_or_else(PoisonError::into_inner);
        heartbeat.dead_before(self.now(), span(self.settings.lease))
    }

    /// Sets our clock by the database's.
    pub(crate) async fn set_clock(&self) -> Result<(), sqlx::Error> {
        if let Some(clock) = self.engine.clock {
            let rows = self.fetch(sqlx::query(clock)).await?;
            let theirs: i64 = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
            self.offset.store(theirs - millis(SystemTime::now()), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Tells other servers whom to notify, as part of a transaction where that matters.
    pub(crate) async fn announce(
        &self,
        connection: &mut AnyConnection,
        notifiers: &[String],
    ) -> Result<(), sqlx::Error> {
        let Some(announce) = self.engine.announce else { return Ok(()) };
        let mut rest = notifiers;
        while !rest.is_empty() {
            let mut length = 0;
            let fits = rest.iter().take_while(|notifier| {
                length += notifier.len() + 1;
                length <= MOST_ANNOUNCED
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            sqlx::query(announce).bind(now.join(",")).execute(&mut *connection).await?;
            rest = later;
        }
        Ok(())
    }

    /// Tells everybody, ourselves included.
    pub(crate) async fn notify(&self, notifiers: &[String]) -> Result<(), sqlx::Error> {
        if self.engine.announce.is_some() && !notifiers.is_empty() {
            let mut connection = self.writer().await?;
            self.answered(self.announce(&mut connection, notifiers)).await?;
            connection.release();
        }
        for notifier in notifiers {
            self.notifiers.notify(notifier);
        }
        Ok(())
    }
}

impl Engine {
    /// The version of its tables.
    pub(crate) fn version(&self) -> i64 {
        self.migrations.last().map_or(0, |(version, ..)| *version)
    }

    /// True for an error that is not of one write alone: others would meet it too.
    pub(crate) fn concerns_all(&self, error: &sqlx::Error) -> bool {
        match error {
            sqlx::Error::Database(error) => error.code().is_some_and(|code| (self.fails_all)(&code)),
            _ => true,
        }
    }
}

/// The hosts an address names, one of them found.
async fn hosts(url: &str, engine: &Engine, settings: StoreSettings) -> Result<Hosts, OpenError> {
    install_default_drivers();
    let hosts = if engine.remote { Hosts::parse(url).map_err(OpenError::Hosts)? } else { Hosts::only(url) };
    hosts.find(settings.patience).await.map_err(OpenError::Connect)?;
    Ok(hosts)
}

pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn span(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX >> 8)
}

pub(crate) fn time(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs())
}

/// What callers hear when the database failed them.
pub(crate) fn failed(error: sqlx::Error) -> StoreError {
    if let Some(lost) = FileLost::of(&error) {
        return lost.into();
    }
    StoreError::new(Message::public("The record store cannot be reached").caused_by(&error))
}
