//! What the table gives to whom, when it is released, and in which order.

use futures_util::FutureExt;

use super::*;

const ALICE: Owner<'_> = Owner { caller: "alice", user: None, session: None };
const BOB: Owner<'_> = Owner { caller: "bob", user: None, session: None };
const IDLE: Duration = Duration::from_mins(1);
const NOBODY: fn(&str) -> bool = |_| false;

/// The number that the first worker gives its object.
fn word(id: u64) -> u64 {
    1 << 32 | id
}

/// A table of databases, which can be closed, and rows, which cannot.
fn table(quota: usize) -> Arc<HandleTable> {
    HandleTable::new(TableSettings { quota, idle: IDLE, closable: HashSet::from(["db".to_owned()]) })
}

fn slots(tag: &str) -> Arc<[Slot]> {
    [Slot::Bytes, Slot::Handle(tag.to_owned())].into()
}

/// The payload of a RESULT with an empty buffer and an object.
fn result(word: u64) -> Vec<u8> {
    [&[0; 4][..], &word.to_le_bytes()].concat()
}

/// Opens an object with others among the arguments; its text.
fn open_from(table: &Arc<HandleTable>, owner: Owner<'_>, (tag, id): (&str, u64), from: &[&str]) -> String {
    let mut used = UsedHandles::new(table, owner);
    for whole in from {
        used.word("db", whole).expect("it is open");
    }
    let ticket = table.reserve(used, 1, &slots(tag)).expect("there is room");
    let opened = ticket.returned(&result(word(id)), 1);
    let text = opened.text(tag, word(id)).expect("it is given");
    opened.claim();
    text
}

fn open(table: &Arc<HandleTable>, owner: Owner<'_>, id: u64) -> String {
    open_from(table, owner, ("db", id), &[])
}

fn is_open(table: &HandleTable, owner: Owner<'_>, text: &str) -> bool {
    let tag = text.split('#').next().expect("a kind");
    match table.find(owner, tag, text) {
        Ok(_) => true,
        Err(words) => {
            assert_eq!(words, NOT_OPEN);
            false
        }
    }
}

fn room(table: &Arc<HandleTable>, owner: Owner<'_>, count: usize) -> bool {
    table.reserve(UsedHandles::new(table, owner), count, &slots("db")).is_ok()
}

fn due(table: &HandleTable) -> Vec<u64> {
    table.due(Instant::now()).iter().map(|due| due.word & 0xffff).collect()
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_good_for_its_owner_alone() {
    let table = table(10);
    let text = open(&table, ALICE, 1);
    assert!(is_open(&table, ALICE, &text));
    assert!(!is_open(&table, BOB, &text));
    assert!(!is_open(&table, Owner { user: Some("carol"), ..ALICE }, &text));
    assert_eq!(open(&table, ALICE, 1), text, "an object keeps its handle");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_given_to_another_caller_is_that_callers_alone() {
    let table = table(10);
    let before = open(&table, ALICE, 1);
    let now = open(&table, BOB, 1);
    assert_ne!(before, now);
    assert!(!is_open(&table, ALICE, &before) && is_open(&table, BOB, &now));
    assert!(room(&table, ALICE, 10) && !room(&table, BOB, 10), "it counts for whoever has it");
}

#[tokio::test(start_paused = true)]
async fn one_caller_cannot_take_the_room_of_another() {
    let table = table(2);
    let first = open(&table, ALICE, 1);
    let waiting = table.reserve(UsedHandles::new(&table, ALICE), 1, &slots("db")).expect("there is room");
    assert!(!room(&table, Owner { user: Some("carol"), ..ALICE }, 1), "a call on its way counts");
    assert!(room(&table, BOB, 2));
    drop(waiting);
    assert!(room(&table, ALICE, 1), "a call that did not run gives back");
    let mut used = UsedHandles::new(&table, ALICE);
    used.word("db", &first).expect("it is open");
    used.close_since(0);
    table.reserve(used, 0, &slots("db")).expect("closing needs no room").returned(&[], 1);
    assert!(!is_open(&table, ALICE, &first) && room(&table, ALICE, 2));
    assert!(table.lock().accounts.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_was_told_of_is_closed_and_counts_until_then() {
    let table = table(1);
    let ticket = table.reserve(UsedHandles::new(&table, ALICE), 1, &slots("db")).expect("there is room");
    drop(ticket.returned(&result(word(7)), 1));
    assert!(!room(&table, ALICE, 1) && !table.is_holding(1));
    assert_eq!(due(&table), [7]);
}

#[tokio::test(start_paused = true)]
async fn objects_of_another_worker_are_not_believed() {
    let table = table(10);
    let ticket = table.reserve(UsedHandles::new(&table, ALICE), 1, &slots("db")).expect("there is room");
    assert_eq!(ticket.returned(&result(word(1)), 2).text("db", word(1)), None);
}

#[tokio::test(start_paused = true)]
async fn idle_objects_are_closed_parts_first_and_a_used_part_keeps_the_whole() {
    let table = table(10);
    let old = open(&table, ALICE, 1);
    let part = open_from(&table, ALICE, ("db", 2), &[&old]);
    let row = open_from(&table, ALICE, ("row", 3), &[&old]);
    let other = open(&table, BOB, 4);
    tokio::time::advance(IDLE / 2).await;
    assert!(is_open(&table, ALICE, &part));
    tokio::time::advance(IDLE / 2).await;
    assert_eq!(due(&table), [4]);
    assert!(!is_open(&table, BOB, &other) && is_open(&table, ALICE, &row));
    assert_eq!(table.next_due(), table.lock().entries.values().map(|entry| entry.used + IDLE).min());
    tokio::time::advance(IDLE).await;
    assert_eq!(due(&table), [4, 2, 1]);
    assert!(!is_open(&table, ALICE, &row), "it may be a part of what was closed");
}

#[tokio::test(start_paused = true)]
async fn whoever_closes_objects_hears_of_the_first_that_can_be_closed() {
    let table = table(10);
    let woken = || table.wake.notified().now_or_never().is_some();
    open_from(&table, ALICE, ("row", 1), &[]);
    assert!(!woken());
    open(&table, ALICE, 2);
    assert!(woken());
    open(&table, ALICE, 3);
    assert!(!woken(), "it is due later than the first");
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_a_caller_that_has_left_is_released() {
    let table = table(2);
    let (of_alice, of_bob) = (open(&table, ALICE, 1), open(&table, BOB, 2));
    let running = table.reserve(UsedHandles::new(&table, ALICE), 1, &slots("db")).expect("there is room");
    table.callers_left(&NOBODY);
    assert!(is_open(&table, ALICE, &of_alice));
    table.callers_left(&|caller| caller == "alice");
    let again = open(&table, ALICE, 3);
    let late = running.returned(&result(word(4)), 1);
    let text = late.text("db", word(4)).expect("it is given");
    late.claim();
    assert!(!is_open(&table, ALICE, &of_alice) && !is_open(&table, ALICE, &text));
    assert!(is_open(&table, ALICE, &again) && is_open(&table, BOB, &of_bob));
    assert_eq!(due(&table), [4, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_was_opened_in_a_session_that_has_ended_is_released() {
    let table = table(10);
    let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
    let of_one = Owner { session: Some(&one), ..ALICE };
    let of_other = Owner { session: Some(&other), ..ALICE };
    let (ended, part) = (open(&table, of_one, 1), open_from(&table, of_one, ("row", 2), &[]));
    let stays = [open(&table, of_other, 3), open(&table, ALICE, 4), open(&table, of_one, 5)];
    assert_eq!(open(&table, of_other, 5), stays[2], "two sessions have this one");
    let of_bob = open(&table, Owner { session: Some(&one), ..BOB }, 6);
    assert!(is_open(&table, of_other, &ended), "it is the caller's, whatever the session");
    table.session_ended("alice", "one");
    assert!(!is_open(&table, of_one, &ended) && !is_open(&table, ALICE, &part));
    assert!(stays.iter().all(|text| is_open(&table, of_one, text)));
    assert!(is_open(&table, BOB, &of_bob));
    assert_eq!(due(&table), [1]);
    table.remove(HandleId::parse("db", &ended).expect("a handle"));
    assert!(room(&table, ALICE, 6) && !room(&table, ALICE, 7), "what nothing closes counts for its caller");
}

#[tokio::test(start_paused = true)]
async fn whoever_closes_objects_hears_of_an_ended_session_that_had_some() {
    let table = table(10);
    let session: Arc<str> = "one".into();
    open(&table, Owner { session: Some(&session), ..ALICE }, 1);
    let woken = || table.wake.notified().now_or_never().is_some();
    assert!(woken());
    table.session_ended("alice", "other");
    assert!(!woken());
    table.session_ended("alice", "one");
    assert!(woken());
}

#[tokio::test(start_paused = true)]
async fn the_objects_of_a_worker_end_with_it() {
    let table = table(1);
    let text = open(&table, ALICE, 1);
    assert!(table.is_holding(1) && !table.is_holding(2));
    table.worker_gone(1);
    assert!(!is_open(&table, ALICE, &text) && room(&table, ALICE, 1) && !table.is_holding(1));
}
