//! Calls of the server: tried again where that may help, and what their errors mean.

use super::settings::ServerSettings;
use crate::QdrantError;
use crate::error::first_line;
use backon::{ExponentialBuilder, Retryable as _};
use qdrant_client::qdrant::HealthCheckReply;
use qdrant_client::{Qdrant, QdrantError as ClientError};
use secrecy::ExposeSecret as _;
use std::future::Future;
use std::time::Duration;
use tidegate_memory::IndexError;

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// gRPC's status codes, as far as they mean something here.
/// <https://grpc.io/docs/guides/status-codes/>
mod code {
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const ABORTED: i32 = 10;
    pub(super) const INTERNAL: i32 = 13;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

/// What the client says when it finds nobody at the address; it comes as an internal error of the server.
const NOBODY_THERE: &str = "Failed to connect to";

pub(crate) struct Connection {
    client: Qdrant,
    name: String,
    backoff: ExponentialBuilder,
}

/// What a failed call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Nobody answered; trying again may help.
    Away,
    /// It takes too long; trying again would take as long.
    Slow,
    /// It is busy; trying again may help.
    Busy,
    /// It does not accept the key.
    Refused,
    /// There is no such collection.
    Missing,
    /// Anything else.
    Wrong,
}

impl Connection {
    /// Connects at the first call.
    pub(crate) fn new(settings: &ServerSettings) -> Result<Self, QdrantError> {
        settings.check()?;
        let mut builder = Qdrant::from_url(settings.url.as_str().trim_end_matches('/'))
            .timeout(settings.timeout)
            .connect_timeout(settings.timeout)
            .skip_compatibility_check();
        builder.api_key = settings
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().to_owned());
        let client = builder.build().map_err(|error| QdrantError::Client {
            action: "preparing the connection",
            problem: first_line(&error.to_string()),
        })?;
        let tries = usize::try_from(settings.attempts.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(Self {
            client,
            name: format!("at {}", settings.shown()),
            backoff: ExponentialBuilder::default()
                .with_min_delay(settings.pause)
                .with_max_delay(LONGEST_PAUSE)
                .with_factor(2.0)
                .with_max_times(tries)
                .with_jitter(),
        })
    }

    /// As errors name it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A call that may be made twice.
    pub(crate) async fn call<T, F>(
        &self,
        action: &'static str,
        call: impl Fn(Qdrant) -> F,
    ) -> Result<T, IndexError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let tried = || call(self.client.clone());
        let done = tried
            .retry(self.backoff)
            .when(|error| matches!(meaning(error), Meaning::Away | Meaning::Busy))
            .notify(|error, pause| {
                tracing::debug!(
                    action,
                    index = self.name,
                    ?pause,
                    said = said(error),
                    "the index is asked again"
                );
            })
            .await;
        done.map_err(|error| self.error(action, &error))
    }

    /// The same for something that may not be there.
    pub(crate) async fn find<T, F>(
        &self,
        action: &'static str,
        call: impl Fn(Qdrant) -> F,
    ) -> Result<Option<T>, IndexError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let call = |client| {
            let asked = call(client);
            async {
                match asked.await {
                    Ok(found) => Ok(Some(found)),
                    Err(error) if meaning(&error) == Meaning::Missing => Ok(None),
                    Err(error) => Err(error),
                }
            }
        };
        self.call(action, call).await
    }

    pub(crate) async fn health(&self) -> Result<HealthCheckReply, IndexError> {
        self.call(
            "a health check",
            |client| async move { client.health_check().await },
        )
        .await
    }

    fn error(&self, action: &'static str, error: &ClientError) -> IndexError {
        let meaning = meaning(error);
        let code = status(error).map_or_else(|| "no status".to_owned(), |(_, name, _)| name);
        let cause = match meaning {
            Meaning::Refused => QdrantError::Refused { code },
            _ if status(error).is_none() => QdrantError::Client {
                action,
                problem: said(error),
            },
            _ => QdrantError::Server {
                action,
                code,
                problem: said(error),
            },
        };
        match meaning {
            Meaning::Away | Meaning::Slow | Meaning::Busy => IndexError::Unreachable {
                index: self.name.clone(),
                cause: Box::new(cause),
            },
            Meaning::Refused | Meaning::Missing | Meaning::Wrong => cause.of(&self.name),
        }
    }
}

/// Number and name of the status, and what it says.
fn status(error: &ClientError) -> Option<(i32, String, &str)> {
    match error {
        ClientError::ResponseError { status } | ClientError::ResourceExhaustedError { status, .. } => Some((
            status.code() as i32,
            format!("{:?}", status.code()),
            status.message(),
        )),
        _ => None,
    }
}

fn said(error: &ClientError) -> String {
    match status(error) {
        Some((_, _, said)) => first_line(said),
        None => first_line(&error.to_string()),
    }
}

fn meaning(error: &ClientError) -> Meaning {
    let Some((number, _, said)) = status(error) else {
        return match error {
            ClientError::Io(_) => Meaning::Away,
            _ => Meaning::Wrong,
        };
    };
    match number {
        code::INTERNAL if said.starts_with(NOBODY_THERE) => Meaning::Away,
        // A connection that breaks is UNKNOWN or CANCELLED, as the client has it.
        code::UNAVAILABLE | code::CANCELLED | code::UNKNOWN => Meaning::Away,
        code::DEADLINE_EXCEEDED => Meaning::Slow,
        code::RESOURCE_EXHAUSTED | code::ABORTED => Meaning::Busy,
        code::PERMISSION_DENIED | code::UNAUTHENTICATED => Meaning::Refused,
        code::NOT_FOUND => Meaning::Missing,
        _ => Meaning::Wrong,
    }
}
