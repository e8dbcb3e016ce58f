//! What servers on one PostgreSQL tell each other: of calls and tasks only where somebody waits, and only those who wait.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::timeout;
use toolmux_core::ports::store::Store;
use toolmux_core::progress::Update;
use toolmux_store::open;

use crate::contract::settings;
use crate::contract_calls::{check, key, returned};
use crate::contract_tasks::new;
use crate::postgres_server::PostgresServer;

/// Far longer than anything takes.
const LONGEST: Duration = Duration::from_mins(1);

/// Hears what all servers are told, and what each is told alone.
async fn listen(url: &str) -> PgListener {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    let servers: Vec<String> = sqlx::query_scalar("SELECT id FROM holders").fetch_all(&pool).await.unwrap();
    let mut listener = PgListener::connect(url).await.unwrap();
    listener.listen("toolmux").await.unwrap();
    for server in servers {
        listener.listen(&format!("toolmux_{server}")).await.unwrap();
    }
    listener
}

/// What was announced until now, and on which channels.
async fn announced(listener: &mut PgListener, url: &str) -> Vec<String> {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    sqlx::query("SELECT pg_notify('toolmux', 'the end')").execute(&pool).await.unwrap();
    let mut all = Vec::new();
    loop {
        let told = timeout(LONGEST, listener.recv()).await.expect("an announcement").unwrap();
        match told.payload() {
            "the end" => return all,
            payload => all.push(format!("{} {}", told.channel(), &payload[..1])),
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
    let mut listener = listen(&url).await;
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
    let told = announced(&mut listener, &url).await;
    assert!(
        matches!(told.as_slice(), [one] if one.starts_with("toolmux_")),
        "to the server that waits: {told:?}"
    );
    assert_eq!(timeout(LONGEST, waiting).await.expect("it is woken").unwrap(), Some(returned(1)));
}

/// Ends when somebody has said that it waits.
async fn until_awaited(url: &str) {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    let found = async {
        while sqlx::query("SELECT 1 FROM calls WHERE waiter IS NOT NULL")
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

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_announced_to_the_servers_where_it_is_followed() {
    let url = PostgresServer::shared().database().await;
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(open(&url, settings()).await.unwrap());
    }
    let mut listener = listen(&url).await;
    let task = new("alice");
    let (submitted, started) = tokio::join!(servers[0].task_submit(&task), servers[0].task_start(&task.id));
    assert!(submitted.is_ok() && started.unwrap());
    let update = Update::Progress { done: 1.0, total: None, message: None };
    servers[0].task_tell(&task.id, &update).await.unwrap();
    // A look without a listener is nobody's wait.
    servers[1].task_find(&task.id, 0).await.unwrap().unwrap();
    servers[0].task_tell(&task.id, &update).await.unwrap();
    assert_eq!(announced(&mut listener, &url).await, [] as [String; 0]);

    let mut follower = servers[1].task_notifier(&task.id);
    servers[1].task_find(&task.id, 0).await.unwrap().unwrap();
    servers[0].task_tell(&task.id, &update).await.unwrap();
    let told = announced(&mut listener, &url).await;
    assert!(matches!(told.as_slice(), [one] if one.starts_with("toolmux_")), "{told:?}");
    timeout(LONGEST, follower.changed()).await.expect("it is woken");

    let mut other = servers[2].task_notifier(&task.id);
    servers[2].task_find(&task.id, 0).await.unwrap().unwrap();
    assert!(servers[0].task_finish(&task.id, &returned(1)).await.unwrap());
    assert_eq!(announced(&mut listener, &url).await, ["toolmux t"], "several follow it");
    for follower in [&mut follower, &mut other] {
        timeout(LONGEST, follower.changed()).await.expect("it is woken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_is_announced_to_one_server_with_room() {
    let url = PostgresServer::shared().database().await;
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(open(&url, settings()).await.unwrap());
    }
    let mut listener = listen(&url).await;
    servers[0].task_submit(&new("alice")).await.unwrap();
    assert_eq!(
        announced(&mut listener, &url).await,
        [] as [String; 0],
        "no server has said that it has room"
    );
    let work = [servers[1].work_notifier(), servers[2].work_notifier()];
    assert_eq!(servers[1].task_claim(8).await.unwrap().len(), 1);
    assert!(servers[2].task_claim(8).await.unwrap().is_empty());
    for _ in 0..2 {
        servers[0].task_submit(&new("alice")).await.unwrap();
        let told = announced(&mut listener, &url).await;
        assert!(matches!(told.as_slice(), [one] if one.starts_with("toolmux_")), "{told:?}");
    }
    for mut work in work {
        timeout(LONGEST, work.changed()).await.expect("each is woken once");
    }
    servers[0].task_submit(&new("alice")).await.unwrap();
    assert_eq!(announced(&mut listener, &url).await, [] as [String; 0], "both know that tasks wait");
    assert_eq!(servers[1].task_claim(8).await.unwrap().len(), 3);
    servers[0].task_submit(&new("alice")).await.unwrap();
    assert_eq!(announced(&mut listener, &url).await.len(), 1, "it has room again");
}
