//! The rules that do not refuse a call but want the owner to be asked.

use super::wording::{lines, listed, shown, shown_resource, some_of};
use super::{Refusal, Verdict};
use crate::{Classification, Resource, SessionFacts, SinkLevel, ToolCallFlow};

/// What a grant is, for people.
const ONE_CALL: &str = "possible: grant this one call, or refuse it; the model is told";

/// Check 8: once per level, before the taint rises above what is usual here.
pub(super) fn bumper(call: &ToolCallFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (from, brings) = (session.taint.label().classification, call.brings());
    let to = from.max(brings);
    let Some(bumper) = session.bumper else {
        return Verdict::Passed("nobody is asked here before a session rises".to_owned());
    };
    if !bumper.asks(from, to) {
        return Verdict::Passed(if to == from {
            format!("the session is {from} already")
        } else if to <= bumper.above {
            format!("{to} is usual here")
        } else {
            format!("the owner let this session become {to} before")
        });
    }
    if call.granted {
        return Verdict::Passed(format!("the owner granted this call, which brings {to} data"));
    }
    let tool = shown(call.tool.name.as_str());
    let carriers: Vec<String> = call
        .resources
        .iter()
        .filter_map(|resource| match resource {
            Resource::Source { what, label } | Resource::Payload { what, label }
                if label.classification == brings =>
            {
                Some(shown_resource(what))
            }
            Resource::Source { .. } | Resource::Payload { .. } | Resource::Sink { .. } => None,
        })
        .collect();
    let does = if carriers.is_empty() {
        format!("{tool} wants to bring in {to} data")
    } else {
        format!("{tool} wants to read {} ({to})", listed(&some_of(carriers)))
    };
    Verdict::Asked(Refusal {
        why: format!("the session is {from} and would become {to}"),
        explanation: lines(
            format!("{does}; this session is {from} and would become {to}"),
            [
                format!("from then on what it says and writes can go only where {to} data may be"),
                format!(
                    "possible: grant it, and {to} is not asked about again in this session; or refuse it"
                ),
            ],
        ),
        told: format!("{tool} would bring {to} data into this conversation, which the owner has to approve."),
    })
}

/// `[policy.tools.NAME] approval = true`, or the tool's own declaration.
pub(super) fn tool_approval(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let tool = shown(call.tool.name.as_str());
    if !call.tool.approval {
        return Verdict::Passed(format!("{tool} runs without being approved"));
    }
    if call.granted {
        return Verdict::Passed("the owner granted this call".to_owned());
    }
    Verdict::Asked(Refusal {
        why: format!("each call of {tool} has to be approved"),
        explanation: lines(
            format!("{tool} wants to {}", deeds(call)),
            [
                format!("each call of {tool} has to be approved"),
                ONE_CALL.to_owned(),
            ],
        ),
        told: format!("Each call of {tool} has to be approved by the owner."),
    })
}

/// What the call would do, as far as its resources tell.
fn deeds(call: &ToolCallFlow<'_>) -> String {
    let mut sinks: Vec<(Classification, String)> = Vec::new();
    let mut sources = Vec::new();
    for resource in call.resources {
        match resource {
            Resource::Sink {
                what,
                level: SinkLevel::Level(level),
            } => sinks.push((*level, format!("{} ({level})", shown_resource(what)))),
            // Refused before this is asked.
            Resource::Sink {
                level: SinkLevel::OwnFile,
                ..
            } => {}
            Resource::Source { what, label } | Resource::Payload { what, label } => {
                sources.push(format!("{} ({})", shown_resource(what), label.classification));
            }
        }
    }
    // The lowest first: it is what the data would reach.
    sinks.sort_by_key(|(level, _)| *level);
    let sinks: Vec<String> = sinks.into_iter().map(|(_, name)| name).collect();
    if !sinks.is_empty() {
        return format!("write or send to {}", listed(&some_of(sinks)));
    }
    if !sources.is_empty() {
        return format!("read {}", listed(&some_of(sources)));
    }
    "run; it names nothing that it reads or writes".to_owned()
}
