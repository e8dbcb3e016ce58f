//! A PostgreSQL for tests: the one `$TOOLMUX_TEST_POSTGRES` names, or a private one on a port of its own
//! that ends with the test program.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::PgConnection;

pub(crate) const START_PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct PostgresServer {
    /// Without the name of a database.
    pub(crate) base: String,
    pub(crate) private: Option<Private>,
}

pub(crate) struct Private {
    binaries: PathBuf,
    folder: tempfile::TempDir,
    pub(crate) port: u16,
    environment: Vec<(&'static str, OsString)>,
    pub(crate) child: Option<Child>,
}

impl PostgresServer {
    /// The one server that tests share, each with databases of its own.
    pub(crate) fn shared() -> &'static PostgresServer {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("TOOLMUX_TEST_POSTGRES") {
            Ok(url) => PostgresServer { base: url.trim_end_matches('/').to_owned(), private: None },
            Err(_) => PostgresServer::private(),
        })
    }

    /// A server that a test may stop.
    pub(crate) fn private() -> PostgresServer {
        PostgresServer::of(Private::new([].into()), Private::init)
    }

    pub(crate) fn of(mut private: Private, init: impl FnOnce(&Private)) -> PostgresServer {
        init(&private);
        private.start();
        PostgresServer {
            base: format!("postgres://toolmux@127.0.0.1:{}", private.port),
            private: Some(private),
        }
    }

    /// The address of a new, empty database.
    pub(crate) async fn database(&self) -> String {
        let name = format!("t{}", uuid::Uuid::new_v4().simple());
        let mut connection = PgConnection::connect(&format!("{}/postgres", self.base)).await.unwrap();
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(create).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        format!("{}/{name}", self.base)
    }

    pub(crate) fn stop(&mut self) {
        self.private.as_mut().expect("only a private server is ours to stop").stop();
    }

    pub(crate) fn start(&mut self) {
        self.private.as_mut().expect("only a private server is ours to start").start();
    }
}

impl Private {
    pub(crate) fn new(environment: Vec<(&'static str, OsString)>) -> Self {
        let folder = tempfile::Builder::new().prefix("toolmux-postgres-").tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if is_root() {
            run(Command::new("chown").arg("nobody").arg(folder.path()));
        }
        Private { binaries: binaries(), folder, port, environment, child: None }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn init(&self) {
        let mut initdb = self.command("initdb");
        initdb.args(["--username", "toolmux", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "-D"]);
        run(initdb.arg(self.data()));
    }

    /// Starts from a thread that lives as long as the program: the server ends when its parent does.
    fn start(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200"]);
        command.arg("-k").arg(self.folder.path()).envs(self.environment.iter().cloned());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            let lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut child = Some(child);
            for line in lines.map_while(Result::ok) {
                if line.contains("ready to accept")
                    && let Some(child) = child.take()
                {
                    sender.send(child).unwrap();
                }
            }
            loop {
                std::thread::park();
            }
        });
        self.child = Some(receiver.recv_timeout(START_PATIENCE).expect("PostgreSQL starts"));
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let id = child.id().to_string();
            run(Command::new("kill").args(["-INT", &id]));
            child.wait().unwrap();
        }
    }

    /// A program of PostgreSQL, which refuses to run as root.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        if is_root() {
            command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
        }
        command.args(["--pdeathsig", "QUIT"]).arg(self.binaries.join(program));
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.stop();
    }
}

fn binaries() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("install the package `postgresql`");
    let newest = versions.filter_map(|entry| entry.ok().map(|entry| entry.path().join("bin"))).max();
    newest.filter(|path| Path::new(path).join("postgres").exists()).expect("install the package `postgresql`")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
