//! Taking a file in.

use super::document::text_of;
use super::kind::{ResourceKind, Way};
use super::native_id::native_id;
use crate::{EmbedWork, Memory, MemoryError, Passages, Scope};
use std::sync::Arc;
use tidegate_store::{RecordWrite, RecordsCommit, ResourceRecord, ResourceState, SourceKey, SourceQuery};

/// How many ids are tried: as many files of one conversation in one second.
const ATTEMPTS: i64 = 1_000;

/// Why nothing comes of a file in which nothing is written.
const NO_TEXT: &str = "there is no text in it; pictures of text would have to be recognised first";

/// Why nothing comes of a file whose reader fails.
pub(super) const READER_FAILED: &str = "the file is damaged, or made so that its reader fails";

/// A file whose text was read already ([`file_text`](crate::file_text)) and is longer than a context should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadResource {
    /// Its name.
    pub filename: String,
    /// Its media type; perhaps empty.
    pub mime_type: String,
    /// How many bytes the file has.
    pub bytes: u64,
    /// Its text.
    pub text: String,
}

/// A file that is given to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewResource {
    /// Its name.
    pub filename: String,
    /// Its media type; empty if nobody knows, then the end of the name tells.
    pub mime_type: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// A file that was taken in.
#[derive(Clone, Debug, PartialEq)]
pub struct Ingested {
    /// Its row in the registry. Its source is the native id.
    pub resource: ResourceRecord,
    /// With [`ResourceState::PutInContext`]: the text that goes into the context; none if the file goes there as it is.
    pub text: Option<String>,
}

impl Memory {
    /// Takes a file into the scope's conversation, with the scope's label: it is registered, and then put into the
    /// context, or cut into chunks and summed up, or failed with the reason. A file that cannot be read is no error.
    ///
    /// Text or JSON below 32 KiB, images, audio and PDF below 1 MiB go into the context; Office files do if their text is
    /// below 32 KiB. What is larger is cut into chunks and summed up by the auxiliary model at constant cost; without
    /// one that may see it, it is cut alone.
    ///
    /// # Errors
    /// [`MemoryError::Empty`] for a file without a name; [`MemoryError::Cancelled`], the file being registered as failed
    /// then; those of the records.
    pub async fn ingest(
        &self,
        scope: &Scope,
        new: NewResource,
        work: EmbedWork,
    ) -> Result<Ingested, MemoryError> {
        if new.filename.trim().is_empty() {
            return Err(MemoryError::Empty { what: "filename" });
        }
        let kind = ResourceKind::of(&new.mime_type, &new.filename);
        let way = kind.way(new.bytes.len() as u64);
        let length = new.bytes.len() as u64;
        let mut resource = self
            .registered(scope, &new.filename, &new.mime_type, length)
            .await?;
        let text = match way {
            Way::Refused(why) => return self.failed(resource, why.to_owned()).await,
            Way::Whole => {
                self.enter(&mut resource, ResourceState::PutInContext).await?;
                return Ok(Ingested { resource, text: None });
            }
            Way::AsText | Way::Chunks | Way::ByItsText => {
                let read = crate::off_thread(move || text_of(kind, &new.filename, &new.bytes)).await;
                match read {
                    Ok(Ok(text)) => text,
                    Ok(Err(unreadable)) => return self.failed(resource, unreadable.told()).await,
                    Err(_) => {
                        return self.failed(resource, READER_FAILED.to_owned()).await;
                    }
                }
            }
        };
        if text.trim().is_empty() {
            return self.failed(resource, NO_TEXT.to_owned()).await;
        }
        let way = match way {
            Way::ByItsText => ResourceKind::way_of_text(text.len() as u64),
            way => way,
        };
        if way == Way::AsText {
            self.enter(&mut resource, ResourceState::PutInContext).await?;
            return Ok(Ingested {
                resource,
                text: Some(text),
            });
        }
        let resource = self.cut(scope, resource, text, work).await?;
        Ok(Ingested { resource, text: None })
    }

    /// Takes a file into the scope's conversation whose text was read already, as [`ingest`](Self::ingest) does with one
    /// that is too long for the context: it is registered, cut into chunks and summed up, or failed with the reason.
    ///
    /// # Errors
    /// As there.
    pub async fn ingest_text(
        &self,
        scope: &Scope,
        read: ReadResource,
        work: EmbedWork,
    ) -> Result<ResourceRecord, MemoryError> {
        if read.filename.trim().is_empty() {
            return Err(MemoryError::Empty { what: "filename" });
        }
        let resource = self
            .registered(scope, &read.filename, &read.mime_type, read.bytes)
            .await?;
        self.cut(scope, resource, read.text, work).await
    }

    /// Cuts the text of a resource into chunks, and sums it up where a model may see it.
    async fn cut(
        &self,
        scope: &Scope,
        mut resource: ResourceRecord,
        text: String,
        work: EmbedWork,
    ) -> Result<ResourceRecord, MemoryError> {
        let cancel = Arc::clone(&work.cancel);
        let saved = self
            .save_session_context(scope, &resource.key.source, Passages::Text(text), work)
            .await;
        match saved {
            Ok(_) => {}
            Err(error @ (MemoryError::Cancelled | MemoryError::Records(_))) => {
                if matches!(error, MemoryError::Cancelled) {
                    self.failed(resource, "it was cancelled".to_owned()).await?;
                }
                return Err(error);
            }
            Err(error) => return Ok(self.failed(resource, crate::error::told(&error)).await?.resource),
        }
        self.enter(&mut resource, ResourceState::Indexed).await?;
        if let Some(summary) = self.sum_up(scope, &resource.key, &cancel).await? {
            resource.summary = Some(summary);
            self.enter(&mut resource, ResourceState::VectorizedSumUp).await?;
        }
        Ok(resource)
    }

    /// Marks resources that came before `before_ms` and are still pending, as after a crash: those whose chunks are there
    /// are indexed, the others failed. For the start of a program, and for a daily job. Gives how many there were.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn settle_abandoned(&self, before_ms: i64) -> Result<usize, MemoryError> {
        let all = self.inner.records.resources(SourceQuery::default()).await?;
        let mut count = 0;
        for mut resource in all {
            if resource.state != ResourceState::PendingIngestion || resource.changed_ms >= before_ms {
                continue;
            }
            count += 1;
            let state = if self.source(&resource.key).await?.is_some() {
                ResourceState::Indexed
            } else {
                ResourceState::Failed {
                    why: "the program ended before it was read; give it again".to_owned(),
                }
            };
            self.enter(&mut resource, state).await?;
        }
        Ok(count)
    }

    /// The row, pending, under an id that nobody else has.
    async fn registered(
        &self,
        scope: &Scope,
        filename: &str,
        mime_type: &str,
        bytes: u64,
    ) -> Result<ResourceRecord, MemoryError> {
        let now_ms = self.now_ms();
        let mut resource = ResourceRecord {
            key: SourceKey {
                user: scope.user.clone(),
                chat: Arc::clone(&scope.chat),
                source: "".into(),
                label: scope.label,
            },
            filename: filename.trim().to_owned(),
            mime_type: mime_type.trim().to_owned(),
            bytes,
            state: ResourceState::PendingIngestion,
            summary: None,
            created_ms: now_ms,
            changed_ms: now_ms,
        };
        for later in 0..ATTEMPTS {
            // Of several files of one second each has the next second that is free.
            let seconds = now_ms.div_euclid(1_000).saturating_add(later);
            resource.key.source = native_id(&scope.user, &scope.chat, scope.label, seconds);
            let add = RecordWrite::AddResource(Box::new(resource.clone()));
            if let RecordsCommit::Done { counts, .. } = self.commit(vec![add]).await?
                && counts.first() == Some(&1)
            {
                return Ok(resource);
            }
        }
        Err(MemoryError::TooManyResources { attempts: ATTEMPTS })
    }

    async fn enter(&self, resource: &mut ResourceRecord, state: ResourceState) -> Result<(), MemoryError> {
        resource.state = state;
        resource.changed_ms = self.now_ms();
        self.commit(vec![RecordWrite::PutResource(Box::new(resource.clone()))])
            .await?;
        Ok(())
    }

    async fn failed(&self, mut resource: ResourceRecord, why: String) -> Result<Ingested, MemoryError> {
        self.enter(&mut resource, ResourceState::Failed { why }).await?;
        Ok(Ingested { resource, text: None })
    }
}
