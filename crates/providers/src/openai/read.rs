//! A streamed reply, read from the bytes of a response.

use super::assemble::{Assembly, End, MAX_REPLY_BYTES, Taken, Unfinished};
use super::fragment::Malformed;
use crate::{ModelRequest, StreamEvent};
use bytes::Bytes;
use futures::ready;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use serde_json::value::RawValue;
use sse_stream::{Sse, SseByteStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tidegate_message::{ProviderId, Reply};
use tokio::time::{Sleep, sleep};

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
    /// The provider has said that it had ended.
    is_done: bool,
    /// When the end of the response is not waited for any more.
    drained: Option<Pin<Box<Sleep>>>,
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
            is_done: false,
            drained: None,
        }
    }

    /// Reads on until something can be shown or the reply is complete.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        provider: &ProviderId,
        request: &ModelRequest,
    ) -> Poll<Result<Read, Failure>> {
        loop {
            if self.is_done {
                ready!(self.poll_drained(context));
                return Poll::Ready(self.finish(End::Said, provider, request));
            }
            let event = match ready!(self.events.poll_next_unpin(context)) {
                Some(event) => event.map_err(broken)?,
                None => return Poll::Ready(self.finish(End::Closed, provider, request)),
            };
            if let Some(read) = self.take(event, request)? {
                return Poll::Ready(Ok(read));
            }
        }
    }

    /// Takes in one event.
    fn take(&mut self, event: Sse, request: &ModelRequest) -> Result<Option<Read>, Failure> {
        self.pending.store(0, Ordering::Relaxed);
        let Sse { event, data, .. } = event;
        let data = data.unwrap_or_default();
        let data = data.trim();
        if data.is_empty() {
            return Ok(None);
        }
        if data == "[DONE]" {
            self.is_done = true;
            return Ok(None);
        }
        if event.as_deref() == Some("error") {
            return Err(match serde_json::from_str::<Box<RawValue>>(data) {
                Ok(error) => Failure::Refusal(error),
                Err(error) => Failure::Malformed(Malformed::json("an error event", &error)),
            });
        }
        match self.assembly.take(data, request) {
            Ok(Taken::Piece(events)) if events.is_empty() => Ok(None),
            Ok(Taken::Piece(events)) => Ok(Some(Read::Piece(events))),
            Ok(Taken::Refusal(error)) => Err(Failure::Refusal(error)),
            // The event has no end but that of the body: what is left of one that was cut.
            Err(_) if self.closed.load(Ordering::Relaxed) => Err(Failure::Cut),
            Err(malformed) => Err(Failure::Malformed(malformed)),
        }
    }

    fn finish(&mut self, end: End, provider: &ProviderId, request: &ModelRequest) -> Result<Read, Failure> {
        let reply = std::mem::take(&mut self.assembly).finish(end, provider, request)?;
        Ok(Read::Whole(reply))
    }

    /// Reads what is left of the response. Whatever comes after `[DONE]` is no part of the reply, and
    /// that a server keeps the response open is no fault.
    fn poll_drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(rest) = self.events.poll_next_unpin(context) {
            if !matches!(rest, Some(Ok(_))) {
                return Poll::Ready(());
            }
        }
        let until = self.drained.get_or_insert_with(|| Box::pin(sleep(DRAIN)));
        until.as_mut().poll(context)
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
