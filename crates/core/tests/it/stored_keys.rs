//! Keys that live in the store: they hold besides those of the configuration, from one moment to another.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::timeout;
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::{KeyStore, StoredKey};
use toolmux_core::secret::Secret;

use crate::fixture::LONG;

fn stored(name: &str, key: &str) -> StoredKey {
    StoredKey {
        name: name.to_owned(),
        sha256: Secret::new(key).sha256(),
        toolset: None,
        operator: name == "ops",
        created: SystemTime::now(),
        used: None,
        revoked: None,
    }
}

/// The name by which a key lets in.
fn caller(gateway: &Gateway, key: Option<&str>) -> Option<String> {
    let credential = key.map_or(Credential::None, Credential::Key);
    gateway.admit(credential, None).ok().map(|caller| caller.name().to_owned())
}

async fn until(gateway: &Gateway, key: &str, expect: Option<&str>) {
    let found = async {
        while caller(gateway, Some(key)).as_deref() != expect {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, found).await.expect("the key is noticed");
}

#[tokio::test(start_paused = true)]
async fn a_key_of_the_store_holds_until_it_is_revoked() {
    let store = Arc::new(MemoryStore::default());
    let gateway = Gateway::new(Settings::default(), store.clone());
    gateway.keys().follow().await.expect("the keys are read");
    assert_eq!(caller(&gateway, None).as_deref(), Some("anonymous"));
    store.key_add(&stored("ops", "secret")).await.expect("a store");
    until(&gateway, "secret", Some("ops")).await;
    assert_eq!(caller(&gateway, None), None, "as soon as there is a key, everybody needs one");
    let ops = gateway.admit(Credential::Key("secret"), None).expect("it is known");
    assert!(gateway.admission().is_operator(&ops));
    store.key_revoke("ops").await.expect("a store");
    until(&gateway, "secret", None).await;
    assert_eq!(caller(&gateway, None), None, "revoking the last key opens nothing");
    gateway.configure(Settings::default());
    assert_eq!(caller(&gateway, None), None, "nor does a reload");
    let again = Gateway::new(Settings::default(), store);
    again.keys().follow().await.expect("the keys are read");
    assert_eq!(caller(&again, None), None, "nor a restart");
}

#[tokio::test]
async fn a_key_of_the_configuration_wins_over_one_of_its_name() {
    let store = Arc::new(MemoryStore::default());
    for (name, key) in [("alice", "stored"), ("bob", "bobs")] {
        store.key_add(&stored(name, key)).await.expect("a store");
    }
    let own = ApiKey { name: "alice".into(), sha256: Secret::new("own").sha256(), toolset: None };
    let settings =
        || Settings { admission: Admission { keys: vec![own.clone()], jwt: None }, ..Settings::default() };
    let gateway = Gateway::new(settings(), store);
    gateway.keys().follow().await.expect("the keys are read");
    for _ in 0..2 {
        let callers = ["own", "stored", "bobs"].map(|key| caller(&gateway, Some(key)));
        assert_eq!(callers, [Some("alice".to_owned()), None, Some("bob".to_owned())]);
        gateway.configure(settings());
    }
}
