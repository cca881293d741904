//! Everything a run says to a model, and the little it says to people. Snapshots guard it.

use crate::TurnLimit;
use crate::run::{Forced, MAX_REFUSALS};
use std::fmt::Display;
use std::time::Duration;
use tidegate_message::Tier;
use tidegate_policy::{ToolName, escaped};

/// To a model whose reply had neither text nor calls.
pub(crate) const EMPTY_REPLY: &str =
    "Your last message was empty. Give your answer, or call a tool if there is something left to do.";

/// The result of a call that came too late.
pub(crate) fn not_run(forced: Forced, limit: TurnLimit) -> &'static str {
    match (forced, limit) {
        (Forced::Limit, TurnLimit::Calls(_)) => "not run: budget exhausted",
        (Forced::Limit, TurnLimit::Rounds(_)) => "not run: rounds exhausted",
        (Forced::Refusals, _) => "not run: the owner refused too many calls",
        (Forced::Repeating, _) => "not run: repeated",
    }
}

/// To a model that may only answer from now on.
pub(crate) fn notice(forced: Forced, limit: TurnLimit) -> String {
    let what = match (forced, limit) {
        (Forced::Limit, TurnLimit::Calls(allowed)) => format!(
            "Your budget of {allowed} tool calls does not suffice: the calls you asked for last were not run, and no \
             more will be."
        ),
        (Forced::Limit, TurnLimit::Rounds(allowed)) => format!(
            "Your {allowed} rounds of tool calls are used up: the calls you asked for last were not run, and no more \
             will be."
        ),
        (Forced::Refusals, _) => {
            format!("The owner refused {MAX_REFUSALS} of your calls in this turn. No more calls will be run.")
        }
        (Forced::Repeating, _) => {
            "You went on with a call whose result is the same every time. No more calls will be run."
                .to_owned()
        }
    };
    format!("{what} Answer now with what you have, and say what is missing.")
}

/// To a model that makes the same call again and again.
pub(crate) fn nudge(tool: &ToolName, times: u32) -> String {
    let name: String = escaped(tool.as_str()).chars().take(64).collect();
    format!(
        "You have called {name} {times} times with the same arguments, and the result was the same every time. Calling \
         it again like this will not change that. Do something else, or answer with what you have."
    )
}

/// The answer if a model has not given one, not even when it was told to.
pub(crate) fn no_answer(forced: Forced, limit: TurnLimit) -> String {
    match (forced, limit) {
        (Forced::Limit, TurnLimit::Calls(allowed)) => {
            format!("The budget of {allowed} tool calls was used up before there was an answer.")
        }
        (Forced::Limit, TurnLimit::Rounds(allowed)) => {
            format!("All {allowed} rounds of tool calls were used up before there was an answer.")
        }
        (Forced::Refusals, _) => {
            format!("The owner refused {MAX_REFUSALS} calls, and there was no answer without them.")
        }
        (Forced::Repeating, _) => {
            "The model repeated the same call with the same result and gave no answer.".to_owned()
        }
    }
}

/// The result of a call that had not begun when the turn's time was up.
pub(crate) const EXPIRED_BEFORE: &str = "not run: the turn's time was up before it began";

/// The result of a call that had begun when the turn's time was up.
pub(crate) const EXPIRED_WHILE: &str =
    "stopped while it ran, because the turn's time was up; it may have happened";

/// To people: the turn took too long.
pub(crate) fn expired(allowed: Duration) -> String {
    format!(
        "the turn took longer than {} s and was stopped\n  possible: raise [agent] turn_timeout_s, ask for less at \
         once, or resume the session to go on where it stopped",
        allowed.as_secs()
    )
}

/// The result of a call that had not begun when the turn was cancelled.
pub(crate) const CANCELLED_BEFORE: &str = "cancelled before it ran";

/// The result of a call that had begun when the turn was cancelled.
pub(crate) const CANCELLED_WHILE: &str = "cancelled while it ran; it may have happened";

/// The result of a call in the middle of which the reply ends.
pub(crate) const CUT_CALL: &str = "not run: your message was cut off inside this call. Call it again; if its \
                                   arguments are long, do the work in smaller steps.";

/// The result of a tier switch where there is nothing to switch to.
pub(crate) const FIXED_MODEL: &str =
    "not switched: the model of this session is fixed, and there are no tiers to switch to. Go on yourself.";

/// The result of each of several tier switches in one message.
pub(crate) fn several_switches(targets: &[Tier]) -> String {
    refused_switch(
        "a message can switch the tier once, and this one asks for it several times",
        targets,
    )
}

/// The result of one tier switch too many.
pub(crate) fn too_many_switches(most: u32) -> String {
    format!(
        "not switched: the tier was switched {most} times in this turn, which is the most there is. Go on yourself."
    )
}

/// The result of a tier switch whose arguments cannot be read.
pub(crate) fn switch_arguments(problem: &dyn Display, targets: &[Tier]) -> String {
    refused_switch(&problem.to_string(), targets)
}

/// The result of a switch to something that is no tier.
pub(crate) fn unknown_tier(given: &str, targets: &[Tier]) -> String {
    let given: String = given.chars().take(40).collect();
    refused_switch(&format!("there is no tier {given:?}"), targets)
}

/// The result of a switch to a tier above the ceiling.
pub(crate) fn above_ceiling(to: Tier, ceiling: Tier, targets: &[Tier]) -> String {
    refused_switch(
        &format!("{to} is above {ceiling}, the highest tier this session may use"),
        targets,
    )
}

/// The result of a switch to where one is.
pub(crate) fn same_tier(to: Tier, targets: &[Tier]) -> String {
    refused_switch(&format!("this is {to} already"), targets)
}

/// The result of a switch that hands nothing over.
pub(crate) fn empty_plan(targets: &[Tier]) -> String {
    refused_switch(
        "transfer_plan says nothing; write what the next model has to know and do",
        targets,
    )
}

fn refused_switch(why: &str, targets: &[Tier]) -> String {
    let targets: Vec<&str> = targets.iter().map(|tier| tier.as_str()).collect();
    format!("not switched: {why}. Valid targets: {}.", targets.join(", "))
}

/// To people: the model stays silent.
pub(crate) const SILENT_MODEL: &str =
    "the model gave an empty answer, and again when it was told so; ask again, or use another model";

/// To people: the provider filtered the whole answer.
pub(crate) const WITHHELD_ANSWER: &str = "the provider withheld the answer (its content filter stopped the \
                                          model); put the request differently, or use another model";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_and_people_read() {
        let targets = [Tier::Flash, Tier::Pro];
        let texts = [
            EMPTY_REPLY.into(),
            not_run(Forced::Limit, TurnLimit::Calls(25)).into(),
            not_run(Forced::Limit, TurnLimit::Rounds(30)).into(),
            notice(Forced::Limit, TurnLimit::Calls(25)),
            notice(Forced::Limit, TurnLimit::Rounds(30)),
            no_answer(Forced::Limit, TurnLimit::Calls(25)),
            no_answer(Forced::Limit, TurnLimit::Rounds(30)),
            nudge(&"read_file".into(), 3),
            nudge(&"\u{1b}[2Jx\n".repeat(1_000).as_str().into(), 36),
            not_run(Forced::Repeating, TurnLimit::Rounds(30)).into(),
            notice(Forced::Repeating, TurnLimit::Rounds(30)),
            no_answer(Forced::Repeating, TurnLimit::Rounds(30)),
            not_run(Forced::Refusals, TurnLimit::Rounds(30)).into(),
            notice(Forced::Refusals, TurnLimit::Rounds(30)),
            no_answer(Forced::Refusals, TurnLimit::Rounds(30)),
            EXPIRED_BEFORE.into(),
            EXPIRED_WHILE.into(),
            expired(Duration::from_secs(1_800)),
            CANCELLED_BEFORE.into(),
            CANCELLED_WHILE.into(),
            CUT_CALL.into(),
            FIXED_MODEL.into(),
            several_switches(&targets),
            too_many_switches(8),
            switch_arguments(&"missing field `transfer_plan`", &targets),
            unknown_tier("gpt", &targets),
            unknown_tier(&"\u{1f980}".repeat(1_000), &targets),
            above_ceiling(Tier::Pro, Tier::Flash, &[Tier::Lite]),
            same_tier(Tier::Lite, &targets),
            empty_plan(&targets),
            SILENT_MODEL.into(),
            WITHHELD_ANSWER.into(),
        ];
        insta::assert_snapshot!(texts.join("\n"));
    }
}
