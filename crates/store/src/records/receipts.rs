//! Receipts: links of hash chains, added in batches and read by id or by chain.

use std::sync::LazyLock;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use toolmux_core::ports::store::{
    ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore, StoreError, StoreFuture,
};
use toolmux_core::receipt::ReceiptId;

use crate::connections::database::{Database, failed};
use crate::records::stored::unreadable;
use crate::sql::{Repeated, sql};
use crate::sql_store::SqlStore;

static RECEIPT_ADD: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("receipt_add")));

/// Greater than every id, which begins with a digit or a letter up to f.
const AFTER_ALL: &str = "g";

impl ReceiptReader for Database {
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>> {
        Box::pin(async move {
            let before = before.map_or_else(|| AFTER_ALL.to_owned(), |before| before.to_string());
            let list = sqlx::query(sql!("receipt_list")).bind(from.to_string()).bind(before);
            let rows = self.list(list.bind(number(most as u64))).await.map_err(failed)?;
            rows.iter().map(|row| Ok((read_id(row)?, row.try_get("body").map_err(failed)?))).collect()
        })
    }

    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move {
            let find = sqlx::query(sql!("receipt_find")).bind(id.to_string());
            let row = self.find(find).await.map_err(failed)?;
            row.map(|row| row.try_get("body").map_err(failed)).transpose()
        })
    }

    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>> {
        Box::pin(async move {
            let chain = sqlx::query(sql!("receipt_chain")).bind(server).bind(number(after));
            let rows = self.list(chain.bind(number(most as u64))).await.map_err(failed)?;
            rows.iter().map(read_link).collect()
        })
    }

    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>> {
        Box::pin(async move {
            let rows = self.list(sqlx::query(sql!("receipt_heads"))).await.map_err(failed)?;
            rows.iter().map(|row| read_head(row).map_err(failed)).collect()
        })
    }
}

impl ReceiptReader for SqlStore {
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>> {
        self.database.receipt_list(from, before, most)
    }

    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>> {
        self.database.receipt_find(id)
    }

    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>> {
        self.database.receipt_chain(server, after, most)
    }

    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>> {
        self.database.receipt_heads()
    }
}

impl ReceiptStore for SqlStore {
    fn receipt_add<'a>(&'a self, links: &'a [ReceiptLink], head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let change = async |connection: &mut AnyConnection| {
                add(connection, links).await?;
                put_head(connection, head).await
            };
            self.database.transaction(change).await.map_err(failed)
        })
    }

    fn receipt_prune<'a>(&'a self, up_to: u64, head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let change = async |connection: &mut AnyConnection| {
                remove(connection, &head.server, up_to).await?;
                put_head(connection, head).await
            };
            self.database.transaction(change).await.map_err(failed)
        })
    }

    fn receipt_forget<'a>(&'a self, server: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let change = async |connection: &mut AnyConnection| {
                remove(connection, server, u64::MAX).await?;
                sqlx::query(sql!("receipt_head_drop")).bind(server).execute(connection).await.map(drop)
            };
            self.database.transaction(change).await.map_err(failed)
        })
    }

    fn receipt_report_killed<'a>(
        &'a self,
        killed: &'a str,
        link: &'a ReceiptLink,
        head: &'a ReceiptHead,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let change = async |connection: &mut AnyConnection| {
                let report = sqlx::query(sql!("receipt_report_killed")).bind(killed);
                if report.execute(&mut *connection).await?.rows_affected() == 0 {
                    return is_there(connection, link).await;
                }
                add(connection, std::slice::from_ref(link)).await?;
                put_head(connection, head).await.map(|()| true)
            };
            self.database.transaction(change).await.map_err(failed)
        })
    }
}

async fn add(connection: &mut AnyConnection, links: &[ReceiptLink]) -> Result<(), sqlx::Error> {
    for (statement, rows) in RECEIPT_ADD.pieces(links) {
        let mut add = sqlx::query(statement);
        for ReceiptLink { server, seq, id, body, hash } in rows {
            add = add.bind(server.as_str()).bind(number(*seq)).bind(id.to_string());
            add = add.bind(body.as_str()).bind(hash.to_vec());
        }
        add.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn is_there(connection: &mut AnyConnection, link: &ReceiptLink) -> Result<bool, sqlx::Error> {
    let count = sqlx::query(sql!("receipt_is_there")).bind(link.server.as_str()).bind(number(link.seq));
    let row = count.bind(link.id.to_string()).fetch_one(connection).await?;
    row.try_get::<i64, _>("links").map(|links| links > 0)
}

async fn put_head(connection: &mut AnyConnection, head: &ReceiptHead) -> Result<(), sqlx::Error> {
    let put = sqlx::query(sql!("receipt_head_put")).bind(head.server.as_str()).bind(head.body.as_str());
    put.bind(head.public_key.clone()).bind(head.signature.clone()).execute(connection).await.map(drop)
}

async fn remove(connection: &mut AnyConnection, server: &str, up_to: u64) -> Result<(), sqlx::Error> {
    let remove = sqlx::query(sql!("receipt_prune")).bind(server).bind(number(up_to));
    remove.execute(connection).await.map(drop)
}

fn read_id(row: &AnyRow) -> Result<ReceiptId, StoreError> {
    let id: String = row.try_get("id").map_err(failed)?;
    id.parse().map_err(|error| unreadable(&error))
}

fn read_link(row: &AnyRow) -> Result<ReceiptLink, StoreError> {
    let hash: Vec<u8> = row.try_get("hash").map_err(failed)?;
    Ok(ReceiptLink {
        server: row.try_get("server").map_err(failed)?,
        seq: row.try_get::<i64, _>("seq").map_err(failed)?.unsigned_abs(),
        id: read_id(row)?,
        body: row.try_get("body").map_err(failed)?,
        // One that is not a hash at all was not written by a server, and fits no link.
        hash: hash.try_into().unwrap_or_default(),
    })
}

fn read_head(row: &AnyRow) -> Result<ReceiptHead, sqlx::Error> {
    Ok(ReceiptHead {
        server: row.try_get("server")?,
        body: row.try_get("body")?,
        public_key: row.try_get("public_key")?,
        signature: row.try_get("signature")?,
    })
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
