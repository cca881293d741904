//! Asking the owner at the terminal whether a call may run.

use crate::output;
use crate::terminal;
use tidegate_policy::{Classification, confusables, escaped};
use tidegate_runtime::{ApprovalAnswer, ApprovalRequest, Approver, ControlValue, ValueOrigin};
use tidegate_tools::BoxFuture;

/// Rows of a terminal whose size is not known.
const ROWS: usize = 24;

/// The owner at the terminal.
#[derive(Default)]
pub(crate) struct TerminalApprover;

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        Box::pin(async {
            let question = terminal::Question::put().await;
            // What cannot be asked is not granted; it goes on waiting, for `tidegate approvals`.
            let answer = ask(request).await.unwrap_or(ApprovalAnswer::Later);
            question.answered();
            answer
        })
    }
}

async fn ask(request: &ApprovalRequest) -> std::io::Result<ApprovalAnswer> {
    output::styled("\n── may this run? ──", terminal::QUESTION);
    let rows = terminal::size().map_or(ROWS, |(rows, _)| rows).max(8) - 4;
    let lines = shown(request);
    let mut pages = lines.chunks(rows).peekable();
    let mut seen = 0;
    while let Some(page) = pages.next() {
        for line in page {
            output::tell(line);
        }
        seen += page.len();
        if pages.peek().is_none() {
            break;
        }
        terminal::prompt(&format!(
            "({seen} of {} lines: Enter shows more, n refuses, w lets it wait) ",
            lines.len()
        ));
        match terminal::answer()
            .await?
            .map(|answer| answer.to_lowercase())
            .as_deref()
        {
            Some("n" | "no") | None => return Ok(ApprovalAnswer::Refuse),
            Some("w" | "wait") => return Ok(ApprovalAnswer::Later),
            Some(_) => {}
        }
    }
    terminal::prompt("Run it, once? [y/N, w to let it wait] ");
    Ok(
        match terminal::answer()
            .await?
            .map(|answer| answer.to_lowercase())
            .as_deref()
        {
            Some("y" | "yes") => ApprovalAnswer::Grant,
            Some("w" | "wait") => ApprovalAnswer::Later,
            // The default, and the end of the input.
            Some(_) | None => ApprovalAnswer::Refuse,
        },
    )
}

/// Everything the owner has to see, line by line. Nothing is left out, nothing can play with the terminal.
pub(crate) fn shown(request: &ApprovalRequest) -> Vec<String> {
    let mut lines: Vec<String> = request.why.lines().map(str::to_owned).collect();
    lines.push(format!("tool     {}", escaped(request.tool.as_str())));
    for control in &request.control {
        lines.extend(control_lines(control));
    }
    for sink in &request.sinks {
        let level = sink.level.map_or_else(
            || "a file of the program's own".to_owned(),
            |level| format!("may hold {level}"),
        );
        lines.push(format!("goes to  {} ({level})", sink.name));
    }
    if !request.sinks.is_empty() {
        lines.push(format!("carries  {} data", request.carries));
    }
    for source in &request.sources {
        lines.push(format!("reads    {} ({})", source.name, source.level));
    }
    if request.consequential {
        lines.push("effect   changes something; it cannot be taken back here".to_owned());
    }
    lines.push("in full:".to_owned());
    for (name, value) in &request.arguments {
        content_lines(&escaped(name), value, &mut lines);
    }
    lines
}

fn control_lines(control: &ControlValue) -> Vec<String> {
    let origin = match (&control.judged, &control.origin) {
        (Some(judged), _) if judged.trusted => judged.why.clone(),
        (Some(judged), _) => format!("not yours: {}", judged.why),
        (None, origin) => seen_before(origin),
    };
    let mut lines = vec![format!("{:<8} {}   ← {origin}", control.argument, control.value)];
    if !control.unusual.is_empty() {
        lines.push(format!("         not ASCII: {}", control.unusual.join(", ")));
    }
    lines.extend(
        confusables(&control.value)
            .iter()
            .map(|warning| format!("       ⚠ {warning}")),
    );
    lines
}

fn seen_before(origin: &ValueOrigin) -> String {
    match origin {
        ValueOrigin::Person { entry } => format!("you wrote it (message {entry})"),
        ValueOrigin::Result { tool, entry } => format!("from a result of {tool} (message {entry})"),
        ValueOrigin::Model => "the model wrote it".to_owned(),
        ValueOrigin::Unclear => "too short to tell who wrote it".to_owned(),
    }
}

fn content_lines(name: &str, value: &serde_json::Value, lines: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) if text.contains('\n') => {
            lines.push(format!("  {name}:"));
            lines.extend(text.split('\n').map(|line| format!("  │ {}", escaped(line))));
        }
        serde_json::Value::String(text) => lines.push(format!("  {name}: {}", escaped(text))),
        other => lines.push(format!("  {name}: {}", escaped(&other.to_string()))),
    }
}

/// The levels in a few words, for lists.
pub(crate) fn sinks_in_short(request: &ApprovalRequest) -> String {
    let level = |level: Option<Classification>| level.map_or("own file", Classification::as_str);
    let sinks: Vec<String> = request
        .sinks
        .iter()
        .map(|sink| format!("{} ({})", sink.name, level(sink.level)))
        .collect();
    sinks.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_others_are_marked() {
        for (text, expected) in [
            ("paypal.example", None),
            ("müller", None),
            ("привет", None),
            ("日本語", None),
            (
                "p\u{430}ypal.example",
                Some("only looks like \"paypal\": it is p\\u{430}ypal"),
            ),
            ("\u{440}\u{430}\u{443}\u{440}\u{430}", Some("only looks like")),
            ("exampleж", Some("mixes scripts")),
        ] {
            let found: Vec<String> = confusables(text).iter().map(ToString::to_string).collect();
            match expected {
                None => assert!(found.is_empty(), "{text}: {found:?}"),
                Some(part) => assert!(found.iter().any(|line| line.contains(part)), "{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn content_is_shown_whole_and_escaped() {
        let mut lines = Vec::new();
        let long = (1..=500)
            .map(|line| format!("line {line}"))
            .collect::<Vec<_>>()
            .join("\n");
        content_lines("text", &format!("{long}\n\u{1b}[2J").into(), &mut lines);
        assert_eq!(lines.len(), 502);
        assert_eq!(lines.last().unwrap(), "  │ \\u{1b}[2J");
    }
}
