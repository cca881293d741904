//! Text on its way into the context and out to its reader: judged, and redacted where rules say so.

use super::Turn;
use crate::redacted::put_back;
use crate::{RuntimeError, Signal};
use serde_json::Value;
use serde_json::value::RawValue;
use tidegate_message::{Content, EventKind, Reply, ReplyPart, UserMessage};
use tidegate_policy::{AnswerFlow, ContextFlow, Evaluation, Flow, Hook, JsonStep, JsonText, Label};

/// Text that may not enter.
pub(super) struct Refused {
    /// Why, for people.
    pub(super) explanation: String,
    /// What the session's taint is joined with: that a rule refused it tells of its content.
    pub(super) raised: Label,
}

impl Turn<'_> {
    /// Judges a message on its way into the context, and gives it as it may enter.
    pub(super) fn admit(
        &mut self,
        what: &str,
        label: Label,
        mut message: UserMessage,
    ) -> Result<UserMessage, Refused> {
        let texts: Vec<&str> = message.content.iter().filter_map(Content::as_text).collect();
        let flow = ContextFlow {
            what,
            label,
            texts: Some(&texts),
        };
        let gate = self.session.shared.gate.clone();
        let evaluation = gate.judge(Flow::Context(&flow), self.facts());
        let redacted = gate.redactor(&evaluation).map(|redactor| redactor.parts(&texts));
        let refused = Refused {
            explanation: evaluation.explanation.clone().unwrap_or_default(),
            raised: evaluation.taint_after,
        };
        let allowed = evaluation.is_allowed();
        self.note_judged(evaluation);
        let Ok(redacted) = redacted else {
            return Err(refused);
        };
        if !allowed {
            return Err(refused);
        }
        if !redacted.by.is_empty() {
            put_back(&mut message.content, redacted.text);
        }
        Ok(message)
    }

    /// Judges a text of somebody else's on its way into the context, and gives it as it may enter.
    pub(super) fn admit_text(&mut self, what: &str, label: Label, text: &str) -> Result<String, Refused> {
        let message = UserMessage::program(text);
        let admitted = self.admit(what, label, message)?;
        Ok(tidegate_message::joined_text(&admitted.content))
    }

    /// Judges what a model has written before it is stored, where rules look at what leaves: what they redact is
    /// redacted in what is kept and sent back, too, and what was held back is shown if it may be.
    pub(super) fn screen(&mut self, reply: &mut Reply) -> Result<(), RuntimeError> {
        if !self.holds_text() {
            return Ok(());
        }
        let texts: Vec<&str> = reply.parts.iter().filter_map(text_of).collect();
        if texts.iter().all(|text| text.is_empty()) {
            return Ok(());
        }
        let gate = self.session.shared.gate.clone();
        let evaluation = self.answer_evaluation(Some(&texts));
        let allowed = evaluation.is_allowed();
        // Nothing is shown or kept on the word of rules that are not there any more.
        let redactor = match gate.redactor(&evaluation) {
            Ok(redactor) => redactor,
            Err(unknown) => return Err(RuntimeError::Redaction(unknown)),
        };
        let redacted = redactor.parts(&texts);
        let has_calls = reply
            .parts
            .iter()
            .any(|part| matches!(part, ReplyPart::Call { .. }));
        let is_recorded = !redacted.by.is_empty() || (has_calls && !allowed);
        if !redacted.by.is_empty() {
            let places = reply.parts.iter_mut().filter_map(|part| match part {
                ReplyPart::Text(text) => Some(text),
                _ => None,
            });
            for (place, text) in places.zip(&redacted.text) {
                place.clone_from(text);
            }
            if let Some(verbatim) = &mut reply.verbatim {
                // What cannot be read cannot be redacted: the neutral form is sent in its place.
                match serde_json::from_str::<Value>(verbatim.json.get()) {
                    Ok(json) => verbatim.json = raw(&redactor.json(&json, &visible).text)?,
                    Err(_) => reply.verbatim = None,
                }
            }
        }
        if allowed {
            for text in redacted.text {
                self.show(Signal::Text(text));
            }
        }
        if is_recorded {
            self.note_judged(evaluation);
        }
        Ok(())
    }

    /// Judges whether the answer may go to its reader: as it may go, or why it may not.
    pub(super) fn judge_answer(&mut self, answer: &str) -> Result<String, String> {
        let evaluation = self.answer_evaluation(Some(&[answer]));
        let explanation = evaluation.explanation.clone().unwrap_or_default();
        let gate = self.session.shared.gate.clone();
        let redacted = gate
            .redactor(&evaluation)
            .map(|redactor| redactor.text(answer).text);
        let allowed = evaluation.is_allowed();
        self.note_judged(evaluation);
        match redacted {
            Ok(redacted) if allowed => Ok(redacted),
            Ok(_) => Err(explanation),
            Err(unknown) => Err(unknown.to_string()),
        }
    }

    /// Whether the model's text may go to its reader: asked before any of it is shown, and recorded for the
    /// answer.
    pub(crate) fn answer_evaluation(&self, texts: Option<&[&str]>) -> Evaluation {
        let reader = &self.session.record.session.user;
        let users = &self.session.shared.configuration.users;
        let flow = AnswerFlow {
            reader: reader.as_str(),
            clearance: users.clearance(reader.as_str()).unwrap_or_default(),
            texts,
            recipients: &[],
            granted: false,
        };
        self.session.shared.gate.judge(Flow::Answer(&flow), self.facts())
    }

    /// Whether a reply is shown only when all of it was judged.
    pub(crate) fn holds_text(&self) -> bool {
        !self.session.shared.gate.rules().at(Hook::PreOutput).is_empty()
    }

    fn note_judged(&mut self, evaluation: Evaluation) {
        let label = evaluation.taint_after;
        let kind = EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        };
        self.note_of(label, kind);
    }
}

fn text_of(part: &ReplyPart) -> Option<&str> {
    match part {
        ReplyPart::Text(text) => Some(text),
        _ => None,
    }
}

fn raw(json: &Value) -> Result<Box<RawValue>, RuntimeError> {
    serde_json::value::to_raw_value(json).map_err(RuntimeError::Verbatim)
}

/// Which texts of a provider's own form of a message are visible text: those under `content` or `text`, outside of
/// thinking and calls.
fn visible(path: &[JsonStep<'_>]) -> JsonText {
    let is_hidden = path.iter().any(|step| match step {
        JsonStep::Member(key) => {
            key.contains("reason")
                || key.contains("think")
                || key.contains("call")
                || key.contains("signature")
        }
        JsonStep::Entry(_) => false,
    });
    let last_key = path.iter().rev().find_map(|step| match step {
        JsonStep::Member(key) => Some(*key),
        JsonStep::Entry(_) => None,
    });
    if !is_hidden && matches!(last_key, Some("content" | "text")) {
        JsonText::Part
    } else {
        JsonText::Untouched
    }
}
