//! The embedder that asks an endpoint.

use super::RemoteSettings;
use super::endpoint::Endpoint;
use crate::EmbedError;
use crate::batched::{Batches, Purpose, embed_all, embed_one};
use std::fmt;
use std::sync::Arc;
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding, estimated_tokens};
use tidegate_policy::Classification;
use tidegate_store::ModelRecord;
use tidegate_tools::{BoxFuture, Cancel, NeverCancelled};

/// What an endpoint is asked for once, to see how long its vectors are: it says nothing about anybody.
const PROBE: &str = "tide";

/// A remote endpoint with OpenAI's `POST /v1/embeddings`.
///
/// **Whatever it embeds leaves the process.** It is a sink with a [clearance](Embedder::clearance), which the memories
/// check for every text before it is handed over. Redirects are not followed. Errors repeat neither texts nor the key.
pub struct RemoteEmbedder {
    endpoint: Endpoint,
    record: ModelRecord,
    settings: RemoteSettings,
}

impl RemoteEmbedder {
    /// Sets it up. Without a configured dimension the endpoint is asked once, with the word "tide".
    ///
    /// # Errors
    /// [`EmbedError::BadEndpoint`]; [`EmbedError::Remote`] if it has to be asked and does not answer.
    pub async fn open(settings: RemoteSettings) -> Result<Self, EmbedError> {
        let endpoint = Endpoint::new(&settings)?;
        let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
        let dimension = match settings.dimension {
            Some(dimension) => dimension,
            None => {
                let vectors = endpoint.embed(&[PROBE.to_owned()], &never).await?;
                vectors.first().map_or(0, Vec::len)
            }
        };
        if dimension == 0 {
            return Err(EmbedError::BadEndpoint {
                url: tidegate_http::shown(&settings.url),
                problem: "its vectors have no values; is the model one for embeddings?".to_owned(),
            });
        }
        Ok(Self {
            endpoint,
            record: ModelRecord {
                id: format!("openai:{}", settings.model),
                dimension,
                prefixes: settings.prefixes.scheme(),
            },
            settings,
        })
    }
}

impl fmt::Debug for RemoteEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteEmbedder")
            .field("model", &self.record)
            .finish_non_exhaustive()
    }
}

impl Batches for RemoteEmbedder {
    fn record(&self) -> &ModelRecord {
        &self.record
    }

    fn prepared(&self, purpose: Purpose, text: String) -> String {
        let prefix = self.settings.prefixes.before(purpose);
        format!("{prefix}{}", beginning(&text, self.settings.most_tokens))
    }

    fn divided(&self, texts: &[String]) -> Vec<Vec<usize>> {
        let places: Vec<usize> = (0..texts.len()).collect();
        places
            .chunks(self.settings.batch.max(1))
            .map(<[usize]>::to_vec)
            .collect()
    }

    async fn vectors(
        &self,
        texts: Vec<String>,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let vectors = self.endpoint.embed(&texts, cancel).await?;
        let embedding = |dense| Embedding { dense, sparse: None };
        Ok(vectors.into_iter().map(embedding).collect())
    }
}

impl Embedder for RemoteEmbedder {
    fn model(&self) -> &ModelRecord {
        &self.record
    }

    fn clearance(&self) -> Classification {
        self.settings.clearance()
    }

    fn most_tokens(&self) -> usize {
        self.settings.most_tokens.max(1)
    }

    fn count_tokens(&self, text: &str) -> usize {
        estimated_tokens(text)
    }

    fn is_calibrated(&self) -> bool {
        // Servers add an owner before it or a tag behind it.
        self.settings.model.to_ascii_lowercase().contains("bge-m3")
    }

    fn dense_share(&self) -> f32 {
        self.settings.dense_share.clamp(0.0, 1.0)
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(embed_all(self, Purpose::Document, texts, work))
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(embed_one(self, Purpose::Query, text, work))
    }
}

/// As much of the beginning of `text` as is surely within `most` tokens.
fn beginning(text: &str, most: usize) -> &str {
    if estimated_tokens(text) <= most {
        return text;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fits = |end: &usize| {
        text.get(..*end)
            .is_some_and(|beginning| estimated_tokens(beginning) <= most)
    };
    let count = ends.partition_point(fits);
    // Whatever is configured, something is sent.
    let end = count
        .checked_sub(1)
        .or(Some(0))
        .and_then(|last| ends.get(last))
        .copied();
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_within_its_tokens_and_never_in_a_character() {
        for (text, most, expected) in [
            ("two words", 10, "two words"),
            ("one two three", 2, "one two "),
            ("渡船七点", 2, "渡船"),
            ("渡船七点", 0, "渡"),
            ("", 0, ""),
        ] {
            assert_eq!(beginning(text, most), expected, "{text} {most}");
        }
        let long = "the tide turns ".repeat(10_000);
        let cut = beginning(&long, 512);
        assert!(estimated_tokens(cut) <= 512 && cut.len() > 1_500);
    }
}
