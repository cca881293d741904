//! A streamed reply, read from the bytes of a response.

use super::assemble::{Assembly, End, MAX_REPLY_BYTES, Taken, Unfinished};
use super::fragment::Malformed;
use crate::{ModelRequest, StreamEvent};
use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use serde_json::value::RawValue;
use sse_stream::{Sse, SseByteStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tidegate_message::{ProviderId, Reply};

/// How long the end of a response is waited for after `[DONE]`, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(250);

/// Reads one streamed reply.
pub(super) struct Reader {
    events: SseByteStream<BoxStream<'static, Result<Bytes, BodyError>>>,
    /// Bytes since the last event.
    pending: Arc<AtomicUsize>,
    /// Whether the body has ended.
    closed: Arc<AtomicBool>,
    assembly: Assembly,
}

/// Why no more bytes come.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// The connection broke.
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
    /// One event is longer than a whole reply may be.
    #[error("an event of the stream is longer than {MAX_REPLY_BYTES} bytes")]
    TooLong,
}

/// Why a reply could not be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection broke.
    Broken(reqwest::Error),
    /// The stream ended in good order, but the reply is not complete.
    Cut,
    /// It is no reply.
    Malformed(Malformed),
    /// The provider gave up: its error object.
    Refusal(Box<RawValue>),
}

impl From<Unfinished> for Failure {
    fn from(unfinished: Unfinished) -> Self {
        match unfinished {
            Unfinished::Cut => Self::Cut,
            Unfinished::Malformed(malformed) => Self::Malformed(malformed),
        }
    }
}

/// What reading on brought.
#[derive(Debug)]
pub(super) enum Read {
    /// A piece of the reply.
    Piece(Vec<StreamEvent>),
    /// The end.
    Whole(Reply),
}

impl Reader {
    /// Reads from `body`.
    pub(super) fn new(body: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static) -> Self {
        let pending = Arc::new(AtomicUsize::new(0));
        let closed = Arc::new(AtomicBool::new(false));
        let counter = Arc::clone(&pending);
        let limited = body.map(move |bytes| {
            let bytes = bytes?;
            let before = counter.fetch_add(bytes.len(), Ordering::Relaxed);
            if before.saturating_add(bytes.len()) > MAX_REPLY_BYTES {
                return Err(BodyError::TooLong);
            }
            Ok(bytes)
        });
        let at_end = Arc::clone(&closed);
        // Some servers leave out the empty line after their last event.
        let last_line = stream::once(async move {
            at_end.store(true, Ordering::Relaxed);
            Ok(Bytes::from_static(b"\n\n"))
        });
        let events = SseByteStream::new(limited.chain(last_line).boxed());
        Self {
            events,
            pending,
            closed,
            assembly: Assembly::default(),
        }
    }

    /// Reads on until something can be shown or the reply is complete.
    pub(super) async fn next(
        &mut self,
        provider: &ProviderId,
        request: &ModelRequest,
    ) -> Result<Read, Failure> {
        loop {
            let event = match self.events.next().await {
                Some(event) => event.map_err(broken)?,
                None => return self.finish(End::Closed, provider, request),
            };
            self.pending.store(0, Ordering::Relaxed);
            let Sse { event, data, .. } = event;
            let data = data.unwrap_or_default();
            let data = data.trim();
            if data.is_empty() {
                continue;
            }
            if data == "[DONE]" {
                self.drain().await;
                return self.finish(End::Said, provider, request);
            }
            if event.as_deref() == Some("error") {
                return Err(match serde_json::from_str::<Box<RawValue>>(data) {
                    Ok(error) => Failure::Refusal(error),
                    Err(error) => Failure::Malformed(Malformed::json("an error event", &error)),
                });
            }
            match self.assembly.take(data, request) {
                Ok(Taken::Piece(events)) if events.is_empty() => {}
                Ok(Taken::Piece(events)) => return Ok(Read::Piece(events)),
                Ok(Taken::Refusal(error)) => return Err(Failure::Refusal(error)),
                // The event has no end but that of the body: what is left of one that was cut.
                Err(_) if self.closed.load(Ordering::Relaxed) => return Err(Failure::Cut),
                Err(malformed) => return Err(Failure::Malformed(malformed)),
            }
        }
    }

    fn finish(&mut self, end: End, provider: &ProviderId, request: &ModelRequest) -> Result<Read, Failure> {
        let reply = std::mem::take(&mut self.assembly).finish(end, provider, request)?;
        Ok(Read::Whole(reply))
    }

    /// Reads what is left of the response. Whatever comes after `[DONE]` is no part of the reply, and
    /// that a server keeps the response open is no fault.
    async fn drain(&mut self) {
        let rest = async { while let Some(Ok(_)) = self.events.next().await {} };
        let _kept_open = tokio::time::timeout(DRAIN, rest).await;
    }
}

fn broken(error: sse_stream::Error) -> Failure {
    match error {
        sse_stream::Error::Body(cause) => match cause.downcast::<BodyError>().map(|cause| *cause) {
            Ok(BodyError::Broken(cause)) => Failure::Broken(cause),
            Ok(error @ BodyError::TooLong) => Failure::Malformed(Malformed::new(error.to_string())),
            Err(_) => Failure::Cut,
        },
        sse_stream::Error::Utf8Parse(_) => Failure::Malformed(Malformed::new("the stream is not UTF-8")),
        _ => Failure::Malformed(Malformed::new("the stream is no stream of events")),
    }
}
