//! The end of a turn, as it is told to a person.

use crate::output;
use tidegate_message::{TurnStatus, Warning};
use tidegate_policy::escaped;
use tidegate_runtime::{PendingQuestion, TurnReport};

/// A question that waits, line by line. What the model wrote is marked, and escaped where it is printed.
pub(super) fn asked(question: &PendingQuestion) -> Vec<String> {
    let mut lines = vec![format!(
        "the model asks ({}, until {}):",
        question.id,
        super::local_time(question.expires_ms)
    )];
    lines.extend(question.question.trim().lines().map(|line| format!("│ {line}")));
    let choices = question.choices.iter().enumerate();
    lines.extend(choices.map(|(place, choice)| format!("  {}  {}", place + 1, escaped(choice))));
    lines
}

/// Tells what there is to say of a turn besides its answer: reservations, errors, what it waits for.
pub(super) fn reservations(report: &TurnReport) {
    if let Some(warning) = report.warning {
        let text = match warning {
            Warning::BudgetExhausted => "the budget of tool calls was used up",
            Warning::RoundsExhausted => "the rounds of this turn were used up ([agent] max_rounds)",
            Warning::MaxRoundsReached => "the rounds were used up",
            Warning::Repeating => "the model went on with the same call and the same result, and was stopped",
            Warning::ApprovalsRefused => "several calls were not approved",
            Warning::AnswerIncomplete => "the model stopped early (its output limit, or the provider)",
        };
        output::tell(&format!("note: {text}; the answer may be incomplete"));
    }
    match (&report.error, report.status) {
        (Some(error), TurnStatus::Blocked) => output::failure("blocked", error),
        (Some(error), _) => output::failure("error", error),
        (None, TurnStatus::Cancelled) => output::tell("cancelled"),
        (None, _) => {}
    }
    if let Some(question) = report.question.as_ref().filter(|_| report.questions.is_empty()) {
        output::tell(&format!("question: {question}"));
    }
    for question in &report.questions {
        for line in asked(question) {
            output::tell(&line);
        }
    }
    for id in &report.approvals {
        output::tell(&format!(
            "waits for approval: {id}\n  to see it: tidegate approvals list\n  to decide: tidegate approvals grant {id}, or refuse {id}"
        ));
    }
}
