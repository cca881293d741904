//! Models: which one belongs to the records, and how another comes in.

use crate::common::*;
use std::sync::Arc;
use tidegate_memory::{Embedder, EmbedWork, HashedEmbedder, Memory, MemoryError, Passages, reembed};
use tidegate_store::{MemoryRecords, ModelRecord, RecordWrite, Records};

#[tokio::test]
async fn another_model_of_the_same_size_or_with_other_prefixes_is_refused_also_over_empty_records() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    over(&records).open().await.unwrap();
    let hashed = HashedEmbedder::new().model().clone();
    for other in [
        ModelRecord { id: "other".to_owned(), ..hashed.clone() },
        ModelRecord { prefixes: "query: ".to_owned(), ..hashed.clone() },
        ModelRecord { dimension: 384, ..hashed.clone() },
    ] {
        records.write(vec![RecordWrite::SetModel(other.clone())]).await.unwrap();
        let before = records.statistics().await.unwrap();
        let error = over(&records).open().await.unwrap_err();
        assert!(matches!(&error, MemoryError::OtherModel { stored, .. } if **stored == other));
        let told = error.to_string();
        assert!(told.contains("configure") && told.contains("tidegate memory reembed"), "two ways out: {told}");
        assert_eq!(records.statistics().await.unwrap(), before, "nothing was changed");
    }
}

#[tokio::test]
async fn embedding_anew_keeps_everything_and_goes_on_where_it_was() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records).open().await.unwrap();
    for number in 0..100 {
        remember(&memory, &ada(), named(&format!("m{number}"), &format!("fact {number} about tides"))).await;
    }
    let text = Passages::Text("The ferry leaves at seven. ".repeat(100));
    memory.save_session_context(&ada(), &"s".into(), text, EmbedWork::default()).await.unwrap();
    let told: Arc<dyn Embedder> = Arc::new(Told::new(false));

    // Cancelled in the middle: the old model is still in use, and nothing is lost.
    let stop = Arc::new(StopAfter::new(2));
    let cancel: Arc<dyn tidegate_tools::Cancel> = Arc::clone(&stop) as _;
    assert!(matches!(reembed(&records, &told, &cancel, |_, _| {}).await, Err(MemoryError::Cancelled)));
    assert_eq!(over(&records).open().await.unwrap().statistics().await.unwrap().memories, 100);

    let all = records.statistics().await.unwrap();
    let done = reembed(&records, &told, &never(), |_, _| {}).await.unwrap();
    assert!(done < all.memories + all.chunks, "what was done before is not done again: {done}");
    assert_eq!(records.model().await.unwrap().as_ref(), Some(told.model()));
    assert!(over(&records).open().await.is_err());
    let memory = Memory::builder(Arc::clone(&records), told).open().await.unwrap();
    assert_eq!(memory.statistics().await.unwrap().memories, 100);
    assert!(!recall(&memory, &ada(), "tides").await.hits.is_empty());
    let query = tidegate_store::MemoryQuery { vectors: true, ..Default::default() };
    let all = records.memories(query).await.unwrap();
    assert!(all.iter().all(|memory| &*memory.vectors.as_ref().unwrap().model == "told"));
}

/// Says stop when it was asked so often.
struct StopAfter(std::sync::atomic::AtomicUsize);

impl StopAfter {
    fn new(times: usize) -> Self {
        Self(std::sync::atomic::AtomicUsize::new(times))
    }
}

impl tidegate_tools::Cancel for StopAfter {
    fn is_cancelled(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }

    fn cancelled(&self) -> tidegate_tools::BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn vectors_that_are_none_are_refused_and_nothing_is_written() {
    for bad in [vec![f32::NAN, 0.0, 1.0], vec![f32::INFINITY, 0.0, 0.0], vec![0.0; 3], vec![1.0; 2]] {
        let memory = with(Told::new(false).vector("bad", bad.clone())).open().await.unwrap();
        let error = memory.remember(&ada(), fact("bad"), &never()).await.unwrap_err();
        assert!(matches!(error, MemoryError::Embedder(tidegate_memory::EmbedderError::BadVector { .. })), "{bad:?}: {error}");
        let text = Passages::Text("bad".to_owned());
        assert!(memory.save_session_context(&ada(), &"s".into(), text, EmbedWork::default()).await.is_err());
        assert_eq!(memory.statistics().await.unwrap().memories, 0);
        assert_eq!(memory.statistics().await.unwrap().chunks, 0);
    }
}
