//! PostgreSQL that fails: on a disk that does, or killed with a standby to take its place.

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::fault_injector::FaultInjector;
use crate::postgres_server::{PostgresServer, Private, START_PATIENCE, run};

impl PostgresServer {
    /// A private server whose files can be made to fail: those whose paths contain `files`.
    pub(crate) fn failing(injector: &FaultInjector, files: &str) -> PostgresServer {
        PostgresServer::of(Private::new(injector.environment(files).into()), Private::init)
    }

    /// A standby of this one, which from now on commits nothing before the standby has it.
    pub(crate) async fn standby(&self) -> PostgresServer {
        let port = self.port();
        let standby = PostgresServer::of(Private::new([].into()), |private| copy(private, port));
        let mut connection = PgConnection::connect(&format!("{}/postgres", self.base)).await.unwrap();
        for statement in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
            sqlx::query(statement).execute(&mut connection).await.unwrap();
        }
        until_synchronous(&mut connection).await;
        connection.close().await.unwrap();
        standby
    }

    pub(crate) fn kill(&mut self) {
        let private = self.private.as_mut().expect("only a private server is ours to kill");
        let mut child = private.child.take().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Makes a standby accept writes.
    pub(crate) fn promote(&self) {
        let private = self.private.as_ref().expect("only a private server is ours to promote");
        run(private.command("pg_ctl").args(["promote", "-D"]).arg(private.data()));
    }

    pub(crate) fn port(&self) -> u16 {
        self.private.as_ref().expect("a private server has a port of its own").port
    }
}

/// Copies the files of a running server, to be its standby.
fn copy(private: &Private, port: u16) {
    let mut copy = private.command("pg_basebackup");
    copy.args(["-h", "127.0.0.1", "-U", "toolmux", "-p", &port.to_string()]);
    run(copy.args(["--write-recovery-conf", "--no-sync", "--checkpoint", "fast", "-D"]).arg(private.data()));
}

/// Ends when the standby has all that is committed.
async fn until_synchronous(connection: &mut PgConnection) {
    let synchronous = async {
        let standbys = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while sqlx::query_scalar::<_, i64>(standbys).fetch_one(&mut *connection).await.unwrap() == 0 {}
    };
    tokio::time::timeout(START_PATIENCE, synchronous).await.expect("the standby follows");
}
