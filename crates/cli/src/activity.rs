//! Showing a run while it goes on: the answer on standard output, one line for each activity on standard error.

use crate::output::{printable, shortened};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use tidegate_message::{Body, Event, EventKind, ResultStatus, ToolCall};
use tidegate_policy::{CallId, escaped};
use tidegate_runtime::{Observer, Signal};

const DIM: Style = Style::new().dimmed();
const REFUSED: Style = AnsiColor::Yellow.on_default();

/// Shows a run to a person.
pub(crate) struct Activity {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What each call is about, for its line.
    calls: BTreeMap<CallId, String>,
    /// Whether text of the current reply was printed.
    printed: bool,
    /// Whether the cursor stands behind text without a line break.
    midline: bool,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
        }
    }

    /// Whether the text of the last reply has been printed already.
    pub(crate) fn printed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).printed
    }
}

impl Observer for Activity {
    fn on(&self, signal: Signal) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match signal {
            Signal::Text(text) => state.print(&text),
            Signal::Retracted => {
                if state.printed {
                    state.activity("(the reply broke off; the text above does not count)", DIM);
                }
                state.printed = false;
            }
            Signal::Entry(entry) => {
                if let Body::Assistant(message) = &entry.body {
                    for call in message.calls() {
                        state.calls.insert(call.id.clone(), summary(call));
                    }
                    if message.calls().next().is_some() {
                        state.end_line();
                        state.printed = false;
                    }
                }
            }
            Signal::Event(event) => state.event(&event),
        }
    }
}

impl State {
    // Standard output and error may be closed by whoever reads them; the run goes on all the same.
    fn print(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = out
            .write_all(printable(text).as_bytes())
            .and_then(|()| out.flush());
        self.printed = true;
        self.midline = !text.ends_with('\n');
    }

    fn end_line(&mut self) {
        if self.midline {
            let _ = writeln!(io::stdout().lock());
            self.midline = false;
        }
    }

    fn activity(&mut self, line: &str, style: Style) {
        self.end_line();
        let _ = writeln!(anstream::stderr().lock(), "{style}{line}{style:#}");
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolFinished {
                call,
                tool,
                status,
                duration_ms,
                ..
            } => {
                let about = self
                    .calls
                    .remove(call)
                    .unwrap_or_else(|| escaped(tool.as_str()).into_owned());
                let (mark, end) = match status {
                    ResultStatus::Ok => ("✓", format!("{duration_ms} ms")),
                    ResultStatus::Error => ("✗", "failed".to_owned()),
                    ResultStatus::Refused => ("⛔", "refused".to_owned()),
                    ResultStatus::NotRun => ("✗", "not run".to_owned()),
                    ResultStatus::Unknown => ("?", "outcome unknown".to_owned()),
                };
                self.activity(&format!("{mark} {about}  {end}"), DIM);
            }
            EventKind::FlowJudged { evaluation, .. } if !evaluation.is_allowed() => {
                if let Some(explanation) = &evaluation.explanation {
                    self.activity(&format!("refused: {}", printable(explanation)), REFUSED);
                }
            }
            EventKind::TaintRaised { from, to, origin } if from.classification != to.classification => {
                let line = format!(
                    "▲ this session is {} now, by {}",
                    to.classification,
                    escaped(&origin.to_string())
                );
                self.activity(&line, DIM);
            }
            EventKind::ModelSkipped { model, .. } => {
                self.activity(
                    &format!("↷ {} is not cleared for this", escaped(&model.to_string())),
                    DIM,
                );
            }
            EventKind::TierSwitched { from, to, .. } => self.activity(&format!("⇄ {from} → {to}"), DIM),
            EventKind::TurnLimited { allowed, .. } => {
                self.activity(
                    &format!("⏹ the limit of {allowed} is reached; asking for the answer"),
                    DIM,
                );
            }
            EventKind::TurnResumed { unknown_calls } => {
                let unknown = unknown_calls.len();
                let line = if unknown == 0 {
                    "↻ going on where the turn was interrupted".to_owned()
                } else {
                    format!(
                        "↻ going on; the outcome of {unknown} call(s) is not known, and they are not run again"
                    )
                };
                self.activity(&line, DIM);
            }
            EventKind::SessionCreated { .. }
            | EventKind::TurnStarted
            | EventKind::ModelCalled { .. }
            | EventKind::ModelReplied { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::FlowJudged { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::TaintRaised { .. }
            | EventKind::TurnFinished { .. } => {}
        }
    }
}

/// `search_files revenue in notes`: the tool and its most telling arguments.
pub(crate) fn summary(call: &ToolCall) -> String {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let telling = ["pattern", "query", "command", "url", "path"]
        .iter()
        .filter_map(|name| arguments.get(name).and_then(|value| value.as_str()))
        .map(|text| shortened(text, 60))
        .collect::<Vec<_>>()
        .join(" in ");
    let name = escaped(call.name.as_str());
    if telling.is_empty() {
        name.into_owned()
    } else {
        format!("{name} {telling}")
    }
}
