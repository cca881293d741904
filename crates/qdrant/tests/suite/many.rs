//! Sixteen writers at once.

use crate::common::*;
use crate::peer::Peer;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_memory::{Memory, MemoryError, VectorIndex};
use tidegate_qdrant::EmbeddedIndex;
use tidegate_store::{MemoryRecords, Records};

/// Writes until nobody was faster.
async fn write(memory: Memory, name: String, text: String) {
    loop {
        match memory.remember(&ada(), named(&name, &text), &never()).await {
            Ok(_) => return,
            Err(MemoryError::Contended { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn sixteen(index: Arc<dyn VectorIndex>) {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = dense(&records, Arc::clone(&index)).await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..16 {
        writers.spawn(write(
            memory.clone(),
            "one".to_owned(),
            format!("tide of writer {number}"),
        ));
        writers.spawn(write(
            memory.clone(),
            format!("m{number}"),
            format!("harbour tide number {number}"),
        ));
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let found = all(&memory).await;
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert_eq!((found.len(), distinct.len()), (17, 17), "{found:?}");
    let of_one = found
        .iter()
        .filter(|fact| fact.starts_with("tide of writer"))
        .count();
    assert_eq!(of_one, 1, "one of the sixteen is the last");
    for number in 0..16 {
        assert!(found.contains(&format!("harbour tide number {number}")));
    }
    assert_eq!(counts(&*index).await, (17, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_writers_on_one_id_and_on_sixteen_with_the_embedded_index() {
    let folder = tempfile::tempdir().unwrap();
    sixteen(Arc::new(EmbeddedIndex::open(folder.path()).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_writers_on_one_id_and_on_sixteen_with_a_server() {
    let peer = Peer::new();
    sixteen(Arc::new(peer.index())).await;
}
