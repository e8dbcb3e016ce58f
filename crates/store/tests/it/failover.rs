//! PostgreSQL whose disk is full, and PostgreSQL whose standby is promoted, both under load.

use std::error::Error;
use std::time::Duration;

use tokio::time::timeout;
use toolmux_store::{ReadOnlyStore, StoreSettings, open};

use crate::counted::{Counted, CountedServer, Kind, Refused};
use crate::fault_injector::{Fault, FaultInjector};
use crate::postgres_server::PostgresServer;

/// How many are asked for at a time while a standby is promoted.
const CONCURRENCY: u64 = 8;
/// Enough that tables have to grow.
const MANY: u64 = 400;
const NUMBERS: u64 = 20;
/// How long a load may take to find the new primary.
const LONGEST: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_after_a_full_tablespace() {
    let injector = FaultInjector::new();
    let postgres = PostgresServer::failing(&injector, "/base/");
    for kind in [Kind::Call, Kind::Task] {
        for concurrency in [1, 8, 64] {
            let (folder, url) = (tempfile::tempdir().unwrap(), postgres.database().await);
            let log = folder.path().join("runs");
            let server = || CountedServer::start(&url, &log, None);
            let mut counted = Counted::new(kind, concurrency, server(), &log);
            assert_eq!(counted.ask(NUMBERS), NUMBERS);
            injector.on(Fault::Full);
            assert!(counted.ask(MANY) < MANY, "some find no room, {concurrency} at a time");
            injector.off();
            assert_eq!(counted.ask(NUMBERS), NUMBERS, "there is room again");
            counted.kill();
            counted.nothing_is_lost_or_doubled(server(), Refused::NotKept);
        }
    }
}

/// Asks for one number after another until one is acknowledged.
async fn until_acknowledged(counted: &mut Counted) {
    let asks = async {
        while counted.ask(1) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONGEST, asks).await.expect("the promoted standby is found");
}

async fn check_failover(kind: Kind) {
    let (mut primary, folder) = (PostgresServer::private(), tempfile::tempdir().unwrap());
    let database = primary.database().await;
    let standby = primary.standby().await;
    let name = database.rsplit_once('/').unwrap().1;
    let url = format!(
        "postgres://toolmux@127.0.0.1:{},127.0.0.1:{}/{name}?target_session_attrs=read-write",
        primary.port(),
        standby.port(),
    );
    let log = folder.path().join("runs");
    let server = || CountedServer::start(&url, &log, None);
    let only_standby =
        format!("postgres://toolmux@127.0.0.1:{}/{name}?target_session_attrs=read-write", standby.port());
    let refused = open(&only_standby, StoreSettings::default()).await.err().unwrap();
    assert!(refused.source().unwrap().to_string().contains("read-only"), "{refused:?}");
    let mut counted = Counted::new(kind, CONCURRENCY, server(), &log);
    assert_eq!(counted.ask(NUMBERS), NUMBERS);
    counted.ask_and(MANY, MANY / 4, || {
        primary.kill();
        standby.promote();
    });
    until_acknowledged(&mut counted).await;
    assert_eq!(counted.ask(NUMBERS), NUMBERS, "the load goes on");
    assert!(ReadOnlyStore::at(&url).await.is_ok(), "whoever only looks finds it too");
    counted.kill();
    // A commit whose answer was lost with the primary may have reached the standby.
    counted.nothing_is_lost_or_doubled(server(), Refused::MayBeKept);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_or_doubled_when_a_standby_is_promoted() {
    check_failover(Kind::Call).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_task_is_lost_or_doubled_when_a_standby_is_promoted() {
    check_failover(Kind::Task).await;
}
