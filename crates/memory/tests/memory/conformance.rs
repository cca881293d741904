//! The suites, on what is here.

use tidegate_memory::{ExactIndex, HashedEmbedder};
use tidegate_testing::conformance;

#[tokio::test]
async fn the_hashed_embedder_keeps_the_contract() {
    conformance::embedder(&HashedEmbedder::new()).await;
}

#[tokio::test]
async fn the_exact_index_keeps_the_contract() {
    conformance::vector_index(async || ExactIndex::new()).await;
}

#[test]
fn without_an_async_runtime_both_work_too() {
    futures::executor::block_on(async {
        use tidegate_memory::{EmbedWork, Embedder};
        let texts = vec!["a tide".to_owned()];
        let embedded = HashedEmbedder::new().embed_documents(texts, EmbedWork::default()).await;
        assert_eq!(embedded.unwrap().len(), 1);
    });
}
