//! The handle.

use crate::index::{Follower, IndexTrouble, VectorIndex, with_words};
use crate::{
    Auxiliary, EmbedWork, Embedder, EmbedderError, Embedding, MemoryError, MemorySettings, check_embeddings,
};
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tidegate_policy::{Caller, Classification, Flow, Gate, Label, ModelFlow, SessionFacts, Taint};
use tidegate_store::{RecordWrite, Records, RecordsCommit, RecordsStatistics, Vectors};
use tidegate_tools::{Cancel, NeverCancelled};

pub(crate) type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Both memories over their records. Clones share everything.
#[derive(Clone)]
pub struct Memory {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) records: Arc<dyn Records>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) follower: Follower,
    pub(crate) auxiliary: Option<Arc<dyn Auxiliary>>,
    pub(crate) settings: MemorySettings,
    clock: Clock,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("model", &self.inner.embedder.model().id)
            .field("index", &self.inner.follower.index_name())
            .finish_non_exhaustive()
    }
}

/// Puts a [`Memory`] together.
pub struct MemoryBuilder {
    records: Arc<dyn Records>,
    embedder: Arc<dyn Embedder>,
    index: Option<Arc<dyn VectorIndex>>,
    auxiliary: Option<Arc<dyn Auxiliary>>,
    settings: MemorySettings,
    clock: Clock,
}

impl MemoryBuilder {
    /// An index of vectors. Default: everything is searched exactly, which is good up to about 20,000 items.
    #[must_use]
    pub fn index(mut self, index: Arc<dyn VectorIndex>) -> Self {
        self.index = Some(index);
        self
    }

    /// A model that names and merges memories. Default: none; names are made of the words, and nothing is merged.
    #[must_use]
    pub fn auxiliary(mut self, auxiliary: Arc<dyn Auxiliary>) -> Self {
        self.auxiliary = Some(auxiliary);
        self
    }

    /// Settings. Default: [`MemorySettings::default`].
    #[must_use]
    pub fn settings(mut self, settings: MemorySettings) -> Self {
        self.settings = settings;
        self
    }

    /// Where the time comes from, in milliseconds since 1970 (UTC). Default: the system.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Opens it: the model is that of the records, or they take it on; the index is caught up.
    ///
    /// # Errors
    /// [`MemoryError::OtherModel`] if the records belong to another model, also if they are empty; nothing was
    /// changed then. Those of the records. An index that is away is none.
    pub async fn open(self) -> Result<Memory, MemoryError> {
        let given = self.embedder.model().clone();
        match self.records.model().await? {
            Some(stored) if stored != given => {
                return Err(MemoryError::OtherModel {
                    stored: Box::new(stored),
                    given: Box::new(given),
                });
            }
            Some(_) => {}
            None => {
                self.records
                    .write(vec![RecordWrite::SetModel(given.clone())])
                    .await?;
            }
        }
        let follower = Follower::new(Arc::clone(&self.records), self.index, given);
        follower.catch_up().await?;
        Ok(Memory {
            inner: Arc::new(Inner {
                records: self.records,
                embedder: self.embedder,
                follower,
                auxiliary: self.auxiliary,
                settings: self.settings,
                clock: self.clock,
            }),
        })
    }
}

impl Memory {
    /// Over these records with this embedder.
    pub fn builder(records: Arc<dyn Records>, embedder: Arc<dyn Embedder>) -> MemoryBuilder {
        MemoryBuilder {
            records,
            embedder,
            index: None,
            auxiliary: None,
            settings: MemorySettings::default(),
            clock: Arc::new(system_now_ms),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &MemorySettings {
        &self.inner.settings
    }

    /// The embedder.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.inner.embedder
    }

    /// The name of the index, and whether it is there and has everything. Where it is not, searches are exact.
    pub fn index(&self) -> (&str, bool) {
        (self.inner.follower.index_name(), self.inner.follower.is_in_step())
    }

    /// Why the index is not used; none if it is, or everything is searched exactly.
    pub fn index_trouble(&self) -> Option<IndexTrouble> {
        self.inner.follower.trouble()
    }

    /// How much there is, of all users and labels. For the owner alone.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn statistics(&self) -> Result<RecordsStatistics, MemoryError> {
        Ok(self.inner.records.statistics().await?)
    }

    /// Empties the index and fills it from the records.
    ///
    /// # Errors
    /// Those of records and index.
    pub async fn reindex(&self) -> Result<(), MemoryError> {
        self.inner.follower.rebuild().await
    }

    /// Makes durable what the index got; the records are always durable.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn flush(&self) -> Result<(), MemoryError> {
        self.inner.follower.flush().await
    }

    pub(crate) fn now_ms(&self) -> i64 {
        (self.inner.clock)()
    }

    /// Commits and makes it searchable.
    pub(crate) async fn commit(&self, writes: Vec<RecordWrite>) -> Result<RecordsCommit, MemoryError> {
        let count = writes.len();
        let records = &self.inner.records;
        let writes = if records.keeps_words() {
            with_words(writes)
        } else {
            writes
        };
        let mut done = records.write(writes).await?;
        if let RecordsCommit::Done { counts, .. } = &mut done {
            counts.truncate(count);
        }
        self.inner.follower.catch_up().await?;
        Ok(done)
    }

    /// Vectors of a text that is stored; none if the embedder may not see it.
    pub(crate) async fn vectors_of(
        &self,
        text: &str,
        label: Label,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Option<Vectors>, MemoryError> {
        let mut vectors = self
            .vectors_of_all(vec![text.to_owned()], label, EmbedWork::until(Arc::clone(cancel)))
            .await?;
        Ok(vectors.pop().flatten())
    }

    /// Vectors of texts that are stored; none for all if the embedder may not see them.
    pub(crate) async fn vectors_of_all(
        &self,
        texts: Vec<String>,
        label: Label,
        work: EmbedWork,
    ) -> Result<Vec<Option<Vectors>>, EmbedderError> {
        let embedder = &self.inner.embedder;
        if !may_flow(label, &embedder.model().id, embedder.clearance()) {
            return Ok(vec![None; texts.len()]);
        }
        let count = texts.len();
        let embeddings = embedder.embed_documents(texts, work).await?;
        check_embeddings(embedder.model(), count, &embeddings)?;
        let model: Arc<str> = embedder.model().id.as_str().into();
        Ok(embeddings
            .into_iter()
            .map(|Embedding { dense, sparse }| {
                Some(Vectors {
                    model: Arc::clone(&model),
                    dense: dense.into(),
                    sparse: sparse.map(Arc::new),
                })
            })
            .collect())
    }

    /// The embedding of a query; none if the embedder may not see it, or cannot be asked: words still find.
    pub(crate) async fn query_embedding(
        &self,
        text: &str,
        label: Label,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Result<Embedding, WordsAlone>, MemoryError> {
        let embedder = &self.inner.embedder;
        if !self.inner.settings.mode.has_vectors() {
            return Ok(Err(WordsAlone::Wanted));
        }
        let clearance = embedder.clearance();
        if !may_flow(label, &embedder.model().id, clearance) {
            return Ok(Err(WordsAlone::NotCleared));
        }
        let embedded = embedder
            .embed_query(text.to_owned(), EmbedWork::until(Arc::clone(cancel)))
            .await;
        match embedded {
            Ok(embedding) => {
                check_embeddings(embedder.model(), 1, std::slice::from_ref(&embedding))?;
                Ok(Ok(embedding))
            }
            Err(EmbedderError::Failed { model, cause, .. }) => {
                tracing::warn!(model, %cause, "the query cannot be embedded; it is searched for by its words alone");
                Ok(Err(WordsAlone::EmbedderFailed))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Why a search was by words alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsAlone {
    /// So it was set, or asked for.
    Wanted,
    /// The query may not flow to the embedder.
    NotCleared,
    /// The embedder failed.
    EmbedderFailed,
}

/// Whether the gate lets a text of this label go to a model of this clearance.
pub(crate) fn may_flow(label: Label, model: &str, clearance: Classification) -> bool {
    let flow = ModelFlow { model, clearance };
    let facts = SessionFacts {
        taint: &Taint::new(label),
        clearance: Classification::Restricted,
        bumper: None,
        caller: Caller::default(),
    };
    Gate::default().judge(Flow::Model(&flow), facts).is_allowed()
}

/// Nothing cancels it.
pub(crate) fn never() -> Arc<dyn Cancel> {
    Arc::new(NeverCancelled)
}

fn system_now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
