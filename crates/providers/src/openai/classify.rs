//! What a refusal means.

use crate::ErrorClass;
use serde_json::Value;

/// What an error answer, or an error object in a stream, says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its class.
    pub(super) class: ErrorClass,
    /// The server's words, as they came.
    pub(super) said: String,
}

impl Refusal {
    /// Reads `body`, which came with the HTTP status `status`; none for an error object inside a stream.
    ///
    /// Servers write errors in many forms: `{"error": {"message", "type", "code"}}` is OpenAI's; others have
    /// the text alone, a list around it, a number as code, the fields at the top, or `detail`.
    pub(super) fn read(status: Option<u16>, body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Self {
                class: classify(status, &[], body),
                said: body.to_owned(),
            };
        };
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let said = ["message", "detail"]
            .iter()
            .find_map(|key| error.get(key).and_then(Value::as_str))
            .or_else(|| error.as_str())
            .unwrap_or_default();
        let names: Vec<String> = ["code", "type", "status"]
            .iter()
            .filter_map(|key| error.get(key).and_then(Value::as_str))
            .map(str::to_ascii_lowercase)
            .collect();
        let number = || {
            error
                .get("code")
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok())
        };
        let class = classify(status.or_else(number), &names, said);
        Self {
            class,
            said: said.to_owned(),
        }
    }
}

fn classify(status: Option<u16>, names: &[String], said: &str) -> ErrorClass {
    let named = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    // These say more than any status: OpenAI answers 429 when the credit is used up.
    if named(&[
        "insufficient_quota",
        "insufficient_balance",
        "insufficient_credits",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "payment_required",
    ]) {
        return ErrorClass::Billing;
    }
    if named(&["context_length_exceeded", "exceed_context_size_error"]) {
        return ErrorClass::ContextOverflow;
    }
    if named(&[
        "content_filter",
        "content_policy_violation",
        "content_policy",
        "responsibleaipolicyviolation",
        "moderation_blocked",
    ]) {
        return ErrorClass::ContentPolicy;
    }
    if named(&["model_not_found", "deploymentnotfound"]) {
        return ErrorClass::ModelNotFound;
    }
    let by_name = || {
        if named(&[
            "rate_limit_exceeded",
            "rate_limit_error",
            "too_many_requests",
            "resource_exhausted",
        ]) {
            Some(ErrorClass::RateLimited)
        } else if named(&[
            "overloaded",
            "overloaded_error",
            "server_overloaded",
            "engine_overloaded",
            "engine_overloaded_error",
            "slow_down",
            "unavailable",
        ]) {
            Some(ErrorClass::Overloaded)
        } else if named(&[
            "invalid_api_key",
            "authentication_error",
            "permission_error",
            "permission_denied",
        ]) {
            Some(ErrorClass::Auth)
        } else {
            None
        }
    };
    match status {
        Some(401 | 403) => ErrorClass::Auth,
        Some(402) => ErrorClass::Billing,
        Some(404) => ErrorClass::ModelNotFound,
        Some(408 | 504) => ErrorClass::Timeout,
        Some(429) => ErrorClass::RateLimited,
        Some(503 | 529) => ErrorClass::Overloaded,
        _ if speaks_of_the_window(said) => ErrorClass::ContextOverflow,
        Some(413) => ErrorClass::PayloadTooLarge,
        Some(400..500) => ErrorClass::BadRequest,
        // A stream that had begun well, or a server that is at fault itself.
        _ if named(&["invalid_request_error"]) => ErrorClass::BadRequest,
        _ => by_name().unwrap_or(ErrorClass::Server),
    }
}

/// Many servers have no code for a request that is longer than the window.
fn speaks_of_the_window(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    [
        "maximum context length",
        "context length exceeded",
        "exceeds the context length",
        "exceeds the available context size",
        "exceeds the context window",
        "context window exceeded",
        "prompt is too long",
        "input is too long",
    ]
    .iter()
    .any(|phrase| said.contains(phrase))
}
