//! The store: can it be opened, and can nobody else read it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolmux_core::plural::counted;
use toolmux_store::{ReadOnlyStore, StoreOpenError};

use super::{Finding, Mending};
use crate::config::Config;

const AREA: &str = "store";
/// How long a store gets to answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn examine(config: &Config, mending: Mending) -> Vec<Finding> {
    let url = config.store.expose();
    if url == "memory" {
        let what = "calls and tasks are kept in memory and lost when the server stops";
        return vec![Finding::warning(AREA, what, "`store = \"sqlite:toolmux.db\"` keeps them")];
    }
    let Some(file) = url.strip_prefix("sqlite:").filter(|file| !file.starts_with(':')) else {
        return vec![opened(url).await];
    };
    let file = Path::new(file.split('?').next().unwrap_or(file));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let missing =
            Finding::bad(AREA, "there is no folder for the file of `store`", "create it with `mkdir -p`");
        return vec![missing.mended(mending, || fs::create_dir_all(folder))];
    }
    if !file.exists() {
        return vec![to_be_made(folder)];
    }
    let opened = opened(url).await;
    let beside =
        ["", "-wal", "-shm", "-servers"].map(|end| PathBuf::from(format!("{}{end}", file.display())));
    let readable = beside.iter().filter_map(|file| readable_by_others(file, mending));
    std::iter::once(opened).chain(readable).collect()
}

async fn opened(url: &str) -> Finding {
    // Of an address only what cannot be a password is shown.
    let name = if url.starts_with("sqlite:") { "the file of the store" } else { "the database" };
    let looked = async {
        let look = match ReadOnlyStore::at(url).await {
            Err(StoreOpenError::NoTables) => return Ok(None),
            looked => looked?,
        };
        look.status().await.map(Some).map_err(|error| anyhow::anyhow!(error.message.public))
    };
    match tokio::time::timeout(STORE_TIMEOUT, looked).await {
        Ok(Ok(Some(status))) => {
            let calls = usize::try_from(status.calls.all).unwrap_or(usize::MAX);
            Finding::good(AREA, format!("{name} holds {}", counted(calls, "call")))
        }
        Ok(Ok(None)) => Finding::good(AREA, format!("{name} is empty; the server creates its tables")),
        Ok(Err(error)) => Finding::bad(
            AREA,
            format!("{error:#}"),
            "is the address right, the database running, and the file a database of toolmux?",
        ),
        Err(_) => Finding::bad(
            AREA,
            format!("{name} does not answer within {} s", STORE_TIMEOUT.as_secs()),
            "is the database running, and can it be reached from here?",
        ),
    }
}

/// A file that is made at the first start: its folder must let us.
fn to_be_made(folder: &Path) -> Finding {
    let trial = folder.join(format!(".toolmux-doctor-{}", std::process::id()));
    match fs::File::create_new(&trial).and_then(|_| fs::remove_file(&trial)) {
        Ok(()) => Finding::good(AREA, "its file is created at the first start"),
        Err(error) => Finding::bad(
            AREA,
            format!("no file can be created in `{}`: {error}", folder.display()),
            "let the user of the server write there, or put the store elsewhere",
        ),
    }
}

fn readable_by_others(file: &Path, mending: Mending) -> Option<Finding> {
    let mode = fs::metadata(file).ok()?.permissions().mode();
    let what = format!("{} can be read by others: it holds arguments and results", file.display());
    let finding = Finding::warning(AREA, what, format!("chmod 600 {}", file.display()));
    let mend = || fs::set_permissions(file, fs::Permissions::from_mode(0o600));
    (mode & 0o077 != 0).then(|| finding.mended(mending, mend))
}
