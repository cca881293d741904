//! What a file is, and what is done with it.

/// Text below this many bytes goes into the context whole (32 KiB).
pub const WHOLE_TEXT: u64 = 32 * 1_024;

/// A PDF below this many bytes goes into the context whole (1 MiB).
pub const WHOLE_PDF: u64 = 1_024 * 1_024;

/// A file of more bytes than this is not read (64 MiB): what has to be in memory whole, and its text beside it.
pub const LARGEST_FILE: u64 = 64 * 1_024 * 1_024;

/// How the formats begin whose files may come without a name that tells (their specifications). What is in an archive
/// is not told by its beginning.
const BEGINNINGS: &[(&[u8], ResourceKind)] = &[
    (b"%PDF-", ResourceKind::Pdf),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ResourceKind::OldOffice),
    (b"\x89PNG\r\n\x1a\n", ResourceKind::Image),
    (b"\xff\xd8\xff", ResourceKind::Image),
    (b"GIF87a", ResourceKind::Image),
    (b"GIF89a", ResourceKind::Image),
    (b"ID3", ResourceKind::Audio),
    (b"fLaC", ResourceKind::Audio),
    (b"OggS", ResourceKind::Audio),
];

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

    /// What a file is of which nobody told the media type: by the end of its name, else by how it begins; what is
    /// neither known by the one nor by the other, and reads as text, is text.
    ///
    /// ```
    /// use tidegate_memory::ResourceKind;
    ///
    /// assert_eq!(ResourceKind::of_file("Makefile", b"all:"), ResourceKind::Text);
    /// assert_eq!(ResourceKind::of_file("scan", b"%PDF-1.7"), ResourceKind::Pdf);
    /// assert_eq!(ResourceKind::of_file("core", b"\x7fELF\0"), ResourceKind::Other);
    /// ```
    pub fn of_file(filename: &str, bytes: &[u8]) -> Self {
        let named = Self::of("", filename);
        if named != Self::Other {
            return named;
        }
        let begins = BEGINNINGS.iter().find(|(begin, _)| bytes.starts_with(begin));
        match begins {
            Some((_, kind)) => *kind,
            None if super::document::is_text(bytes) => Self::Text,
            None => Self::Other,
        }
    }

    /// The media type of a file of this kind and name; that of bytes in general where it is not known.
    pub fn media_type(self, filename: &str) -> &'static str {
        let end = filename.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
        let end = end.as_deref().unwrap_or_default();
        match self {
            Self::Text => "text/plain",
            Self::Json => "application/json",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Pdf => "application/pdf",
            Self::Document if end == "odt" => "application/vnd.oasis.opendocument.text",
            Self::Document => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Slides if end == "odp" => "application/vnd.oasis.opendocument.presentation",
            Self::Slides => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Sheet if end == "ods" => "application/vnd.oasis.opendocument.spreadsheet",
            Self::Sheet if end == "xlsb" => "application/vnd.ms-excel.sheet.binary.macroenabled.12",
            Self::Sheet if end == "xls" => "application/vnd.ms-excel",
            Self::Sheet => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::OldOffice if end == "ppt" => "application/vnd.ms-powerpoint",
            Self::OldOffice => "application/msword",
            Self::Image | Self::Audio | Self::Other => "application/octet-stream",
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
            _ if bytes > LARGEST_FILE => Way::Refused("the file is larger than 64 MiB; give a part of it"),
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
