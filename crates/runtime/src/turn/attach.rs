//! Files that are attached to a message: judged, and kept to be searched where they are long.

use super::Turn;
use super::output::Refused;
use crate::attachment::{self, Attached, AttachedBody, LongText};
use crate::{AttachmentError, RuntimeError, Session};
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_memory::{EmbedWork, MemoryError, ReadResource, Scope, smart_context};
use tidegate_message::{Author, UserMessage};
use tidegate_prompt::SmartContext;
use tidegate_store::ResourceState;
use tidegate_tools::Cancel;

/// Reads the files of a message, and looks whether the model that gets them takes images.
pub(super) async fn read(session: &Session, files: &[PathBuf]) -> Result<Vec<Attached>, RuntimeError> {
    let workspace = &session.record.session.workspace;
    let attached = attachment::read_all(&session.shared, workspace, files).await?;
    attachment::check_images(&attached, session.without_images())?;
    Ok(attached)
}

impl Turn<'_> {
    /// Judges attached files on their way into the context, and gives them as they may enter.
    pub(super) fn admit_attached(&mut self, files: Vec<Attached>) -> Result<Vec<Attached>, Refused> {
        let mut admitted = Vec::with_capacity(files.len());
        for mut file in files {
            let what = file.what();
            match &mut file.body {
                AttachedBody::Text(text) | AttachedBody::Long(LongText { text, .. }) => {
                    *text = self.admit_text(&what, file.label, text)?;
                }
                AttachedBody::Image(image) => {
                    let message = UserMessage::new(Author::Person, vec![image.clone()]);
                    self.admit(&what, file.label, message)?;
                }
            }
            admitted.push(file);
        }
        Ok(admitted)
    }

    /// Keeps the long texts among admitted files as sources of the session, with the labels of the files, and gives what
    /// stands for them in the context. None if the turn was cancelled meanwhile.
    pub(super) async fn keep_long(
        &self,
        files: Vec<Attached>,
    ) -> Result<Option<Vec<(Attached, Option<SmartContext>)>>, RuntimeError> {
        let mut kept = Vec::with_capacity(files.len());
        for mut file in files {
            let block = match &mut file.body {
                AttachedBody::Text(_) | AttachedBody::Image(_) => None,
                AttachedBody::Long(long) => {
                    let read = ReadResource {
                        filename: file.name.clone(),
                        mime_type: long.media_type.to_owned(),
                        bytes: long.bytes,
                        text: std::mem::take(&mut long.text),
                    };
                    match self.keep(&file, read).await? {
                        None => return Ok(None),
                        block => block,
                    }
                }
            };
            kept.push((file, block));
        }
        Ok(Some(kept))
    }

    async fn keep(&self, file: &Attached, read: ReadResource) -> Result<Option<SmartContext>, RuntimeError> {
        let Some(memory) = &self.session.shared.memory else {
            let path = file.path.clone();
            return Err(AttachmentError::NoMemory { path }.into());
        };
        let scope = Scope {
            label: file.label,
            ..self.scope()
        };
        let cancel: Arc<dyn Cancel> = Arc::new(self.cancel.clone());
        let resource = match memory.ingest_text(&scope, read, EmbedWork::until(cancel)).await {
            Ok(resource) => resource,
            Err(MemoryError::Cancelled) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match &resource.state {
            ResourceState::Failed { why } => Err(AttachmentError::NotKept {
                path: file.path.clone(),
                why: why.clone(),
            }
            .into()),
            _ => Ok(Some(smart_context(&resource))),
        }
    }
}
