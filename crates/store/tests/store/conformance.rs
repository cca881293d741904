//! The suite that every store has to pass.

use crate::common::*;
use std::sync::Arc;
use tidegate_store::{MemoryStore, Store};
use tidegate_testing::conformance;

#[tokio::test]
async fn a_store_in_a_file_keeps_the_contract() {
    let folders = std::sync::Mutex::new(Vec::new());
    conformance::store(&|| {
        let (folder, path) = place();
        folders.lock().unwrap().push(folder);
        Box::pin(async move { Arc::new(open(&path)) as Arc<dyn Store> })
    })
    .await;
}

#[tokio::test]
async fn a_store_in_memory_keeps_the_contract() {
    conformance::store(&|| Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> })).await;
}
