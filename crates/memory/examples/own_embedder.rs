//! An embedder of one's own: it counts letters. `conformance::embedder` checks it against the contract.

use std::sync::Arc;
use tidegate_memory::{
    EmbedWork, Embedder, EmbedderError, Embedding, Memory, MemorySearch, NewMemory, Scope, estimated_tokens,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{MemoryRecords, ModelRecord};
use tidegate_testing::conformance;
use tidegate_tools::{BoxFuture, NeverCancelled};

struct Letters(ModelRecord);

impl Letters {
    fn embed(text: &str, index: usize) -> Result<Embedding, EmbedderError> {
        if text.trim().is_empty() {
            return Err(EmbedderError::EmptyText { index });
        }
        let mut dense = vec![0.01; 27];
        for letter in text.to_lowercase().chars() {
            // Whatever is no letter from a to z counts as one more.
            let place = u32::from(letter).checked_sub(u32::from('a')).unwrap_or(26).min(26);
            if let Some(count) = dense.get_mut(place as usize) {
                *count += 1.0;
            }
        }
        Ok(Embedding { dense, sparse: None })
    }
}

impl Embedder for Letters {
    fn model(&self) -> &ModelRecord {
        &self.0
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        512
    }

    fn count_tokens(&self, text: &str) -> usize {
        estimated_tokens(text)
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(async move {
            let mut embeddings = Vec::new();
            for (index, text) in texts.iter().enumerate() {
                if work.cancel.is_cancelled() {
                    return Err(EmbedderError::Cancelled);
                }
                embeddings.push(Self::embed(text, index)?);
                (work.progress)(index + 1);
            }
            Ok(embeddings)
        })
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(async move {
            if work.cancel.is_cancelled() {
                return Err(EmbedderError::Cancelled);
            }
            Self::embed(&text, 0)
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let letters = Letters(ModelRecord {
        id: "letters-1".to_owned(),
        dimension: 27,
        prefixes: String::new(),
    });
    conformance::embedder(&letters).await;

    let memory = Memory::builder(Arc::new(MemoryRecords::new()), Arc::new(letters)).open().await?;
    let ada = Scope {
        user: "ada".into(),
        chat: "s_1".into(),
        label: Label::BOTTOM,
        clearance: Classification::Public,
    };
    let fact = NewMemory::new("likes", "Ada likes zigzag jazz.");
    memory.remember(&ada, fact, &(Arc::new(NeverCancelled) as _)).await?;
    let found = memory.recall(&ada, MemorySearch::new("zzz")).await?;
    println!("{} fact with many z", found.hits.len());
    Ok(())
}
