//! Bodies in chunked encoding (RFC 9112, 7.1), right and wrong.

use bytes::Bytes;

/// How a chunked body breaks the encoding. The break comes after the first chunk, which is right and holds
/// the first half of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkFault {
    /// A chunk size that is no number.
    SizeIsNoNumber,
    /// A chunk size that no machine can count to.
    SizeOverflows,
    /// A chunk that is longer than its size says.
    SizeTooSmall,
    /// The connection ends before the chunk does.
    SizeTooLarge,
    /// No line end after a chunk.
    NoLineEnd,
    /// The connection ends without the last chunk.
    NoLastChunk,
}

impl ChunkFault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::SizeIsNoNumber,
        Self::SizeOverflows,
        Self::SizeTooSmall,
        Self::SizeTooLarge,
        Self::NoLineEnd,
        Self::NoLastChunk,
    ];

    /// `body` in a broken encoding.
    pub(super) fn encode(self, mut body: Bytes) -> Vec<Bytes> {
        let rest = body.split_off(body.len() / 2);
        let size = rest.len();
        let mut pieces = vec![chunk(&body)];
        match self {
            Self::SizeIsNoNumber => pieces.push(with("half\r\n", &rest, "\r\n0\r\n\r\n")),
            Self::SizeOverflows => {
                pieces.push(with("ffffffffffffffffffff\r\n", &rest, "\r\n0\r\n\r\n"));
            }
            Self::SizeTooSmall => {
                let size = size.saturating_sub(1);
                pieces.push(with(&format!("{size:x}\r\n"), &rest, "\r\n0\r\n\r\n"));
            }
            Self::SizeTooLarge => pieces.push(with(&format!("{:x}\r\n", size + 1_000), &rest, "")),
            Self::NoLineEnd => pieces.push(with(&format!("{size:x}\r\n"), &rest, "0\r\n\r\n")),
            Self::NoLastChunk => pieces.push(with(&format!("{size:x}\r\n"), &rest, "\r\n")),
        }
        pieces
    }
}

/// One chunk.
pub(super) fn chunk(data: &[u8]) -> Bytes {
    with(&format!("{:x}\r\n", data.len()), data, "\r\n")
}

fn with(before: &str, data: &[u8], after: &str) -> Bytes {
    [before.as_bytes(), data, after.as_bytes()].concat().into()
}
