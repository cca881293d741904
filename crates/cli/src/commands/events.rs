//! `tidegate events`.

use super::sessions::StoredEventJson;
use crate::args::{EventsArgs, Global};
use crate::environment;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::output;
use std::time::Duration;
use tidegate_message::{
    ApprovalDecision, BrokenPart, Event, EventKind, Limit, QuestionEnd, SummaryBy, TurnStatus, Unavailable,
};
use tidegate_policy::{Decision, FlowKind, escaped};
use tidegate_runtime::Reader;
use tidegate_store::{EventFilter, StoredEvent};

/// How often `--follow` looks for what other processes recorded.
const INTERVAL: Duration = Duration::from_millis(200);

/// Events read at once, so that a long history does not fill the memory.
const PAGE: usize = 1_000;

pub(crate) async fn run(global: &Global, args: &EventsArgs) -> anyhow::Result<Exit> {
    let reader = environment::reader(global)?;
    let session = match &args.session {
        Some(given) => Some(reader.session(given).await?.session.id),
        None => None,
    };
    // Before the first event is shown: who has read one may interrupt.
    let mut interrupts = if args.follow {
        Some(Interrupts::new()?)
    } else {
        None
    };
    let mut after = 0;
    loop {
        let filter = EventFilter {
            session,
            kind: args.kind.clone(),
            after,
            limit: Some(PAGE),
        };
        let page = reader.events(filter).await?;
        let full = !page.is_last;
        after = page.after;
        for stored in page.events {
            show(global, &reader, stored)?;
        }
        let Some(interrupts) = &mut interrupts else {
            if full {
                continue;
            }
            return Ok(Exit::Ok);
        };
        let pause = if full { Duration::ZERO } else { INTERVAL };
        tokio::select! {
            biased;
            () = interrupts.next() => return Ok(Exit::Cancelled),
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn show(global: &Global, reader: &Reader, stored: StoredEvent) -> anyhow::Result<()> {
    if global.json {
        return output::json(&StoredEventJson::of(stored, reader));
    }
    let event = &stored.event;
    let line = format!(
        "{}  {}:{:<4} {:<16} {}",
        super::local_time(event.at_ms),
        event.session,
        event.sequence,
        event.kind.name(),
        about(event)
    );
    output::line(line.trim_end())
}

/// `1 call`, `2 calls`.
fn counted(number: impl TryInto<u64>, what: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// What moves in a flow about which nothing more is known.
pub(super) fn of_flow(flow: FlowKind) -> &'static str {
    match flow {
        FlowKind::ToolCall => "a tool call",
        FlowKind::Response => "a tool's result",
        FlowKind::Model => "the context, to the model",
        FlowKind::Context => "text, into the context",
        FlowKind::Answer => "the answer, to its reader",
        FlowKind::SecretAccess => "a secret, into a call",
        FlowKind::SessionReset => "the reset of the session",
        FlowKind::AgentInvocation => "a task, to another agent",
        FlowKind::McpToolCall => "a call, to an MCP server",
    }
}

/// The event in a few words.
fn about(event: &Event) -> String {
    match &event.kind {
        EventKind::SessionCreated { name, clearance } => {
            let name = name.as_ref().map_or("-", |name| name.as_str());
            format!("{name}, clearance {clearance}")
        }
        EventKind::TurnStarted => String::new(),
        EventKind::TurnResumed { unknown_calls } => {
            format!("{} with unknown outcome", counted(unknown_calls.len(), "call"))
        }
        EventKind::ModelCalled {
            model,
            round,
            entries,
            ..
        } => {
            let entries = match entries {
                1 => "1 entry".to_owned(),
                entries => format!("{entries} entries"),
            };
            format!("{model}, round {round}, {entries}")
        }
        EventKind::ModelReplied {
            model,
            usage,
            calls,
            duration_ms,
            ..
        } => format!(
            "{model}, {}, {} tokens in ({} cached), {} out, {duration_ms} ms",
            counted(*calls, "call"),
            usage.input(),
            usage.cache_read,
            usage.output
        ),
        EventKind::ModelFailed {
            model,
            class,
            message,
        } => format!("{model}, {class}: {}", escaped(message)),
        EventKind::ModelRetracted { model, characters } => format!("{model}, {characters} characters"),
        EventKind::ModelRetried {
            model,
            class,
            attempt,
            wait_ms,
        } => format!("{model} after {class}, try {attempt} in {wait_ms} ms"),
        EventKind::ModelDelayed { model, wait_ms } => format!("{model}, for {wait_ms} ms"),
        EventKind::ModelUnavailable {
            model,
            class,
            wait_ms,
        } => format!(
            "{model}, {} for {wait_ms} ms",
            match class {
                Unavailable::CircuitOpen => "does not answer",
                Unavailable::AskedToWait => "asks to be left alone",
            }
        ),
        EventKind::ModelFallback { from, to } => format!("{from} → {to}"),
        EventKind::ModelSkipped { model, evaluation } => {
            format!(
                "{model}: {}",
                escaped(evaluation.explanation.as_deref().unwrap_or_default())
            )
        }
        EventKind::FlowJudged { tool, evaluation, .. } => {
            let what = match (tool, evaluation.flow) {
                (Some(tool), FlowKind::Response) => format!("the result of {tool}"),
                (Some(tool), _) => tool.to_string(),
                (None, flow) => of_flow(flow).to_owned(),
            };
            let rule = evaluation
                .rule
                .as_ref()
                .map(|rule| format!(" by {rule}"))
                .unwrap_or_default();
            let decision = match evaluation.decision {
                Decision::Allow => "ALLOW",
                Decision::Block => "BLOCK",
                Decision::RequireApproval => "REQUIRE_APPROVAL",
            };
            format!("{decision}{rule} {}", escaped(&what))
        }
        EventKind::ApprovalAsked {
            approval,
            call,
            tool,
            rule,
        } => format!("{approval} for {} {call} by {rule}", escaped(tool.as_str())),
        EventKind::ApprovalDecided {
            approval,
            call,
            tool,
            decision,
            ..
        } => {
            let decision = match decision {
                ApprovalDecision::Granted => "granted",
                ApprovalDecision::Refused => "refused",
                ApprovalDecision::Expired => "expired",
            };
            format!("{approval} {decision}, {} {call}", escaped(tool.as_str()))
        }
        EventKind::ApprovalUsed {
            approval, call, tool, ..
        } => {
            format!("{approval} for {} {call}", escaped(tool.as_str()))
        }
        EventKind::QuestionAsked { approval, call, tool } => {
            format!("{approval} by {} {call}", escaped(tool.as_str()))
        }
        EventKind::QuestionSettled { approval, call, end } => {
            let end = match end {
                QuestionEnd::Answered => "answered",
                QuestionEnd::Refused => "refused",
                QuestionEnd::Expired => "expired",
                QuestionEnd::GivenUp => "given up",
            };
            format!("{approval} {end}, {call}")
        }
        EventKind::ToolStarted { call, tool } => format!("{} {call}", escaped(tool.as_str())),
        EventKind::ToolFinished {
            call,
            tool,
            status,
            duration_ms,
            ..
        } => {
            let status = super::word(*status);
            format!("{} {call} {status}, {duration_ms} ms", escaped(tool.as_str()))
        }
        EventKind::TaintRaised { from, to, origin } => {
            format!("{from} → {to} by {}", escaped(&origin.to_string()))
        }
        EventKind::TierSwitched { from, to, .. } => format!("{from} → {to}"),
        EventKind::TurnLimited { limit, allowed } => match limit {
            Limit::Rounds => format!("after {allowed} rounds"),
            Limit::Calls => format!("after {allowed} tool calls"),
            Limit::Refusals => format!("after {allowed} refusals of the owner"),
            Limit::Repeats => format!("the same call had the same result {allowed} times"),
        },
        EventKind::CompactionStarted {
            cause,
            tokens,
            window,
        } => format!("{}, {tokens} tokens, window {window}", super::trigger(*cause)),
        EventKind::CompactionFinished {
            summary,
            reason,
            messages_before,
            messages_after,
            tokens_before,
            tokens_after,
            ..
        } => {
            let how = match summary {
                Some(SummaryBy::Model) => ", summed up by a model".to_owned(),
                Some(SummaryBy::Plain) => format!(
                    ", summed up without a model: {}",
                    escaped(reason.as_deref().unwrap_or_default())
                ),
                None => String::new(),
            };
            format!(
                "{messages_before} → {messages_after} messages, {tokens_before} → {tokens_after} tokens{how}"
            )
        }
        EventKind::CompactionFailed { error, wait_ms, .. } => {
            format!("not tried again for {wait_ms} ms: {}", escaped(error))
        }
        EventKind::MemoryRecalled {
            memories,
            left_out,
            words_alone,
        } => {
            let items: Vec<String> = memories
                .iter()
                .map(|item| format!("{} ({})", escaped(&item.memory), item.label))
                .collect();
            let by = if words_alone.is_some() {
                ", by words alone"
            } else {
                ""
            };
            let more = if *left_out > 0 {
                format!(", {left_out} left out")
            } else {
                String::new()
            };
            format!("{} recalled{more}{by} {}", items.len(), items.join(", "))
                .trim_end()
                .to_owned()
        }
        EventKind::MemoryUnavailable { message, .. } => escaped(message).into_owned(),
        EventKind::PrefixBreak {
            cause,
            part,
            index,
            tokens,
        } => {
            let place = match part {
                BrokenPart::Model => "the model".to_owned(),
                BrokenPart::Tool => format!("tool {index}"),
                BrokenPart::System => "the system prompt".to_owned(),
                BrokenPart::Message => format!("message {index}"),
            };
            format!("{} at {place}, {tokens} tokens anew", super::broken_by(*cause))
        }
        EventKind::MemoryReleased { memory, from, to } => {
            format!("{} from {from} to {to}", escaped(memory.as_str()))
        }
        EventKind::TurnFinished {
            status, usage, error, ..
        } => {
            let error = error
                .as_ref()
                .map(|error| format!(": {}", escaped(error)))
                .unwrap_or_default();
            let status = match status {
                TurnStatus::Success => "success",
                TurnStatus::PendingQuestion => "waits for an answer",
                TurnStatus::AwaitingApproval => "waits for an approval",
                TurnStatus::Blocked => "blocked",
                TurnStatus::Cancelled => "cancelled",
                TurnStatus::Error => "error",
            };
            format!(
                "{status}, {} tokens in, {} out{error}",
                usage.input(),
                usage.output
            )
        }
    }
}
