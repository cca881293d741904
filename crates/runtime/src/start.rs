//! What a new session begins with beside what was asked for.

use crate::RuntimeError;
use crate::open::SystemMessage;
use crate::project_file::FoundProjectFile;
use crate::runtime::Shared;
use tidegate_message::EventKind;
use tidegate_policy::{Caller, Classification, ContextFlow, Flow, Label, Origin, SessionFacts, Taint};
use tidegate_prompt::ProjectFile;
use tidegate_store::NewEvent;

/// What a new session begins with beside what was asked for.
#[derive(Default)]
pub(crate) struct Start {
    pub(crate) taint: Taint,
    pub(crate) events: Vec<NewEvent>,
    /// For the first turn.
    pub(crate) project_file: Option<FoundProjectFile>,
}

impl Start {
    /// Judges an approved project file on its way into the system prompt, and gives it as it may enter.
    pub(crate) fn approved(
        &mut self,
        shared: &Shared,
        clearance: Classification,
        caller: Caller<'_>,
        found: &FoundProjectFile,
    ) -> Result<Option<ProjectFile>, RuntimeError> {
        let what = format!("the project file {}", found.name);
        let admitted = self.admit(
            shared,
            clearance,
            caller,
            &Entering {
                what: &what,
                label: found.label,
                origin: found.origin(),
                text: &found.text,
            },
        )?;
        match admitted {
            Ok(text) => Ok(ProjectFile::new(&shared.templates, &found.name, &text)?),
            // The event says so.
            Err(_) => Ok(None),
        }
    }

    /// Judges the caller's system message, and gives it as it may enter. A session does not begin without it.
    pub(crate) fn system_message(
        &mut self,
        shared: &Shared,
        clearance: Classification,
        caller: Caller<'_>,
        message: &SystemMessage,
    ) -> Result<String, RuntimeError> {
        let entering = Entering {
            what: "the system message",
            label: message.label,
            origin: Origin::Owner,
            text: &message.text,
        };
        self.admit(shared, clearance, caller, &entering)?
            .map_err(|explanation| RuntimeError::SystemMessageRefused { explanation })
    }

    /// The text as it may enter, or why it may not.
    fn admit(
        &mut self,
        shared: &Shared,
        clearance: Classification,
        caller: Caller<'_>,
        entering: &Entering<'_>,
    ) -> Result<Result<String, String>, RuntimeError> {
        let texts = [entering.text];
        let flow = ContextFlow {
            what: entering.what,
            label: entering.label,
            texts: Some(&texts),
        };
        let facts = SessionFacts {
            taint: &self.taint,
            clearance,
            bumper: None,
            caller,
        };
        let evaluation = shared.gate.judge(Flow::Context(&flow), facts);
        let redactor = shared
            .gate
            .redactor(&evaluation)
            .map_err(RuntimeError::Redaction)?;
        let text = redactor.text(entering.text).text;
        let refused = (!evaluation.is_allowed()).then(|| evaluation.explanation.clone().unwrap_or_default());
        let from = self.taint.label();
        self.taint
            .raise(evaluation.taint_after, entering.origin.clone(), 0);
        let to = self.taint.label();
        let judged = EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        };
        let raised = (from != to).then(|| EventKind::TaintRaised {
            from,
            to,
            origin: entering.origin.clone(),
        });
        let kinds = [Some(judged), raised].into_iter().flatten();
        self.events.extend(kinds.map(|kind| NewEvent {
            turn: None,
            label: to,
            kind,
        }));
        Ok(refused.map_or(Ok(text), Err))
    }
}

/// A text on its way into the system prompt.
struct Entering<'a> {
    what: &'a str,
    label: Label,
    origin: Origin,
    text: &'a str,
}
