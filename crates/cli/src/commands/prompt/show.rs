//! `tidegate prompt show`.

use crate::args::{Global, PromptShowArgs};
use crate::environment;
use crate::output;
use serde::Serialize;
use tidegate_message::{ModelId, Tier};
use tidegate_policy::{RuleId, SecretName, SessionId, TurnId};
use tidegate_runtime::{RequestPlace, SentRequest, ShownText, Wire};

/// What is printed of a system prompt with `--json`.
#[derive(Serialize)]
struct ShownPrompt<'a> {
    session: &'a str,
    /// Whether it is what is sent, byte for byte.
    exact: bool,
    secrets: &'a [SecretName],
    redacted_by: &'a [RuleId],
    system_prompt: &'a str,
}

/// What is printed of a request with `--json`.
#[derive(Serialize)]
struct ShownRequest<'a> {
    session: SessionId,
    turn: u32,
    turn_id: TurnId,
    round: u32,
    attempt: u32,
    attempts: u32,
    at: String,
    model: &'a ModelId,
    tier: Option<Tier>,
    wire: Wire,
    messages: u64,
    bytes: u64,
    /// Whether it is what was sent, byte for byte.
    exact: bool,
    doubt: Option<&'a str>,
    secrets: &'a [SecretName],
    redacted_by: &'a [RuleId],
    body: &'a str,
}

pub(super) async fn run(global: &Global, args: &PromptShowArgs) -> anyhow::Result<()> {
    let runtime = super::showing(global)?;
    let Some(turn) = args.turn else {
        let prompt = runtime
            .system_prompt(&args.session, &environment::local())
            .await?;
        return system_prompt(global, &args.session, &prompt);
    };
    let place = RequestPlace {
        turn,
        round: args.round.unwrap_or(1),
        attempt: args.attempt.unwrap_or(1),
    };
    let request = runtime
        .sent_request(&args.session, place, &environment::local())
        .await?;
    if global.json {
        return as_json(&request);
    }
    output::aside(&super::about(&request));
    super::reservations(&request.body, request.doubt);
    output::exact(&request.body.text)
}

fn as_json(request: &SentRequest) -> anyhow::Result<()> {
    output::json(&ShownRequest {
        session: request.session,
        turn: request.turn,
        turn_id: request.turn_id,
        round: request.round,
        attempt: request.attempt,
        attempts: request.attempts,
        at: crate::commands::time(request.at_ms),
        model: &request.model,
        tier: request.tier,
        wire: request.wire,
        messages: request.entries,
        bytes: request.bytes,
        exact: request.doubt.is_none() && request.body.is_unchanged(),
        doubt: request.doubt,
        secrets: &request.body.secrets,
        redacted_by: &request.body.redacted_by,
        body: &request.body.text,
    })
}

fn system_prompt(global: &Global, session: &str, prompt: &ShownText) -> anyhow::Result<()> {
    if !global.json {
        super::reservations(prompt, None);
        return output::exact(&prompt.text);
    }
    output::json(&ShownPrompt {
        session,
        exact: prompt.is_unchanged(),
        secrets: &prompt.secrets,
        redacted_by: &prompt.redacted_by,
        system_prompt: &prompt.text,
    })
}
