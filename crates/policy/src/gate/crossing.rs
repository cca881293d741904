//! The rules for what enters the context and what leaves it other than by a call.

use super::wording::{HIGHER_CLEARANCE, how_it_came_to, lines, shown};
use super::{Refusal, Stage, Verdict, rule};
use crate::{AnswerFlow, Classification, ContextFlow, Label, ModelFlow, ResponseFlow, SessionFacts, escaped};

/// What a model is told instead of a result above the clearance. Fixed: it must not tell what was found.
const WITHHELD: &str = "The result is withheld: it is above what this session may read.";

pub(super) fn response_stages<'a>() -> [Stage<ResponseFlow<'a>>; 1] {
    [Stage {
        rule: rule::READ_CEILING,
        judge: response_within_ceiling,
    }]
}

pub(super) fn context_stages<'a>() -> [Stage<ContextFlow<'a>>; 1] {
    [Stage {
        rule: rule::READ_CEILING,
        judge: context_within_ceiling,
    }]
}

pub(super) fn model_stages<'a>() -> [Stage<ModelFlow<'a>>; 1] {
    [Stage {
        rule: rule::PROVIDER_CLEARANCE,
        judge: provider_clearance,
    }]
}

pub(super) fn answer_stages<'a>() -> [Stage<AnswerFlow<'a>>; 1] {
    [Stage {
        rule: rule::NO_WRITE_DOWN,
        judge: answer_not_down,
    }]
}

/// The tool's own label, what was read, and what the result says of itself, which can only raise.
pub(super) fn label_of_response(response: &ResponseFlow<'_>) -> Label {
    let declared = match response.declared.map(str::parse::<Classification>) {
        None => Label::BOTTOM,
        Some(Ok(level)) => Label::trusted(level),
        Some(Err(_)) => Label::UNREADABLE,
    };
    response.tool.source.join(response.read).join(declared)
}

fn response_within_ceiling(response: &ResponseFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (level, clearance) = (label_of_response(response).classification, session.clearance);
    if level.can_flow_to(clearance) {
        return Verdict::Passed(format!("the result is {level}, within the clearance {clearance}"));
    }
    let tool = shown(response.tool.name.as_str());
    let cause = if response.tool.source.classification == level {
        format!("the tool's source level is {level}")
    } else if response.read.classification == level {
        format!("what it read is {level}")
    } else {
        // What it declares is not repeated where it is no level: it may be any part of the result.
        match response.declared.map(str::parse::<Classification>) {
            Some(Err(_)) => "its _classification is no level, so it counts as RESTRICTED".to_owned(),
            Some(Ok(_)) | None => format!("its _classification is {level}"),
        }
    };
    Verdict::Refused(Refusal {
        why: format!("the result is {level}, above the clearance {clearance}"),
        explanation: lines(
            format!("the result of {tool} is {level}; this session may read at most {clearance}"),
            [
                cause,
                "the model was told only that the result is withheld".to_owned(),
                HIGHER_CLEARANCE.to_owned(),
            ],
        ),
        told: WITHHELD.to_owned(),
    })
}

fn context_within_ceiling(context: &ContextFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (level, clearance) = (context.label.classification, session.clearance);
    if level.can_flow_to(clearance) {
        return Verdict::Passed(format!("the text is {level}, within the clearance {clearance}"));
    }
    let what = escaped(context.what);
    Verdict::Refused(Refusal {
        why: format!("the text is {level}, above the clearance {clearance}"),
        explanation: lines(
            format!("{what} is {level}; this session may read at most {clearance}"),
            ["possible: give it to a session with a higher clearance, or give it a lower level if that is true"
                .to_owned()],
        ),
        told: "The text is withheld: it is above what this session may read.".to_owned(),
    })
}

fn provider_clearance(model: &ModelFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (level, clearance) = (session.taint.label().classification, model.clearance);
    let name = shown(model.model);
    if level.can_flow_to(clearance) {
        return Verdict::Passed(format!("the context is {level}, {name} may be sent {clearance}"));
    }
    Verdict::Refused(Refusal {
        why: format!("the context is {level}, {name} may be sent at most {clearance}"),
        explanation: lines(
            format!("the context is {level}; the model {name} may be sent at most {clearance} data"),
            [
                how_it_came_to(level, session),
                format!(
                    "possible: use a model whose provider has the clearance {level}, raise `clearance` in \
                     [providers.NAME], or ask in a new session"
                ),
            ],
        ),
        told: format!(
            "This conversation holds {level} data, and {name} may be sent at most {clearance} data."
        ),
    })
}

fn answer_not_down(answer: &AnswerFlow<'_>, session: SessionFacts<'_>) -> Verdict {
    let (level, clearance) = (session.taint.label().classification, answer.clearance);
    let reader = shown(answer.reader);
    if level.can_flow_to(clearance) {
        return Verdict::Passed(format!("the session is {level}, {reader} may read {clearance}"));
    }
    Verdict::Refused(Refusal {
        why: format!("the session is {level}, {reader} may read at most {clearance}"),
        explanation: lines(
            format!("the answer would carry {level} data to {reader}, who may read at most {clearance}"),
            [
                how_it_came_to(level, session),
                "possible: have somebody with that clearance read it, raise `clearance` in [users.NAME], or \
                 ask in a new session"
                    .to_owned(),
            ],
        ),
        told: format!("This conversation holds {level} data, and its reader may read at most {clearance}."),
    })
}
