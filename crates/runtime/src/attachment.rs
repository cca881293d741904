//! Files that the owner attaches to a message: read whole, and labelled by where they lie and what is recorded of them.
//!
//! What is in them is not the owner's word. A small text rides on the message as recalled memory does, and licenses
//! nothing; a long one is kept as a source of the session, and a block that says how to search it rides in its place; an
//! image is a part of the message.

use crate::open::{canonical_folder, policy_of};
use crate::project_file::recorded_label;
use crate::runtime::{Shared, find};
use crate::{Runtime, RuntimeError, SessionRequest, Which};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use tidegate_core::Routing;
use tidegate_memory::{
    FileText, LARGEST_FILE, MemoryError, READABLE, ResourceKind, WHOLE_PDF, WHOLE_TEXT, file_text,
};
use tidegate_message::{Content, Data, ModelId};
use tidegate_policy::{Integrity, Label, Origin, ToolName};

/// Bytes of an image that goes into the context.
const MOST_IMAGE: u64 = 1 << 20;

/// Files of one message.
const MOST_FILES: usize = 20;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// It cannot be read.
    #[error("cannot attach {path}: it cannot be read")]
    Unreadable {
        /// As it was given.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is a folder, a device, or the like.
    #[error("cannot attach {path}: it is no file; name the files one by one")]
    NoFile {
        /// As it was given.
        path: PathBuf,
    },
    /// It is one of the program's own files.
    #[error("cannot attach {path}: it is one of the program's own files, which no session reads")]
    OwnFile {
        /// As it was given.
        path: PathBuf,
    },
    /// It is an image that is too long for the context.
    #[error("cannot attach {path}: an image may have {MOST_IMAGE} bytes, and it has more; make it smaller")]
    LargeImage {
        /// As it was given.
        path: PathBuf,
    },
    /// It is too long to go into the context whole, and there is no memory to keep it in.
    #[error(
        "cannot attach {path}: texts of {WHOLE_TEXT} bytes and more are kept in memory, to be searched, and memory is \
         switched off\n  possible: [memory] enabled = true, or put it into the workspace, and let the model read the \
         parts it needs"
    )]
    NoMemory {
        /// As it was given.
        path: PathBuf,
    },
    /// There is nothing in it that a model could be shown.
    #[error(
        "cannot attach {path}: {why}\n  possible: images (PNG, JPEG, GIF, WebP) of up to 1 MiB, and files of up to 64 MiB: \
         {READABLE}"
    )]
    UnknownKind {
        /// As it was given.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It is too long for the context, and could not be kept as a source.
    #[error("cannot attach {path}: it could not be kept to be searched: {why}")]
    NotKept {
        /// As it was given.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It is an image, or a PDF of images, and the model that would get it takes none.
    #[error(
        "cannot attach {path}: {model} takes no images ([models.\"{model}\"] images = false); choose another with --model-policy"
    )]
    NoImages {
        /// As it was given.
        path: PathBuf,
        /// The model.
        model: ModelId,
    },
    /// There are too many of them.
    #[error("{count} files are attached to one message; {MOST_FILES} is the most")]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// An attached file.
pub(crate) struct Attached {
    /// As it is told to the model: relative to the workspace if it is in it.
    pub(crate) name: String,
    /// As it was given.
    pub(crate) path: PathBuf,
    pub(crate) label: Label,
    pub(crate) body: AttachedBody,
}

/// What is in it.
pub(crate) enum AttachedBody {
    /// A text that goes into the context whole.
    Text(String),
    /// An image, or a PDF of images: a part of the message.
    Image(Content),
    /// A text that is kept as a source of the session.
    Long(LongText),
}

/// A text that is too long for the context.
pub(crate) struct LongText {
    pub(crate) text: String,
    pub(crate) media_type: &'static str,
    /// How many bytes the file has.
    pub(crate) bytes: u64,
}

impl Runtime {
    /// Looks whether these files can be attached to the first message of the session that is asked for, if it would be a
    /// new one: whoever is told so before makes no session for nothing. Rules and clearances are looked at by the turn,
    /// which records what they say.
    ///
    /// # Errors
    /// [`RuntimeError::Attachment`] for the first that cannot; those of reading the store.
    pub async fn check_attachments(
        &self,
        request: &SessionRequest,
        files: &[PathBuf],
    ) -> Result<(), RuntimeError> {
        let shared = &self.shared;
        let existing = match &request.which {
            _ if files.is_empty() => return Ok(()),
            Which::New | Which::InPlaceOf(_) => None,
            Which::Named(name) => shared.store.session_named(name).await?,
            Which::Existing(given) => Some(find(&*shared.store, given).await?),
        };
        if existing.is_some() {
            return Ok(());
        }
        let workspace = request.workspace.as_deref().unwrap_or_else(|| Path::new("."));
        let attached = read_all(shared, &canonical_folder(workspace)?, files).await?;
        let policy = policy_of(shared, request);
        let tier = Routing::new(&policy).current();
        let first = shared.candidates(&policy, tier).into_iter().next();
        check_images(&attached, first.filter(|model| !shared.takes_images(model)))
    }
}

/// Refuses images where the model that gets them, `without_images`, takes none.
pub(crate) fn check_images(
    attached: &[Attached],
    without_images: Option<ModelId>,
) -> Result<(), RuntimeError> {
    let image = attached
        .iter()
        .find(|file| matches!(file.body, AttachedBody::Image(_)));
    match (image, without_images) {
        (Some(file), Some(model)) => {
            let path = file.path.clone();
            Err(AttachmentError::NoImages { path, model }.into())
        }
        _ => Ok(()),
    }
}

impl Attached {
    /// Where it came from.
    pub(crate) fn origin(&self) -> Origin {
        Origin::Tool {
            tool: ToolName::new("attachment"),
            resources: vec![self.name.clone()],
            source: None,
        }
    }

    /// What the gate is told it is.
    pub(crate) fn what(&self) -> String {
        format!("the attached file {}", self.name)
    }
}

/// Reads the files that are attached to a message of a session in `workspace`.
pub(crate) async fn read_all(
    shared: &Shared,
    workspace: &Path,
    files: &[PathBuf],
) -> Result<Vec<Attached>, RuntimeError> {
    if files.len() > MOST_FILES {
        return Err(AttachmentError::TooMany { count: files.len() }.into());
    }
    let mut attached = Vec::with_capacity(files.len());
    for given in files {
        attached.push(read(shared, workspace, given).await?);
    }
    Ok(attached)
}

async fn read(shared: &Shared, workspace: &Path, given: &Path) -> Result<Attached, RuntimeError> {
    let unreadable = |cause| AttachmentError::Unreadable {
        path: given.to_path_buf(),
        cause,
    };
    // Links are followed: the owner named the file, and what counts is where it really lies.
    let path = given.canonicalize().map_err(unreadable)?;
    if !path.metadata().map_err(unreadable)?.is_file() {
        let path = given.to_path_buf();
        return Err(AttachmentError::NoFile { path }.into());
    }
    let Some(mut label) = recorded_label(shared, workspace, &path).await? else {
        let path = given.to_path_buf();
        return Err(AttachmentError::OwnFile { path }.into());
    };
    // What the owner attached is not what the owner said, whoever wrote the file.
    label.integrity = Integrity::Untrusted;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).map_err(unreadable)?;
    file.take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let body = body(given, bytes).await?;
    if matches!(body, AttachedBody::Long(_)) && shared.memory.is_none() {
        let path = given.to_path_buf();
        return Err(AttachmentError::NoMemory { path }.into());
    }
    let name = path.strip_prefix(workspace).unwrap_or(&path);
    Ok(Attached {
        name: name.display().to_string(),
        path: given.to_path_buf(),
        label,
        body,
    })
}

async fn body(given: &Path, bytes: Vec<u8>) -> Result<AttachedBody, AttachmentError> {
    if let Some(media_type) = image_type(&bytes) {
        if length(&bytes) > MOST_IMAGE {
            let path = given.to_path_buf();
            return Err(AttachmentError::LargeImage { path });
        }
        return Ok(AttachedBody::Image(Content::Image {
            media_type: media_type.to_owned(),
            data: data(&bytes),
        }));
    }
    if bytes.is_empty() {
        return Ok(AttachedBody::Text(String::new()));
    }
    let name = given.file_name().unwrap_or(given.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let bytes_in_it = length(&bytes);
    let kind = ResourceKind::of_file(&name, &bytes);
    // A PDF of pictures is shown as it is, where it is small enough.
    let as_it_is = (kind == ResourceKind::Pdf && bytes_in_it < WHOLE_PDF).then(|| data(&bytes));
    let media_type = kind.media_type(&name);
    match (file_text(name.clone(), bytes).await, as_it_is) {
        (Ok(FileText { text, .. }), _) if length(text.as_bytes()) < WHOLE_TEXT => {
            Ok(AttachedBody::Text(text))
        }
        (Ok(FileText { text, .. }), _) => Ok(AttachedBody::Long(LongText {
            text,
            media_type,
            bytes: bytes_in_it,
        })),
        (Err(MemoryError::NoText { .. }), Some(data)) => Ok(AttachedBody::Image(Content::File {
            name,
            media_type: media_type.to_owned(),
            data,
        })),
        (Err(error), _) => {
            let path = given.to_path_buf();
            let why = match error {
                MemoryError::UnreadableFile { why, .. } => why,
                error => error.to_string(),
            };
            Err(AttachmentError::UnknownKind { path, why })
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn data(bytes: &[u8]) -> Data {
    Data::from_base64(base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        bytes,
    ))
}

/// The media type of an image, by its first bytes (the signatures of the formats' specifications).
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn kind(name: &str, bytes: Vec<u8>) -> String {
        match body(Path::new(name), bytes).await {
            Ok(AttachedBody::Text(text)) => format!("text of {}", text.len()),
            Ok(AttachedBody::Image(Content::Image { media_type, .. })) => media_type,
            Ok(AttachedBody::Image(_)) => "no image".into(),
            Ok(AttachedBody::Long(long)) => format!("{} to be kept: {}", long.media_type, long.text.len()),
            Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    #[tokio::test]
    async fn files_are_told_apart_by_their_names_and_bytes_and_have_a_length() {
        let text = |count: usize| "é".repeat(count / 2).into_bytes();
        let image = |length: usize| {
            let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
            bytes.resize(length, 0);
            bytes
        };
        let unknown = "cannot attach f: there is no reader for files of this type; give its text instead";
        for (name, bytes, expected) in [
            ("f", b"".to_vec(), "text of 0"),
            ("f", "\u{feff}a".into(), "text of 1"),
            ("f", text((32 << 10) - 2), "text of 32766"),
            ("f", text(32 << 10), "text/plain to be kept: 32768"),
            ("f.md", text(2 << 20), "text/markdown to be kept: 2097152"),
            ("f", b"a\0b".to_vec(), unknown),
            ("f", b"\x7fELF\xff".to_vec(), unknown),
            ("f", image(1 << 20), "image/png"),
            (
                "f",
                image((1 << 20) + 1),
                "cannot attach f: an image may have 1048576 bytes, and it has more; make it smaller",
            ),
            ("f", b"\xff\xd8\xff\xe0".to_vec(), "image/jpeg"),
            ("f", b"GIF89a".to_vec(), "image/gif"),
            ("f", b"RIFF\0\0\0\0WEBPVP8 ".to_vec(), "image/webp"),
            (
                "f.doc",
                b"old".to_vec(),
                "cannot attach f.doc: files of Word and PowerPoint from before 2007 cannot be read; save it as docx, \
                 pptx or PDF",
            ),
        ] {
            assert_eq!(kind(name, bytes).await, expected);
        }
        let torn = kind("f", b"%PDF-1.7\n\xff".to_vec()).await;
        assert!(
            torn.starts_with("cannot attach f: it cannot be read as PDF; it may be damaged"),
            "{torn}"
        );
    }
}
