//! The suite of the contract, on all three indexes.

use crate::peer::Peer;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_memory::ExactIndex;
use tidegate_qdrant::{EmbeddedIndex, ServerIndex, ServerSettings};
use tidegate_testing::conformance;

#[tokio::test]
async fn the_exact_index_keeps_the_contract() {
    conformance::vector_index(async || ExactIndex::new()).await;
}

#[tokio::test]
async fn the_embedded_index_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let made = AtomicUsize::new(0);
    conformance::vector_index(async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        EmbeddedIndex::open(folder.path().join(format!("a folder/{number}"))).unwrap()
    })
    .await;
}

#[tokio::test]
async fn the_server_index_keeps_the_contract() {
    let peer = Peer::new();
    let made = AtomicUsize::new(0);
    conformance::vector_index(async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        let settings = ServerSettings {
            prefix: format!("t{number}_"),
            ..peer.settings()
        };
        ServerIndex::connect(settings).unwrap()
    })
    .await;
}
