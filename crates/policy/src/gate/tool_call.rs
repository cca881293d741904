//! The rules for a tool call, before it runs.

use super::asking::{bumper, tool_approval};
use super::integrity::integrity_by_value;
use super::wording::{HIGHER_CLEARANCE, alternatives, how_it_came_to, lines, shown, shown_resource};
use super::{Refusal, Stage, Verdict, rule};
use crate::{
    Admission, ArgumentCheck, Classification, Integrity, Label, Resource, ResourceKind, ResourceRef,
    SessionFacts, SinkLevel, ToolCallFlow, escaped,
};

/// Checks 1 to 6 and 8, and the tool's own wish to be approved, in order.
pub(super) fn stages<'a>() -> [Stage<ToolCallFlow<'a>>; 10] {
    [
        Stage {
            rule: rule::ALLOWED_SET,
            judge: allowed_set,
        },
        Stage {
            rule: rule::ROLE,
            judge: role,
        },
        Stage {
            rule: rule::ARGUMENTS,
            judge: arguments,
        },
        Stage {
            rule: rule::NEVER_WRITE_OWN_FILES,
            judge: never_write_own_files,
        },
        Stage {
            rule: rule::TOOL_FLOOR,
            judge: tool_floor,
        },
        Stage {
            rule: rule::READ_CEILING,
            judge: read_ceiling,
        },
        Stage {
            rule: rule::NO_WRITE_DOWN,
            judge: no_write_down,
        },
        Stage {
            rule: rule::INTEGRITY_BY_VALUE,
            judge: integrity_by_value,
        },
        Stage {
            rule: rule::BUMPER,
            judge: bumper,
        },
        Stage {
            rule: rule::TOOL_APPROVAL,
            judge: tool_approval,
        },
    ]
}

/// The label of what the call would carry to its sinks.
///
/// That is the context that produced the arguments, not what the session has read since; everything sent
/// along; and everything the call reads, since a call that both reads and writes may copy. (A tool that
/// edits a file reads and writes the same path, whose two levels agree.) A command's level as a source does
/// not count: it says what the command could reach at most, and whether it can carry that out is
/// decided by its confinement, which sets its level as a sink.
pub(super) fn moving(call: &ToolCallFlow<'_>) -> Label {
    carried(call)
        .map(|(_, label)| label)
        .fold(call.produced_by, Label::join)
}

fn carried<'a>(call: &ToolCallFlow<'a>) -> impl Iterator<Item = (&'a ResourceRef, Label)> {
    call.resources.iter().filter_map(|resource| match resource {
        Resource::Payload { what, label } => Some((what, *label)),
        Resource::Source { what, label } if what.kind != ResourceKind::Command => Some((what, *label)),
        Resource::Source { .. } | Resource::Sink { .. } => None,
    })
}

fn sinks<'a>(call: &ToolCallFlow<'a>) -> impl Iterator<Item = (&'a ResourceRef, SinkLevel)> {
    call.resources.iter().filter_map(|resource| match resource {
        Resource::Sink { what, level } => Some((what, *level)),
        Resource::Source { .. } | Resource::Payload { .. } => None,
    })
}

fn allowed_set(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let tool = shown(call.tool.name.as_str());
    let Admission::NotOffered { available } = call.admission else {
        return Verdict::Passed(format!("{tool} is offered here"));
    };
    let names: Vec<String> = available.iter().map(|name| shown(name.as_str())).collect();
    let (possible, told) = if names.is_empty() {
        (
            "answer without tools: none is offered here".to_owned(),
            format!("{tool} cannot be used: no tool is offered here."),
        )
    } else {
        let names = names.join(", ");
        (
            format!("call one of: {names}"),
            format!("There is no tool {tool} here. Use one of: {names}."),
        )
    };
    Verdict::Refused(Refusal {
        why: format!("{tool} is not among the tools offered here"),
        explanation: lines(
            format!("the model called {tool}, which is not among the tools offered here"),
            [format!("possible: {possible}")],
        ),
        told,
    })
}

fn role(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let (has, needs) = (call.role, call.tool.role);
    if has >= needs {
        return Verdict::Passed(format!("the user's role is {has}, the tool asks for {needs}"));
    }
    let tool = shown(call.tool.name.as_str());
    Verdict::Refused(Refusal {
        why: format!("the user's role is {has}, {tool} asks for {needs}"),
        explanation: lines(
            format!("{tool} is for the role {needs}; the user's role is {has}"),
            [format!(
                "possible: let a user with the role {needs} ask, or change `role` in [users.NAME]"
            )],
        ),
        told: format!("This user may not use {tool}. Do it another way or tell the user."),
    })
}

fn arguments(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let ArgumentCheck::Invalid { problem } = call.arguments else {
        return Verdict::Passed("the arguments fit the tool's schema".to_owned());
    };
    let (tool, problem) = (shown(call.tool.name.as_str()), escaped(problem));
    Verdict::Refused(Refusal {
        why: format!("the arguments do not fit the tool's schema: {problem}"),
        explanation: lines(
            format!("the model called {tool} with arguments that do not fit its schema"),
            [
                format!("the problem: {problem}"),
                "possible: the model is told, and can call again".to_owned(),
            ],
        ),
        told: format!("The arguments of {tool} do not fit: {problem}"),
    })
}

fn never_write_own_files(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let own = sinks(call).find(|(_, level)| *level == SinkLevel::OwnFile);
    let Some((what, _)) = own else {
        let why = match sinks(call).count() {
            0 => "the call writes and sends nothing".to_owned(),
            _ => "it writes to none of the program's own files".to_owned(),
        };
        return Verdict::Passed(why);
    };
    let (tool, what) = (shown(call.tool.name.as_str()), shown_resource(what));
    Verdict::Refused(Refusal {
        why: format!("{what} is one of the program's own files"),
        explanation: lines(
            format!("{tool} wants to write to {what}, one of the program's own files"),
            [
                "no tool may change the program's configuration, data, templates, keys, skills or scenarios"
                    .to_owned(),
                "possible: the owner changes it by hand".to_owned(),
            ],
        ),
        told: format!("No tool can write to {what}. If it has to change, the user has to do it."),
    })
}

fn tool_floor(call: &ToolCallFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (has, floor) = (session.taint.label().classification, call.tool.floor);
    if floor == Classification::Public {
        return Verdict::Passed("the tool has no floor".to_owned());
    }
    if has >= floor {
        return Verdict::Passed(format!("the session is {has}, the tool's floor {floor}"));
    }
    let tool = shown(call.tool.name.as_str());
    Verdict::Refused(Refusal {
        why: format!("the session is {has}, below the tool's floor {floor}"),
        explanation: lines(
            format!("{tool} is for sessions that hold {floor} data; this one is {has}"),
            [format!(
                "possible: use it once the session has read {floor} data, give the task with \
                 `run --level {floor}`, or lower `floor` in [policy.tools.{tool}]"
            )],
        ),
        told: format!(
            "{tool} can be used only after {floor} data was read in this conversation; so far it holds {has} \
             data."
        ),
    })
}

fn read_ceiling(call: &ToolCallFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (tool, clearance) = (shown(call.tool.name.as_str()), session.clearance);
    let possible = HIGHER_CLEARANCE.to_owned();

    let returned = call.tool.source.classification;
    if !returned.can_flow_to(clearance) {
        return Verdict::Refused(Refusal {
            why: format!("what {tool} returns is {returned}, above the clearance {clearance}"),
            explanation: lines(
                format!("what {tool} returns is {returned}; this session may read at most {clearance}"),
                [possible],
            ),
            told: format!("{tool} returns {returned} data, and this session may read at most {clearance}."),
        });
    }
    let mut read = 0_usize;
    for resource in call.resources {
        let (what, label, verb) = match resource {
            Resource::Source { what, label } => (what, label, "read"),
            Resource::Payload { what, label } => (what, label, "send along"),
            Resource::Sink { .. } => continue,
        };
        let level = label.classification;
        if !level.can_flow_to(clearance) {
            let what = shown_resource(what);
            return Verdict::Refused(Refusal {
                why: format!("{what} is {level}, above the clearance {clearance}"),
                explanation: lines(
                    format!(
                        "{tool} wants to {verb} {what} ({level}); this session may read at most {clearance}"
                    ),
                    [possible],
                ),
                told: format!("{what} has the level {level}, and this session may read at most {clearance}."),
            });
        }
        read += 1;
    }
    Verdict::Passed(match read {
        0 => format!("what it returns is {returned}, within the clearance {clearance}"),
        1 => format!("what it reads and returns is within the clearance {clearance}"),
        _ => format!("all {read} things it reads, and what it returns, are within the clearance {clearance}"),
    })
}

fn no_write_down(call: &ToolCallFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let level = moving(call).classification;
    let may_hold = |sink: SinkLevel| match sink {
        SinkLevel::Level(sink) => Some(sink),
        SinkLevel::OwnFile => None,
    };
    let too_low = sinks(call).find(|(_, sink)| !may_hold(*sink).is_some_and(|sink| level.can_flow_to(sink)));
    let Some((what, sink)) = too_low else {
        return Verdict::Passed(match sinks(call).filter_map(|(_, sink)| may_hold(sink)).min() {
            None => "the call writes and sends nothing".to_owned(),
            Some(lowest) => {
                format!("{level} data may go to each sink, the lowest of which may hold {lowest}")
            }
        });
    };
    if call.released && moving(call).integrity == Integrity::Trusted {
        return Verdict::Passed("the owner released exactly this to exactly there".to_owned());
    }
    let by_context = call.produced_by.classification == level;
    let carrier = carried(call).find(|(_, label)| label.classification == level);
    let (cause, told_cause) = match carrier {
        Some((carrier, _)) if !by_context => {
            let carrier = shown_resource(carrier);
            (
                format!("{carrier}, which goes along, is {level}"),
                format!("{carrier} is {level}"),
            )
        }
        _ => (
            how_it_came_to(level, session),
            format!("This conversation holds {level} data"),
        ),
    };
    let wording = SinkWording::of(what.kind, level);
    let SinkWording {
        verb,
        capacity,
        instead,
        setting,
    } = &wording;
    let (tool, what) = (shown(call.tool.name.as_str()), shown_resource(what));
    let capacity = match may_hold(sink) {
        Some(sink) => format!("may {capacity} at most {sink} data"),
        None => "is one of the program's own files".to_owned(),
    };
    // A new session helps only where nothing the call itself names is too high.
    let named_is_too_high =
        carried(call).any(|(_, label)| !may_hold(sink).is_some_and(|sink| label.can_flow_to(sink)));
    let fresh = (!named_is_too_high).then(|| "ask in a new session".to_owned());
    let ways: Vec<String> = [Some(instead.clone()), setting.clone(), fresh]
        .into_iter()
        .flatten()
        .collect();
    Verdict::Refused(Refusal {
        why: format!("{level} data would go to {what}, which {capacity}"),
        explanation: lines(
            format!("{tool} wants to {verb} {level} data to {what}, which {capacity}"),
            [cause, format!("possible: {}", alternatives(&ways))],
        ),
        told: format!("{told_cause}, and {what} {capacity}. Possible: {instead}; else tell the user."),
    })
}

/// The words for a sink of one kind.
struct SinkWording {
    /// What the call wants to do with the data.
    verb: &'static str,
    /// What the sink may do with it.
    capacity: &'static str,
    /// What to do instead.
    instead: String,
    /// What the owner may change.
    setting: Option<String>,
}

impl SinkWording {
    /// The words for data of `level`.
    fn of(kind: ResourceKind, level: Classification) -> Self {
        match kind {
            ResourceKind::Path => Self {
                verb: "write",
                capacity: "hold",
                instead: format!(
                    "write where {level} data may be, such as below {}/",
                    level.as_str().to_ascii_lowercase()
                ),
                setting: Some("give the path that level in [policy.paths]".to_owned()),
            },
            ResourceKind::Url => Self {
                verb: "send",
                capacity: "receive",
                instead: format!("send to a host of level {level}"),
                setting: Some("give the host that level in [policy.hosts]".to_owned()),
            },
            ResourceKind::Recipient => Self {
                verb: "send",
                capacity: "receive",
                instead: format!("send to a channel and recipient of level {level}"),
                setting: Some("give both that level in [channels]".to_owned()),
            },
            ResourceKind::Session => Self {
                verb: "send",
                capacity: "receive",
                instead: format!("send to a session that holds {level} data itself"),
                setting: None,
            },
            ResourceKind::Command => Self {
                verb: "hand",
                capacity: "receive",
                instead: "do it without a command".to_owned(),
                setting: None,
            },
        }
    }
}
