//! What servers on one PostgreSQL tell each other: the end of a call only where somebody waits for it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::timeout;
use toolmux_core::ports::store::Store;
use toolmux_store::open;

use crate::contract::settings;
use crate::contract_calls::{check, key, returned};
use crate::postgres_server::PostgresServer;

/// Far longer than anything takes.
const LONGEST: Duration = Duration::from_mins(1);

/// What was announced until now.
async fn announced(listener: &mut PgListener, url: &str) -> Vec<String> {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    sqlx::query("SELECT pg_notify('toolmux', 'the end')").execute(&pool).await.unwrap();
    let mut all = Vec::new();
    loop {
        let told = timeout(LONGEST, listener.recv()).await.expect("an announcement").unwrap();
        match told.payload() {
            "the end" => return all,
            told => all.push(told.to_owned()),
        }
    }
}

async fn run(store: &Arc<dyn Store>, id: &str) {
    check(store, id, 1, "fresh").await;
    assert!(store.call_finish(&key(id), &returned(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_waits_for_is_announced_to_nobody() {
    let url = PostgresServer::shared().database().await;
    let (one, other) = (open(&url, settings()).await.unwrap(), open(&url, settings()).await.unwrap());
    let mut listener = PgListener::connect(&url).await.unwrap();
    listener.listen("toolmux").await.unwrap();
    for number in 0..20 {
        run(&one, &format!("alone {number}")).await;
    }
    let together: Vec<_> = (0..40)
        .map(|number| {
            let one = Arc::clone(&one);
            tokio::spawn(async move { run(&one, &format!("together {number}")).await })
        })
        .collect();
    for each in together {
        each.await.unwrap();
    }
    check(&one, "forgotten", 1, "fresh").await;
    one.call_forget(&key("forgotten")).await.unwrap();
    assert_eq!(announced(&mut listener, &url).await, [] as [String; 0]);

    check(&one, "awaited", 1, "fresh").await;
    let waiting = tokio::spawn(async move { other.call_wait(&key("awaited")).await.unwrap() });
    until_awaited(&url).await;
    assert!(one.call_finish(&key("awaited"), &returned(1)).await.unwrap());
    assert_eq!(announced(&mut listener, &url).await.len(), 1);
    assert_eq!(timeout(LONGEST, waiting).await.expect("it is woken").unwrap(), Some(returned(1)));
}

/// Ends when somebody has said that it waits.
async fn until_awaited(url: &str) {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    let found = async {
        while sqlx::query("SELECT 1 FROM calls WHERE awaited = 1")
            .fetch_optional(&pool)
            .await
            .unwrap()
            .is_none()
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONGEST, found).await.expect("somebody waits");
}
