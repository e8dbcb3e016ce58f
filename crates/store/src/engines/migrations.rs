//! The tables, written once for both engines. A text must never change once it has run anywhere: the database keeps a
//! checksum of each, and a server that brings another refuses to start.

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyPool, SqlSafeStr};

use crate::engines::engine::Engine;

/// The word in the texts that stands for the engine's own word for a column of bytes.
const BYTES_TYPE: &str = "BYTEA";

/// The text that stands for the engine's own layout of the tables.
const LAYOUT: &str = "layout";

const MIGRATIONS: [(i64, &str, &str); 9] = [
    (1, "records", include_str!("../../migrations/1_records.sql")),
    (2, "audit", include_str!("../../migrations/2_audit.sql")),
    (3, "definitions", include_str!("../../migrations/3_definitions.sql")),
    (4, "receipts", include_str!("../../migrations/4_receipts.sql")),
    (5, "awaited", include_str!("../../migrations/5_awaited.sql")),
    (6, "api_keys", include_str!("../../migrations/6_api_keys.sql")),
    (7, "task_places", include_str!("../../migrations/7_task_places.sql")),
    (8, "layout", LAYOUT),
    (9, "waiters", include_str!("../../migrations/9_waiters.sql")),
];

/// The version of the tables that this program makes and reads.
pub(crate) const VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Makes the tables that are not there yet. Servers that start at once take turns.
pub(crate) async fn run(engine: &Engine, pool: &AnyPool) -> Result<(), MigrateError> {
    let migrator = Migrator::with_migrations(migrations(engine));
    let Some(begin) = engine.migrates_in else { return migrator.run(pool).await };
    let mut transaction = pool.begin_with(begin).await?;
    migrator.run(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

fn migrations(engine: &Engine) -> Vec<Migration> {
    let migration = |(version, name, text): (i64, &'static str, &str)| {
        let text = if text == LAYOUT { engine.layout } else { text };
        let text = sqlx::AssertSqlSafe(text.replace(BYTES_TYPE, engine.bytes_type)).into_sql_str();
        Migration::new(version, name.into(), MigrationType::Simple, text, false)
    };
    MIGRATIONS.into_iter().map(migration).collect()
}

#[cfg(test)]
mod tests {
    use toolmux_core::hex::to_hex;

    use super::*;
    use crate::engines::postgres::POSTGRES;
    use crate::engines::sqlite::SQLITE;

    const AUDIT: &str =
        "8233e1dd742f0311285e2cec3772e7cfaa727d857fe7f2a25535a35ad4253808ee68cc9bc937b9ef6b7160ad3a0d826f";
    const DEFINITIONS: &str =
        "5ec297e92c1bcb5b2f56d9a5e8dc5dd7d00e9ace132abbcee99062947750a988dd90b5466195adbb699004bd04abc823";
    const SQLITE_RECEIPTS: &str =
        "81c05f2da9a13911d6c8f6962c57d0ec724db65a765654894f586cd8bef8416f13fb6a8edc388e95ab930695d0dd2112";
    const POSTGRES_RECEIPTS: &str =
        "effb515883e4bfe3c879fb9ae266cd03dc6b33987e74ed0615fea25f978ed0048cc6dd4b5740d1607ec8722df05bf926";
    const AWAITED: &str =
        "2c64c1939240d78832bb53f64d9d036e9f3b5579e6240d049b841b283e8d2a183e651f20796fbe3f810c0f70a8d248a3";
    const SQLITE_API_KEYS: &str =
        "5524b441bd5e0c11904bcdff2eeb9599b69063ce078b6275d3e6fe00fa66cc334e67a63fab2794bc17405e786bffc03c";
    const POSTGRES_API_KEYS: &str =
        "1b4efcfb8eddce455c2889a5f14591013fc1a93c687437d83f4e606caa3a724264eec043c8892a47887ee86e4b510ad5";

    const TASK_PLACES: &str =
        "456fd73e4dd44ad033ab5b910df1e4a9c14def461281aa2aa3233fde1e318932ef96076658aab8b6b1968494a46c28de";

    const SQLITE_LAYOUT: &str =
        "a87be5ea59a50f1537b8361d62582b67f0f8665b89a1afa8f5f5ccc3ec84e9b8c62649fb92c16783942166f392ecc20e";
    const POSTGRES_LAYOUT: &str =
        "aafb42c447ca03854712b0014f7948f56cfa14f1f39fd263cd0bf89a87c0518bcb7203e145ed722378099b70bf30b397";

    const WAITERS: &str =
        "a8723a7e13fd03f72ee786ce260c17b077c5581c56169a98d1c607c262cc7591018c6700337239bb071f510f36e76be4";

    fn check(engine: &Engine, expect: [&str; 9]) {
        let checksums: Vec<String> =
            migrations(engine).iter().map(|migration| to_hex(&migration.checksum)).collect();
        assert_eq!(checksums, expect, "{}", engine.name);
    }

    /// The checksums that databases in use hold.
    #[test]
    fn what_ran_at_databases_in_use_has_not_changed() {
        let sqlite = "b987159944ef6a92dbd896f0590bd3eed4d4f9573c7b782836a4a8414e5826021956f98893475f6bb528c82ce75b21d1";
        let postgres = "51781f22c035061feaf2c47a127ddc8de03c7f35a4bb132e087e1aed49aa3d21bd51fd46e166622f5843e9a2aeece99e";
        check(
            &SQLITE,
            [
                sqlite,
                AUDIT,
                DEFINITIONS,
                SQLITE_RECEIPTS,
                AWAITED,
                SQLITE_API_KEYS,
                TASK_PLACES,
                SQLITE_LAYOUT,
                WAITERS,
            ],
        );
        check(
            &POSTGRES,
            [
                postgres,
                AUDIT,
                DEFINITIONS,
                POSTGRES_RECEIPTS,
                AWAITED,
                POSTGRES_API_KEYS,
                TASK_PLACES,
                POSTGRES_LAYOUT,
                WAITERS,
            ],
        );
    }
}
