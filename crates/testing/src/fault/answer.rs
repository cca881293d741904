//! What the server answers to one request.

use super::chunks::ChunkFault;
use super::gate::Gate;
use bytes::Bytes;
use serde_json::json;
use std::time::{Duration, SystemTime};
use tidegate_providers::ScriptedReply;

/// How the end of a body is told (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Chunked: a cut is seen as one.
    Chunked,
    /// `Content-Length`: a cut is seen as one.
    Length,
    /// The end of the connection: a cut cannot be told from the end.
    UntilClose,
}

impl Framing {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chunked, Self::Length, Self::UntilClose];
}

/// A place in an answer: so many bytes of this part have been sent. Beyond its end means its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Of the status line and the headers.
    Head(usize),
    /// Of the body, without what frames it.
    Body(usize),
}

/// One answer of a [`FaultServer`](crate::FaultServer): a good response, and what goes wrong with it.
///
/// ```
/// use tidegate_providers::ScriptedReply;
/// use tidegate_testing::{At, Fault, Gate};
///
/// let gate = Gate::new();
/// let script = [
///     Fault::error(429).header("retry-after", "20"),
///     Fault::from(ScriptedReply::text("Good morning!")).one_byte_at_a_time().cut(At::Body(100)),
///     Fault::from(ScriptedReply::text("Good morning!")).hang(At::Head(0), &gate),
///     Fault::from(ScriptedReply::text("Good morning!")),
/// ];
/// # let _ = script;
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) head: Head,
    pub(super) body: Body,
    pub(super) framing: Framing,
    pub(super) broken: Option<ChunkFault>,
    pub(super) piece: usize,
    pub(super) drip: Option<Gate>,
    pub(super) hang: Option<(At, Gate)>,
    pub(super) end: End,
}

#[derive(Clone, Debug)]
pub(super) enum Head {
    Good,
    /// Header after header until the client goes away.
    Endless,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    /// A model's message, streamed.
    Message(Box<ScriptedReply>),
    Raw(Bytes),
}

/// How the connection ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// When all was sent.
    Good,
    /// In good order for TCP, in the middle for HTTP.
    Cut(At),
    /// By a reset.
    Reset(At),
}

impl From<ScriptedReply> for Fault {
    /// A model's message, streamed as it should be. `expect`, `errors` and `thinking` are of no account.
    fn from(reply: ScriptedReply) -> Self {
        Self::of(200, "text/event-stream", Body::Message(Box::new(reply)))
    }
}

impl Fault {
    fn of(status: u16, content_type: &str, body: Body) -> Self {
        Self {
            status,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
            head: Head::Good,
            body,
            framing: Framing::Chunked,
            broken: None,
            piece: usize::MAX,
            drip: None,
            hang: None,
            end: End::Good,
        }
    }

    /// Exactly these bytes as the body.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::of(status, content_type, Body::Raw(body.into()))
    }

    /// A stream of exactly these bytes.
    pub fn stream(body: impl Into<Bytes>) -> Self {
        Self::raw(200, "text/event-stream", body)
    }

    /// An error of this status, told in OpenAI's form.
    pub fn error(status: u16) -> Self {
        let error =
            json!({"error": {"message": format!("told to answer {status}"), "type": "fault", "code": null}});
        Self::raw(status, "application/json", error.to_string())
    }

    /// Headers that never end: the server goes on sending them until the client goes away.
    pub fn endless_head() -> Self {
        Self {
            head: Head::Endless,
            ..Self::stream(Bytes::new())
        }
    }

    /// With this header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a `Retry-After` in the form of a date, so long from now. Dates have whole seconds: what it asks
    /// for is up to a second less.
    #[must_use]
    pub fn retry_after_date(self, from_now: Duration) -> Self {
        let date = SystemTime::now() + from_now;
        self.header("retry-after", httpdate::fmt_http_date(date))
    }

    /// With a header of so many bytes, more than any client takes.
    #[must_use]
    pub fn oversized_header(self, bytes: usize) -> Self {
        self.header("x-large", "x".repeat(bytes))
    }

    /// With this content type; none is sent if it is empty.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        Self {
            content_type: content_type.into(),
            ..self
        }
    }

    /// Framed like this; chunked if not said.
    #[must_use]
    pub fn framed(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Chunked, and broken like this.
    #[must_use]
    pub fn broken_chunks(self, fault: ChunkFault) -> Self {
        Self {
            broken: Some(fault),
            ..self
        }
    }

    /// The body is sent in pieces of `bytes` bytes, each by itself.
    #[must_use]
    pub fn in_pieces_of(self, bytes: usize) -> Self {
        Self {
            piece: bytes.max(1),
            ..self
        }
    }

    /// The body is sent byte for byte.
    #[must_use]
    pub fn one_byte_at_a_time(self) -> Self {
        self.in_pieces_of(1)
    }

    /// Before each piece of the body, the server waits at `gate`.
    #[must_use]
    pub fn drip(self, gate: &Gate) -> Self {
        Self {
            drip: Some(gate.clone()),
            ..self
        }
    }

    /// The server stands still at this place until `gate` lets it go on.
    #[must_use]
    pub fn hang(self, at: At, gate: &Gate) -> Self {
        Self {
            hang: Some((at, gate.clone())),
            ..self
        }
    }

    /// The connection is closed at this place.
    #[must_use]
    pub fn cut(self, at: At) -> Self {
        Self {
            end: End::Cut(at),
            ..self
        }
    }

    /// The connection is reset at this place.
    #[must_use]
    pub fn reset(self, at: At) -> Self {
        Self {
            end: End::Reset(at),
            ..self
        }
    }
}
