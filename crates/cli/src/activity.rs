//! Showing a run while it goes on: the answer on standard output, one line for each activity on standard error.

use crate::output::{self, printable, shortened};
use anstyle::{AnsiColor, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use tidegate_message::{
    ApprovalDecision, Body, Event, EventKind, Limit, ResultStatus, ToolCall, Unavailable,
};
use tidegate_policy::{CallId, escaped};
use tidegate_runtime::{Observer, Signal};

const REFUSED: Style = AnsiColor::Yellow.on_default();

/// Shows a run to a person.
pub(crate) struct Activity {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether text is shown while it arrives. Where nobody looks on, the answer alone is printed at the end,
    /// so that it can be used.
    live: bool,
    /// Whether somebody is asked about calls that need approval, who sees all of it there.
    asks: bool,
    /// What each call is about, for its line.
    calls: BTreeMap<CallId, String>,
    /// The text of the current reply, where it is not shown while it arrives.
    said: String,
    /// Whether text of the current reply was printed.
    printed: bool,
    /// Whether the cursor stands behind text without a line break.
    midline: bool,
}

impl Activity {
    /// `live`: text is shown while it arrives.
    pub(crate) fn new(live: bool) -> Self {
        let state = State {
            live,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Leaves to whoever asks what calls need approval.
    pub(crate) fn asking(self, asks: bool) -> Self {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asks = asks;
        self
    }

    /// Knows calls that were made before this watches.
    pub(crate) fn knowing<'a>(self, calls: impl IntoIterator<Item = &'a ToolCall>) -> Self {
        let known = calls.into_iter().map(|call| (call.id.clone(), summary(call)));
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .calls
            .extend(known);
        self
    }

    /// Shows the answer, unless it was shown while it arrived.
    pub(crate) fn finish(&self, answer: &str) -> anyhow::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.printed && !answer.is_empty() {
            output::text(answer)?;
            state.midline = !answer.ends_with('\n');
        }
        state.end_line();
        Ok(())
    }
}

impl Observer for Activity {
    fn on(&self, signal: Signal) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match signal {
            Signal::Text(text) => {
                if state.live {
                    state.print(&text);
                } else {
                    state.said.push_str(&text);
                }
            }
            Signal::Retracted => {
                if state.printed {
                    state.aside("(the reply broke off; the text above does not count)");
                }
                state.printed = false;
                state.said.clear();
            }
            Signal::Entry(entry) => {
                if let Body::Assistant(message) = &entry.body {
                    for call in message.calls() {
                        state.calls.insert(call.id.clone(), summary(call));
                    }
                    if message.calls().next().is_some() {
                        let said = std::mem::take(&mut state.said);
                        if !said.trim().is_empty() {
                            state.aside(said.trim_end());
                        }
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

    fn aside(&mut self, line: &str) {
        self.end_line();
        output::aside(line);
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
                    ResultStatus::Withheld => ("⛔", "ran, result withheld".to_owned()),
                    ResultStatus::NotRun => ("✗", "not run".to_owned()),
                    ResultStatus::Unknown => ("?", "outcome unknown".to_owned()),
                };
                self.aside(&format!("{mark} {about}  {end}"));
            }
            EventKind::ApprovalAsked { .. } if self.asks => {}
            EventKind::ApprovalDecided { decision, .. }
                if self.asks && *decision != ApprovalDecision::Expired => {}
            EventKind::ApprovalAsked { tool, .. } => {
                self.aside(&format!("✋ {} waits for approval", escaped(tool.as_str())));
            }
            EventKind::ApprovalDecided { tool, decision, .. } => {
                let tool = escaped(tool.as_str());
                self.aside(&match decision {
                    ApprovalDecision::Granted => format!("✓ {tool} was approved"),
                    ApprovalDecision::Refused => format!("⛔ {tool} was not approved"),
                    ApprovalDecision::Expired => format!("⛔ {tool} was not approved in time"),
                });
            }
            // A refused task or answer is the outcome of the turn, and told at its end.
            EventKind::FlowJudged {
                tool: Some(_),
                evaluation,
                ..
            } if !(evaluation.is_allowed() || self.asks && evaluation.needs_approval()) => {
                if let Some(explanation) = &evaluation.explanation {
                    self.end_line();
                    let what = if evaluation.needs_approval() {
                        "needs approval"
                    } else {
                        "refused"
                    };
                    output::styled(&format!("{what}: {explanation}"), REFUSED);
                }
            }
            EventKind::TaintRaised { from, to, origin } if from.classification != to.classification => {
                let line = format!(
                    "▲ this session is {} now, by {}",
                    to.classification,
                    escaped(&origin.to_string())
                );
                self.aside(&line);
            }
            EventKind::ModelRetried {
                model,
                class,
                attempt,
                wait_ms,
            } => self.aside(&format!(
                "↻ {}: {class}; try {attempt} in {}",
                escaped(&model.to_string()),
                seconds(*wait_ms)
            )),
            EventKind::ModelDelayed { model, wait_ms } => self.aside(&format!(
                "⏳ {} asks to be left alone for {}",
                escaped(&model.to_string()),
                seconds(*wait_ms)
            )),
            EventKind::ModelUnavailable {
                model,
                class,
                wait_ms,
            } => {
                let why = match class {
                    Unavailable::CircuitOpen => "does not answer",
                    Unavailable::AskedToWait => "asks to be left alone",
                };
                self.aside(&format!(
                    "↷ {} {why}; not asked for {}",
                    escaped(&model.to_string()),
                    seconds(*wait_ms)
                ));
            }
            EventKind::ModelFallback { from, to } => self.aside(&format!(
                "⇢ {} in the place of {}",
                escaped(&to.to_string()),
                escaped(&from.to_string())
            )),
            EventKind::ModelSkipped { model, .. } => {
                self.aside(&format!(
                    "↷ {} is not cleared for this",
                    escaped(&model.to_string())
                ));
            }
            EventKind::TierSwitched { from, to, .. } => self.aside(&format!("⇄ {from} → {to}")),
            EventKind::TurnLimited { limit, allowed } => self.aside(&match limit {
                Limit::Rounds | Limit::Calls => {
                    format!("⏹ the limit of {allowed} is reached; asking for the answer")
                }
                Limit::Refusals => format!("⏹ {allowed} calls were refused; asking for the answer"),
                Limit::Repeats => "⏹ the same call again and again; asking for the answer".to_owned(),
            }),
            EventKind::TurnResumed { unknown_calls } => {
                let unknown = unknown_calls.len();
                let line = if unknown == 0 {
                    "↻ going on where the turn was interrupted".to_owned()
                } else {
                    format!(
                        "↻ going on; the outcome of {unknown} call(s) is not known, and they are not run again"
                    )
                };
                self.aside(&line);
            }
            EventKind::CompactionStarted { tokens, .. } => {
                self.aside(&format!(
                    "⤵ about {tokens} tokens; making the conversation shorter"
                ));
            }
            EventKind::CompactionFinished {
                tokens_before,
                tokens_after,
                reason,
                ..
            } => {
                let plain = reason.as_ref().map_or_else(String::new, |reason| {
                    format!("; summed up without a model ({})", shortened(reason, 120))
                });
                self.aside(&format!(
                    "⤵ {tokens_before} → {tokens_after} tokens; the history keeps all of it{plain}"
                ));
            }
            EventKind::CompactionFailed { error, .. } => {
                self.aside(&format!("⤵ it did not become shorter: {}", shortened(error, 200)));
            }
            EventKind::MemoryRecalled { memories, .. } if !memories.is_empty() => {
                let labels: BTreeSet<String> =
                    memories.iter().map(|memory| memory.label.to_string()).collect();
                let labels: Vec<String> = labels.into_iter().collect();
                self.aside(&format!("⟲ {} recalled ({})", memories.len(), labels.join("; ")));
            }
            EventKind::MemoryUnavailable { message, .. } => {
                self.aside(&format!(
                    "⟲ long-term memory could not be searched: {}",
                    shortened(message, 200)
                ));
            }
            EventKind::SessionCreated { .. }
            | EventKind::MemoryReleased { .. }
            | EventKind::MemoryRecalled { .. }
            | EventKind::PrefixBreak { .. }
            | EventKind::TurnStarted
            | EventKind::ModelCalled { .. }
            | EventKind::ModelReplied { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::ModelRetracted { .. }
            | EventKind::FlowJudged { .. }
            | EventKind::ApprovalUsed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::TaintRaised { .. }
            | EventKind::TurnFinished { .. } => {}
        }
    }
}

/// Milliseconds in whole seconds, rounded up.
fn seconds(milliseconds: u64) -> String {
    format!("{} s", milliseconds.div_ceil(1_000))
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
