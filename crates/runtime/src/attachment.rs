//! Files that the owner attaches to a message: read whole, and labelled by where they lie and what is recorded of them.
//!
//! What is in them is not the owner's word. The text rides on the message as recalled memory does, and licenses nothing; an
//! image is a part of the message.

use crate::RuntimeError;
use crate::project_file::recorded_label;
use crate::runtime::Shared;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use tidegate_message::{Content, Data};
use tidegate_policy::{Integrity, Label, Origin, ToolName};

/// Bytes of a text that goes into the context whole (the ingestion rules of the memory).
pub(crate) const MOST_TEXT: u64 = 32 << 10;

/// Bytes of an image that does.
pub(crate) const MOST_IMAGE: u64 = 1 << 20;

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
    /// It is too long to go into the context whole.
    #[error(
        "cannot attach {path}: {what} may have {most} bytes, and it has more\n  possible: put it into the workspace, and let the model read the parts it needs"
    )]
    TooLong {
        /// As it was given.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// How many bytes it may have.
        most: u64,
    },
    /// It is neither text nor a known image.
    #[error("cannot attach {path}: it is neither UTF-8 text nor an image (PNG, JPEG, GIF, WebP)")]
    UnknownKind {
        /// As it was given.
        path: PathBuf,
    },
    /// It is an image, and the model that would get it takes none.
    #[error(
        "cannot attach {path}: {model} takes no images ([models.\"{model}\"] images = false); choose another with --model-policy"
    )]
    NoImages {
        /// As it was given.
        path: PathBuf,
        /// The model.
        model: tidegate_message::ModelId,
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
    pub(crate) label: Label,
    pub(crate) body: AttachedBody,
}

/// What is in it.
pub(crate) enum AttachedBody {
    Text(String),
    Image(Content),
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
    file.take(MOST_IMAGE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let name = path.strip_prefix(workspace).unwrap_or(&path);
    Ok(Attached {
        name: name.display().to_string(),
        label,
        body: body(given, bytes)?,
    })
}

fn body(given: &Path, bytes: Vec<u8>) -> Result<AttachedBody, AttachmentError> {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let too_long = |what, most| AttachmentError::TooLong {
        path: given.to_path_buf(),
        what,
        most,
    };
    if let Some(media_type) = image_type(&bytes) {
        if length > MOST_IMAGE {
            return Err(too_long("an image", MOST_IMAGE));
        }
        return Ok(AttachedBody::Image(Content::Image {
            media_type: media_type.to_owned(),
            data: Data::from_base64(base64::Engine::encode(
                &base64::engine::general_purpose::STANDARD,
                &bytes,
            )),
        }));
    }
    let cut = length > MOST_IMAGE;
    let text = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        // What was read ends in the middle of a long text.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            return Err(too_long("a text", MOST_TEXT));
        }
        Ok(_) | Err(_) => {
            return Err(AttachmentError::UnknownKind {
                path: given.to_path_buf(),
            });
        }
    };
    if length > MOST_TEXT {
        return Err(too_long("a text", MOST_TEXT));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(AttachedBody::Text(text.to_owned()))
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

    fn kind(bytes: Vec<u8>) -> String {
        match body(Path::new("f"), bytes) {
            Ok(AttachedBody::Text(text)) => format!("text of {}", text.len()),
            Ok(AttachedBody::Image(Content::Image { media_type, .. })) => media_type,
            Ok(AttachedBody::Image(_)) => "no image".into(),
            Err(AttachmentError::TooLong { what, most, .. }) => format!("{what} over {most}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn files_are_told_apart_by_their_bytes_and_have_a_length() {
        let text = |count: usize| "é".repeat(count / 2).into_bytes();
        let image = |length: usize| {
            let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
            bytes.resize(length, 0);
            bytes
        };
        let unknown = "cannot attach f: it is neither UTF-8 text nor an image (PNG, JPEG, GIF, WebP)";
        for (bytes, expected) in [
            (b"".to_vec(), "text of 0"),
            ("\u{feff}a".into(), "text of 1"),
            (text(32 << 10), "text of 32768"),
            (text((32 << 10) + 2), "a text over 32768"),
            // Cut in the middle of a character.
            (
                format!("a{}", "é".repeat(1 << 19)).into_bytes(),
                "a text over 32768",
            ),
            (b"a\0b".to_vec(), unknown),
            (b"\xff\xfe".to_vec(), unknown),
            (image(1 << 20), "image/png"),
            (image((1 << 20) + 1), "an image over 1048576"),
            (b"\xff\xd8\xff\xe0".to_vec(), "image/jpeg"),
            (b"GIF89a".to_vec(), "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ".to_vec(), "image/webp"),
            (b"%PDF-1.7\n\xff".to_vec(), unknown),
        ] {
            assert_eq!(kind(bytes), expected);
        }
    }
}
