//! Which reader reads what.

use super::unreadable::Unreadable;
#[cfg(feature = "documents")]
use super::{office, pages, sheet};
use crate::ingestion::kind::ResourceKind;

/// The longest text that is taken out of a file, in bytes (32 MiB): small files can unpack to huge ones.
#[cfg(feature = "documents")]
pub(super) const LONGEST_TEXT: usize = 32 * 1_024 * 1_024;

/// The text of a file. It takes its time: not for an async thread.
pub(crate) fn text_of(kind: ResourceKind, filename: &str, bytes: &[u8]) -> Result<String, Unreadable> {
    match kind {
        ResourceKind::Text | ResourceKind::Json | ResourceKind::Markdown => plain(bytes),
        #[cfg(feature = "documents")]
        ResourceKind::Html => pages::html(&plain(bytes)?),
        #[cfg(feature = "documents")]
        ResourceKind::Pdf => pages::pdf(bytes),
        #[cfg(feature = "documents")]
        ResourceKind::Document | ResourceKind::Slides => office::text(bytes),
        #[cfg(feature = "documents")]
        ResourceKind::Sheet => sheet::text(bytes),
        _ => Err(Unreadable::NoReader {
            filename: filename.to_owned(),
        }),
    }
}

/// Text as it is, in UTF-8 or, with a mark at its beginning, UTF-16.
fn plain(bytes: &[u8]) -> Result<String, Unreadable> {
    let wide = |read: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let (units, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Unreadable::Encoding);
        }
        char::decode_utf16(units.iter().map(|unit| read(*unit)))
            .collect::<Result<String, _>>()
            .map_err(|_| Unreadable::Encoding)
    };
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(u16::from_le_bytes, rest)?,
        [0xfe, 0xff, rest @ ..] => wide(u16::from_be_bytes, rest)?,
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => std::str::from_utf8(rest)
            .map_err(|_| Unreadable::Encoding)?
            .to_owned(),
    };
    if text.contains('\0') {
        return Err(Unreadable::Encoding);
    }
    Ok(text)
}

/// Whether the bytes read as text. Nothing at all does.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    plain(bytes).is_ok()
}
