//! The suite, and what its parts share.

use super::{approvals, content, events, prompts, sessions};
use futures::future::BoxFuture;
use std::sync::Arc;
use tidegate_store::{Committed, Store, StoreError, Write};

/// Makes a new, empty store.
pub(super) type Make<'a> = &'a (dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync);

/// Checks a store against the contract of [`Store`]:
///
/// - a commit happens whole or not at all; what is read afterwards is what was written, byte for byte;
/// - a taint never falls, also not within a commit, and an acknowledged level only rises;
/// - entries follow one another from 1; events of a session are numbered from 1 without a gap, and their
///   positions grow over all sessions;
/// - a turn counts once; names and ids are taken once, and names move;
/// - a call that has its result is not started again; starts are counted;
/// - a text does not change once it is kept; a checkpoint and a file's label are replaced;
/// - a grant is used at most once, also by many at the same time;
/// - an erased session keeps its row and its events, and none of its content;
/// - a note is taken once, in one commit with what carries it; segments name stored entries alone; messages are found by
///   their words in any script, compacted or not;
/// - what is not there reads as nothing, and writing to it is refused;
/// - many tasks may write at once, and nothing is lost.
///
/// `make` gives a new store each time it is called. The suite wants a tokio runtime; the store need not.
///
/// # Panics
/// If it breaks a rule.
pub async fn store(make: Make<'_>) {
    sessions::come_back_as_they_were_created(make).await;
    sessions::names_and_ids_are_taken_once(make).await;
    sessions::what_is_not_there_reads_as_nothing(make).await;
    sessions::writes_to_what_is_not_there_are_refused(make).await;
    sessions::patches_change_what_they_name(make).await;
    sessions::taints_never_fall(make).await;
    sessions::turns_count_once(make).await;
    sessions::names_move(make).await;
    sessions::erasing_leaves_a_tombstone(make).await;
    content::commits_happen_whole_or_not_at_all(make).await;
    content::entries_follow_one_another(make).await;
    content::checkpoints_are_replaced(make).await;
    content::calls_are_journalled(make).await;
    content::texts_do_not_change(make).await;
    content::file_labels_are_replaced(make).await;
    content::file_labels_are_found_by_range_and_label(make).await;
    content::what_may_be_writing_is_kept_until_it_is_settled(make).await;
    prompts::notes_are_taken_once(make).await;
    prompts::segments_follow_one_another(make).await;
    prompts::rests_are_replaced(make).await;
    prompts::what_leaves_no_entry_is_counted(make).await;
    prompts::messages_are_found_by_their_words(make).await;
    events::are_numbered_without_a_gap(make).await;
    events::are_found_by_filter(make).await;
    events::many_writers_lose_nothing(make).await;
    approvals::lead_where_they_should(make).await;
    approvals::are_used_at_most_once(make).await;
}

pub(super) async fn commit(store: &dyn Store, writes: Vec<Write>) -> Committed {
    let shown = format!("{writes:?}");
    match store.commit(writes).await {
        Ok(committed) => committed,
        Err(error) => panic!("these writes are in order: {error}: {shown}"),
    }
}

pub(super) async fn refused(store: &dyn Store, writes: Vec<Write>) -> StoreError {
    let shown = format!("{writes:?}");
    match store.commit(writes).await {
        Ok(_) => panic!("these writes are refused: {shown}"),
        Err(error) => error,
    }
}

/// What a read gives.
pub(super) fn read<T>(read: Result<T, StoreError>) -> T {
    read.unwrap_or_else(|error| panic!("what was written can be read: {error}"))
}
