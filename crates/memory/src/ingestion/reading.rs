//! Reading a file for its text alone.

use super::document::text_of;
use super::kind::{ResourceKind, Way};
use crate::MemoryError;

/// What there are readers for, as people are told of it.
#[cfg(feature = "documents")]
pub const READABLE: &str = "text in UTF-8 or UTF-16 (Markdown, HTML, JSON, CSV, source code), PDF, Word (docx), \
                            PowerPoint (pptx), Excel (xlsx, xlsb, xls) and OpenDocument (odt, odp, ods)";

/// What there are readers for, as people are told of it.
#[cfg(not(feature = "documents"))]
pub const READABLE: &str = "text in UTF-8 or UTF-16 (Markdown, JSON, CSV, source code)";

/// The text of a file, and what it was read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// What the file is.
    pub kind: ResourceKind,
    /// Its text: of HTML without scripts and styles, of documents what is written in them.
    pub text: String,
}

/// Reads a file of any kind that has a reader ([`READABLE`]), on a thread of its own. What it is tells the end of its
/// name, else its first bytes; what is neither known by name nor by bytes, and is text, is read as text.
///
/// # Errors
/// [`MemoryError::UnreadableFile`] with the reason: empty, larger than 64 MiB, of a kind without a reader, encrypted,
/// damaged; [`MemoryError::NoText`] if nothing is written in it.
pub async fn file_text(filename: String, bytes: Vec<u8>) -> Result<FileText, MemoryError> {
    let kind = ResourceKind::of_file(&filename, &bytes);
    let (name, shown) = (filename.clone(), filename.clone());
    let refused = move |why: String| MemoryError::UnreadableFile { filename: name, why };
    match kind.way(bytes.len() as u64) {
        Way::Refused(why) => return Err(refused(why.to_owned())),
        Way::Whole if kind != ResourceKind::Pdf => {
            let why = "there is no text in pictures and recordings".to_owned();
            return Err(refused(why));
        }
        Way::Whole | Way::AsText | Way::Chunks | Way::ByItsText => {}
    }
    match crate::off_thread(move || text_of(kind, &filename, &bytes)).await {
        Ok(Ok(text)) if text.trim().is_empty() => Err(MemoryError::NoText { filename: shown }),
        Ok(Ok(text)) => Ok(FileText { kind, text }),
        Ok(Err(unreadable)) => Err(refused(unreadable.told())),
        Err(_) => Err(refused(super::ingest::READER_FAILED.to_owned())),
    }
}
