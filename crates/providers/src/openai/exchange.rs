//! One model call, from the request to the last event.

use super::assemble::{Assembly, End, MAX_REPLY_BYTES, Taken, Unfinished};
use super::classify::Refusal;
use super::encode::encode_request;
use super::endpoint::Endpoint;
use super::read::{Failure, Read, Reader};
use crate::{ErrorClass, HistoryError, ModelRequest, ProviderError, StreamEvent};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;
use tidegate_http::{read_up_to, retry_after};

/// Bytes of an error answer that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Where a call stands.
pub(super) struct Exchange {
    endpoint: Arc<Endpoint>,
    request: ModelRequest,
    ready: VecDeque<StreamEvent>,
    phase: Phase,
}

enum Phase {
    Before,
    Streaming(Box<Reader>),
    Over,
}

impl Exchange {
    /// A call that has not begun.
    pub(super) fn new(endpoint: Arc<Endpoint>, request: ModelRequest) -> Self {
        Self {
            endpoint,
            request,
            ready: VecDeque::new(),
            phase: Phase::Before,
        }
    }

    /// The next event; none after the last.
    pub(super) async fn next(mut self) -> Result<Option<(StreamEvent, Self)>, ProviderError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some((event, self)));
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                // Boxed: this future is made and moved for each event, and sending takes a large one.
                Phase::Before => Box::pin(self.begin()).await?,
                Phase::Streaming(mut reader) => match reader.next(self.endpoint.id(), &self.request).await {
                    Ok(Read::Piece(events)) => {
                        self.ready.extend(events);
                        Phase::Streaming(reader)
                    }
                    Ok(Read::Whole(reply)) => {
                        self.ready.push_back(StreamEvent::Done(Box::new(reply)));
                        Phase::Over
                    }
                    Err(failure) => return Err(self.failed(failure)),
                },
                Phase::Over => return Ok(None),
            };
        }
    }

    /// Sends the request and looks at what the server answers with.
    async fn begin(&mut self) -> Result<Phase, ProviderError> {
        // The system prompt alone would get an answer to nothing.
        if self.request.history.is_empty() {
            let empty = HistoryError::Empty;
            return Err(self
                .endpoint
                .error(ErrorClass::BadRequest, empty.to_string())
                .caused_by(empty));
        }
        let body = encode_request(self.endpoint.id(), &self.request);
        let response = self.endpoint.send(body).await?;
        self.open(response).await
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

    /// Looks at what the server answers with.
    async fn open(&mut self, response: Response) -> Result<Phase, ProviderError> {
        let status = response.status();
        if status.is_redirection() {
            let location = header(response.headers(), LOCATION.as_str());
            return Err(self.endpoint.redirected(status.as_u16(), location, &self.request));
        }
        if !status.is_success() {
            let retry_after = retry_after(response.headers(), SystemTime::now());
            // The status says enough where the text cannot be read.
            let body = read_up_to(response, MAX_ERROR_BYTES).await.unwrap_or_default();
            let status = Some(status.as_u16());
            let refusal = Refusal::read(status, &String::from_utf8_lossy(&body));
            let error = self.endpoint.refused(status, &refusal, &self.request);
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
            "text/event-stream" | "" => Ok(Phase::Streaming(Box::new(Reader::new(response.bytes_stream())))),
            "application/json" => self.take_whole(response).await,
            _ => {
                let body = read_up_to(response, MAX_ERROR_BYTES).await.unwrap_or_default();
                let excerpt: String = String::from_utf8_lossy(&body).chars().take(100).collect();
                Err(self.endpoint.wrong_type(&media_type, &excerpt, &self.request))
            }
        }
    }

    /// A server that does not stream answers with one object.
    async fn take_whole(&mut self, response: Response) -> Result<Phase, ProviderError> {
        let body = read_up_to(response, MAX_REPLY_BYTES + 1)
            .await
            .map_err(|error| self.endpoint.broken(error, "in the middle of the reply"))?;
        if body.len() > MAX_REPLY_BYTES {
            let reason = format!("it is longer than {MAX_REPLY_BYTES} bytes");
            return Err(self.endpoint.malformed(&reason));
        }
        let text = String::from_utf8(body).map_err(|_| self.endpoint.malformed("it is not UTF-8"))?;
        let mut assembly = Assembly::default();
        match assembly.take(&text, &self.request) {
            Ok(Taken::Piece(events)) => self.ready.extend(events),
            Ok(Taken::Refusal(error)) => {
                let refusal = Refusal::read(None, error.get());
                return Err(self.endpoint.refused(None, &refusal, &self.request));
            }
            Err(malformed) => return Err(self.endpoint.malformed(&malformed.0)),
        }
        let reply = assembly
            .finish(End::Said, self.endpoint.id(), &self.request)
            .map_err(|unfinished| match unfinished {
                Unfinished::Cut => self.endpoint.cut(),
                Unfinished::Malformed(malformed) => self.endpoint.malformed(&malformed.0),
            })?;
        self.ready.push_back(StreamEvent::Done(Box::new(reply)));
        Ok(Phase::Over)
    }
}

/// The header's text; empty if it is missing or not text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}
