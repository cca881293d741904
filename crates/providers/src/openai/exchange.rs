//! One model call, from the request to the last event.

use super::assemble::{Assembly, End, MAX_REPLY_BYTES, Taken, Unfinished};
use super::classify::Refusal;
use super::encode::encode_request;
use super::endpoint::Endpoint;
use super::read::{Failure, Read, Reader};
use crate::{ErrorClass, HistoryError, ModelRequest, ProviderError, StreamEvent};
use futures::future::{BoxFuture, FutureExt as _};
use futures::ready;
use futures::stream::Stream;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;
use tidegate_http::{read_up_to, retry_after};

/// Bytes of an error answer that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// One call, as the stream of its events.
///
/// Polled by hand: a future for each event would have to be made, and moved with everything it holds.
pub(super) struct Exchange {
    endpoint: Arc<Endpoint>,
    request: Arc<ModelRequest>,
    ready: VecDeque<StreamEvent>,
    phase: Phase,
}

/// Where a call stands.
enum Phase {
    /// The request is sent, and its answer looked at.
    Opening(BoxFuture<'static, Result<Opened, ProviderError>>),
    Streaming(Box<Reader>),
    Over,
}

/// What the server answers with.
enum Opened {
    /// A stream of events.
    Stream(Box<Reader>),
    /// One object: all events of it.
    Whole(Vec<StreamEvent>),
}

impl Exchange {
    /// A call that has not begun.
    pub(super) fn new(endpoint: Arc<Endpoint>, request: ModelRequest) -> Self {
        let request = Arc::new(request);
        let opening = begin(Arc::clone(&endpoint), Arc::clone(&request));
        Self {
            endpoint,
            request,
            ready: VecDeque::new(),
            phase: Phase::Opening(opening.boxed()),
        }
    }

    /// Goes on until an event is ready or nothing more comes.
    fn poll_on(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        while self.ready.is_empty() {
            match &mut self.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(context))? {
                    Opened::Stream(reader) => self.phase = Phase::Streaming(reader),
                    Opened::Whole(events) => {
                        self.phase = Phase::Over;
                        self.ready.extend(events);
                    }
                },
                Phase::Streaming(reader) => {
                    match ready!(reader.poll_next(context, self.endpoint.id(), &self.request)) {
                        Ok(Read::Piece(events)) => self.ready.extend(events),
                        Ok(Read::Whole(reply)) => {
                            self.phase = Phase::Over;
                            self.ready.push_back(StreamEvent::Done(Box::new(reply)));
                        }
                        Err(failure) => return Poll::Ready(Err(self.failed(failure))),
                    }
                }
                Phase::Over => break,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn failed(&self, failure: Failure) -> ProviderError {
        match failure {
            Failure::Broken(error) => self.endpoint.broken(error, "in the middle of the reply"),
            Failure::Cut => self.endpoint.cut(),
            Failure::Malformed(malformed) => self.endpoint.malformed(&malformed.0),
            Failure::Refusal(error) => {
                self.endpoint
                    .refused(None, &Refusal::read(None, error.get()), &self.request)
            }
        }
    }
}

impl Stream for Exchange {
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Err(error) = ready!(this.poll_on(context)) {
            this.phase = Phase::Over;
            return Poll::Ready(Some(Err(error)));
        }
        Poll::Ready(this.ready.pop_front().map(Ok))
    }
}

/// Sends the request and looks at what the server answers with.
async fn begin(endpoint: Arc<Endpoint>, request: Arc<ModelRequest>) -> Result<Opened, ProviderError> {
    // The system prompt alone would get an answer to nothing.
    if request.history.is_empty() {
        let empty = HistoryError::Empty;
        return Err(endpoint
            .error(ErrorClass::BadRequest, empty.to_string())
            .caused_by(empty));
    }
    let body = encode_request(endpoint.id(), &request);
    let response = endpoint.send(body).await?;
    open(&endpoint, &request, response).await
}

/// Looks at what the server answers with.
async fn open(
    endpoint: &Endpoint,
    request: &ModelRequest,
    response: Response,
) -> Result<Opened, ProviderError> {
    let status = response.status();
    if status.is_redirection() {
        let location = header(response.headers(), LOCATION.as_str());
        return Err(endpoint.redirected(status.as_u16(), location, request));
    }
    if !status.is_success() {
        let retry_after = retry_after(response.headers(), SystemTime::now());
        // The status says enough where the text cannot be read.
        let body = read_up_to(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        let status = Some(status.as_u16());
        let refusal = Refusal::read(status, &String::from_utf8_lossy(&body));
        let error = endpoint.refused(status, &refusal, request);
        return Err(ProviderError { retry_after, ..error });
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).to_owned();
    let media_type = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match media_type.as_str() {
        // Some servers name no type at all.
        "text/event-stream" | "" => Ok(Opened::Stream(Box::new(Reader::new(response.bytes_stream())))),
        "application/json" => take_whole(endpoint, request, response).await,
        _ => {
            let body = read_up_to(response, MAX_ERROR_BYTES).await.unwrap_or_default();
            let excerpt: String = String::from_utf8_lossy(&body).chars().take(100).collect();
            Err(endpoint.wrong_type(&media_type, &excerpt, request))
        }
    }
}

/// A server that does not stream answers with one object.
async fn take_whole(
    endpoint: &Endpoint,
    request: &ModelRequest,
    response: Response,
) -> Result<Opened, ProviderError> {
    let body = read_up_to(response, MAX_REPLY_BYTES + 1)
        .await
        .map_err(|error| endpoint.broken(error, "in the middle of the reply"))?;
    if body.len() > MAX_REPLY_BYTES {
        let reason = format!("it is longer than {MAX_REPLY_BYTES} bytes");
        return Err(endpoint.malformed(&reason));
    }
    let text = String::from_utf8(body).map_err(|_| endpoint.malformed("it is not UTF-8"))?;
    let mut assembly = Assembly::default();
    let mut events = match assembly.take(&text, request) {
        Ok(Taken::Piece(events)) => events,
        Ok(Taken::Refusal(error)) => {
            let refusal = Refusal::read(None, error.get());
            return Err(endpoint.refused(None, &refusal, request));
        }
        Err(malformed) => return Err(endpoint.malformed(&malformed.0)),
    };
    let reply =
        assembly
            .finish(End::Said, endpoint.id(), request)
            .map_err(|unfinished| match unfinished {
                Unfinished::Cut => endpoint.cut(),
                Unfinished::Malformed(malformed) => endpoint.malformed(&malformed.0),
            })?;
    events.push(StreamEvent::Done(Box::new(reply)));
    Ok(Opened::Whole(events))
}

/// The header's text; empty if it is missing or not text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}
