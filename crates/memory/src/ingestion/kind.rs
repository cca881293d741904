//! What a file is, and what is done with it.

/// Text below this many bytes goes into the context whole (32 KiB).
const WHOLE_TEXT: u64 = 32 * 1_024;

/// A PDF below this many bytes goes into the context whole (1 MiB).
const WHOLE_PDF: u64 = 1_024 * 1_024;

/// A file of more bytes than this is not read (64 MiB).
const LARGEST: u64 = 64 * 1_024 * 1_024;

/// What a file is, by its media type, or by the end of its name where that tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// Text of any kind: source code, tables, logs.
    Text,
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// An image.
    Image,
    /// A recording.
    Audio,
    /// PDF.
    Pdf,
    /// A text document: Word (docx) or OpenDocument (odt).
    Document,
    /// Slides: PowerPoint (pptx) or OpenDocument (odp).
    Slides,
    /// A spreadsheet: Excel (xlsx, xlsb, xls) or OpenDocument (ods).
    Sheet,
    /// Word or PowerPoint as they were before 2007, for which no maintained reader is known.
    OldOffice,
    /// Anything else.
    Other,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It goes into the context as it is.
    Whole,
    /// Its text goes into the context.
    AsText,
    /// Its text is cut into chunks, and summed up where a model may see it.
    Chunks,
    /// The length of its text decides: it is taken out first.
    ByItsText,
    /// Nothing can be done with it.
    Refused(&'static str),
}

const NAMES: &[(&str, ResourceKind)] = &[
    ("txt", ResourceKind::Text),
    ("log", ResourceKind::Text),
    ("csv", ResourceKind::Text),
    ("tsv", ResourceKind::Text),
    ("xml", ResourceKind::Text),
    ("yaml", ResourceKind::Text),
    ("yml", ResourceKind::Text),
    ("toml", ResourceKind::Text),
    ("rs", ResourceKind::Text),
    ("py", ResourceKind::Text),
    ("js", ResourceKind::Text),
    ("ts", ResourceKind::Text),
    ("sh", ResourceKind::Text),
    ("sql", ResourceKind::Text),
    ("json", ResourceKind::Json),
    ("jsonl", ResourceKind::Json),
    ("md", ResourceKind::Markdown),
    ("markdown", ResourceKind::Markdown),
    ("html", ResourceKind::Html),
    ("htm", ResourceKind::Html),
    ("xhtml", ResourceKind::Html),
    ("png", ResourceKind::Image),
    ("jpg", ResourceKind::Image),
    ("jpeg", ResourceKind::Image),
    ("gif", ResourceKind::Image),
    ("webp", ResourceKind::Image),
    ("mp3", ResourceKind::Audio),
    ("wav", ResourceKind::Audio),
    ("ogg", ResourceKind::Audio),
    ("flac", ResourceKind::Audio),
    ("m4a", ResourceKind::Audio),
    ("pdf", ResourceKind::Pdf),
    ("docx", ResourceKind::Document),
    ("odt", ResourceKind::Document),
    ("pptx", ResourceKind::Slides),
    ("odp", ResourceKind::Slides),
    ("xlsx", ResourceKind::Sheet),
    ("xlsb", ResourceKind::Sheet),
    ("xls", ResourceKind::Sheet),
    ("ods", ResourceKind::Sheet),
    ("doc", ResourceKind::OldOffice),
    ("ppt", ResourceKind::OldOffice),
];

impl ResourceKind {
    /// What a file of this media type and name is.
    pub fn of(mime_type: &str, filename: &str) -> Self {
        let full = mime_type.to_ascii_lowercase();
        let mime = full.split(';').next().unwrap_or_default().trim();
        match mime {
            "application/json" | "application/x-ndjson" | "application/jsonl" => Self::Json,
            "text/markdown" | "text/x-markdown" => Self::Markdown,
            "text/html" | "application/xhtml+xml" => Self::Html,
            "application/pdf" | "application/x-pdf" => Self::Pdf,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            | "application/vnd.oasis.opendocument.text" => Self::Document,
            "application/vnd.openxmlformats-officedocument.presentationml.presentation"
            | "application/vnd.oasis.opendocument.presentation" => Self::Slides,
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
            | "application/vnd.ms-excel.sheet.binary.macroenabled.12"
            | "application/vnd.ms-excel"
            | "application/vnd.oasis.opendocument.spreadsheet" => Self::Sheet,
            "application/msword" | "application/vnd.ms-powerpoint" => Self::OldOffice,
            "application/xml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/javascript"
            | "application/sql"
            | "application/x-sh" => Self::Text,
            // These say that nothing is known; plain text is what servers say of what they do not know.
            "" | "application/octet-stream" | "binary/octet-stream" => Self::of_name(filename, Self::Other),
            "text/plain" => Self::of_name(filename, Self::Text),
            _ if mime.starts_with("text/") || mime.ends_with("+xml") && !mime.starts_with("image/") => {
                Self::Text
            }
            _ if mime.ends_with("+json") => Self::Json,
            _ if mime.starts_with("image/") => Self::Image,
            _ if mime.starts_with("audio/") => Self::Audio,
            _ => Self::Other,
        }
    }

    fn of_name(filename: &str, otherwise: Self) -> Self {
        let Some((_, end)) = filename.rsplit_once('.') else {
            return otherwise;
        };
        let end = end.to_ascii_lowercase();
        NAMES
            .iter()
            .find(|(name, _)| *name == end)
            .map_or(otherwise, |(_, kind)| *kind)
    }

    /// What is done with a file of this kind and so many bytes.
    ///
    /// ```
    /// use tidegate_memory::{ResourceKind, Way};
    ///
    /// assert_eq!(ResourceKind::Text.way(32 * 1024 - 1), Way::AsText);
    /// assert_eq!(ResourceKind::Text.way(32 * 1024), Way::Chunks);
    /// assert_eq!(ResourceKind::Pdf.way(1024 * 1024), Way::Chunks);
    /// ```
    pub fn way(self, bytes: u64) -> Way {
        if bytes == 0 {
            return Way::Refused("the file is empty");
        }
        match self {
            Self::Image | Self::Audio => Way::Whole,
            Self::Pdf if bytes < WHOLE_PDF => Way::Whole,
            Self::Other => Way::Refused("there is no reader for files of this type; give its text instead"),
            Self::OldOffice => Way::Refused(
                "files of Word and PowerPoint from before 2007 cannot be read; save it as docx, pptx or PDF",
            ),
            _ if bytes > LARGEST => Way::Refused("the file is larger than 64 MiB; give a part of it"),
            Self::Text | Self::Json | Self::Markdown | Self::Html => Self::way_of_text(bytes),
            Self::Pdf => Way::Chunks,
            Self::Document | Self::Slides | Self::Sheet => Way::ByItsText,
        }
    }

    /// What is done with a text of so many bytes.
    pub(super) fn way_of_text(bytes: u64) -> Way {
        if bytes < WHOLE_TEXT {
            Way::AsText
        } else {
            Way::Chunks
        }
    }
}
