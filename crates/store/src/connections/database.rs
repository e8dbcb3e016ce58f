//! The database of either kind: its connections, its clock, its notifiers, and who we are in it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use sqlx::any::install_default_drivers;
use sqlx::{AnyPool, Row};
use tokio::time::sleep;
use toolmux_core::backoff::Backoff;
use toolmux_core::message::Message;
use toolmux_core::ports::store::{Notifiers, StoreError};

use crate::background::heartbeat::Heartbeat;
use crate::background::uncertain_claims::UncertainClaims;
use crate::background::write_counter::WriteCounter;
use crate::connections::hosts::{Hosts, Session};
use crate::connections::outage::Outage;
use crate::connections::pools::{Pools, options};
use crate::engines::engine::Engine;
use crate::engines::file::{FileLost, OpenFile};
use crate::engines::migrations;
use crate::engines::presence::Presence;
use crate::engines::sqlite;
use crate::open::StoreOpenError;
use crate::settings::StoreSettings;
use crate::sql::sql;

/// How long servers that start at once on one file give way to each other.
const START_TURN: Duration = Duration::from_secs(10);

/// The number of one claim of this server, the column `turn`. Ids of tasks stand among those of calls with 0, which is no
/// claim.
pub(crate) type ClaimNumber = i64;

pub(crate) struct Database {
    pub(crate) engine: &'static Engine,
    pub(crate) hosts: Hosts,
    pub(crate) pools: ArcSwap<Pools>,
    pub(crate) outage: Outage,
    pub(crate) notifiers: Arc<Notifiers>,
    /// Our own name among the servers that share the database.
    pub(crate) holder: String,
    pub(crate) settings: StoreSettings,
    pub(crate) uncertain_claims: UncertainClaims,
    pub(crate) heartbeat: Mutex<Heartbeat>,
    pub(crate) presence: OnceLock<Presence>,
    pub(crate) file: Option<OpenFile>,
    pub(crate) calls_written: WriteCounter,
    pub(crate) tasks_written: WriteCounter,
    /// Whether the database says of us that we have room for tasks.
    pub(crate) idle: AtomicBool,
    claim_statement: String,
    next_claim: AtomicI64,
    /// How far the shared clock is ahead of our own, in milliseconds.
    offset: AtomicI64,
}

/// Runs what is kept in the database. SQLite answers at once that it is locked, whatever its timeout, where waiting could
/// keep two that start together waiting for each other.
async fn prepare(engine: &Engine, write: &AnyPool) -> Result<(), sqlx::Error> {
    let begin = Instant::now();
    for statement in engine.prepare {
        let mut backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50));
        while let Err(error) = sqlx::query(*statement).execute(write).await {
            if !sqlite::is_locked(&error) || begin.elapsed() > START_TURN {
                return Err(error);
            }
            sleep(backoff.next_pause()).await;
        }
    }
    Ok(())
}

impl Database {
    pub(crate) async fn open(
        url: &str,
        engine: &'static Engine,
        settings: StoreSettings,
    ) -> Result<Self, StoreOpenError> {
        let hosts = hosts(url, engine, settings).await?;
        (engine.create)(hosts.url());
        let connect = async |most| {
            let options = options(engine, engine.setup, most, settings);
            options.connect(hosts.url()).await.map_err(StoreOpenError::Connect)
        };
        let write = connect(engine.writers).await?;
        prepare(engine, &write).await.map_err(StoreOpenError::Connect)?;
        migrations::run(engine, &write).await.map_err(StoreOpenError::Migrate)?;
        let read = connect(engine.readers).await?;
        // From here on a connection never makes a file: one that appears where ours was removed would be empty, and
        // whatever it does not know would run again.
        for pool in [&read, &write] {
            pool.set_connect_options(
                (engine.existing)(hosts.url()).parse().map_err(StoreOpenError::Connect)?,
            );
        }
        let file = (engine.file)(url).transpose().map_err(|error| StoreOpenError::Connect(error.into()))?;
        let mut database = Database::on(hosts, engine, settings, Pools { read, write });
        database.file = file;
        Ok(database)
    }

    /// The same without changing anything in it: no table is made, no server is taken for dead.
    pub(crate) async fn open_read_only(
        url: &str,
        engine: &'static Engine,
        settings: StoreSettings,
    ) -> Result<Self, StoreOpenError> {
        let mut hosts = hosts(url, engine, settings).await?;
        // The host that was found accepts writes, but a read-only connection to it says that it does not.
        hosts.session = Session::Any;
        let read = options(engine, engine.read_only_setup, 1, settings).connect(hosts.url()).await;
        let read = read.map_err(StoreOpenError::Connect)?;
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
            uncertain_claims: UncertainClaims::default(),
            heartbeat: Mutex::default(),
            presence: OnceLock::new(),
            file: None,
            calls_written: WriteCounter::default(),
            tasks_written: WriteCounter::default(),
            idle: AtomicBool::new(false),
            claim_statement: sql!("task_claim").replace("/* skip locked */", engine.skip_locked),
            next_claim: AtomicI64::new(1),
            offset: AtomicI64::new(0),
        }
    }

    pub(crate) fn claim_statement(&self) -> String {
        self.claim_statement.clone()
    }

    /// A number that no other claim of this server has: when the answer to a claim is lost, it tells whether the claim
    /// that stands in the database is that one or another of ours.
    pub(crate) fn next_claim(&self) -> ClaimNumber {
        self.next_claim.fetch_add(1, Ordering::Relaxed)
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
            let theirs: i64 = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get("now")?;
            self.offset.store(theirs - millis(SystemTime::now()), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The hosts an address names, one of them found.
async fn hosts(url: &str, engine: &Engine, settings: StoreSettings) -> Result<Hosts, StoreOpenError> {
    install_default_drivers();
    let hosts =
        if engine.remote { Hosts::parse(url).map_err(StoreOpenError::Hosts)? } else { Hosts::only(url) };
    hosts.find(settings.patience).await.map_err(StoreOpenError::Connect)?;
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

/// The error that callers see when the database failed them.
pub(crate) fn failed(error: sqlx::Error) -> StoreError {
    if let Some(lost) = FileLost::of(&error) {
        return lost.into();
    }
    StoreError::new(Message::public("The record store cannot be reached").caused_by(&error))
}
