//! Calls that ask the owner something when nobody is there: the question is kept, the turn waits, and the answer, which
//! may be given to another process, becomes the call's result. Once: the commit that uses the answer holds the result.

use super::{Answered, CallEnd, Calls, Came, Record, Settles};
use crate::approvals::{StoredQuestion, question_digest, question_settled};
use crate::{PendingQuestion, RuntimeError, ids};
use serde_json::Value;
use std::time::Duration;
use tidegate_message::{EventKind, QuestionEnd, ToolCall};
use tidegate_policy::{ApprovalId, CallId, Label};
use tidegate_store::{ApprovalRecord, ApprovalState, NewApproval, NewEvent, StoreError, Write};
use tidegate_tools::{OpenQuestion, ToolOutput};
use tokio::sync::Mutex;

/// What tells a stored question from a request for approval.
pub(crate) const QUESTION_FORM: &str = "question-1";

/// The owner's answer to a question that was asked before.
#[derive(Clone, Debug)]
pub(crate) struct OwnersAnswer {
    pub(crate) question: ApprovalId,
    /// What the owner wrote.
    pub(crate) text: String,
    /// The label of that.
    pub(crate) label: Label,
}

/// The end of a question that was asked before, if it has one.
pub(super) struct Settled {
    pub(super) came: Came,
    pub(super) settles: Settles,
    pub(super) event: NewEvent,
}

impl Calls<'_> {
    /// What came of the question that this call asked before: the answer that is given now, or that there is none.
    /// None if it asked nothing yet, or the question waits and can be asked again.
    pub(super) async fn settled_question(&self, call: &CallId) -> Result<Option<Settled>, RuntimeError> {
        let Some(record) = self.questions.get(call) else {
            return Ok(None);
        };
        // It may have expired, or have been refused, since it was read.
        let now = self.shared.store.approval(record.id).await?;
        let state = now.map_or(ApprovalState::Expired, |record| record.state);
        let answer = self.answer.filter(|answer| answer.question == record.id);
        let nothing = |text: &str| Came::OfRunning(Ok(ToolOutput::text(text)));
        let (came, settles, end) = match (state, answer) {
            (ApprovalState::Waiting, None) => return Ok(None),
            (ApprovalState::Waiting, Some(answer)) => {
                let choices = StoredQuestion::read(record).map_or_else(Vec::new, |stored| stored.choices);
                let answered = tidegate_builtins::Answered::of(answer.text.clone(), &choices);
                let told = answered.told(&choices, self.produced_by);
                let told = told.map(|output| output.with_label(answer.label));
                let settles = Settles::Answered(record.id);
                (Came::OfRunning(told), settles, QuestionEnd::Answered)
            }
            (ApprovalState::Refused, _) => {
                let text = "(the user does not want to answer; go on without the answer if you can, else say \
                            what you need)";
                (
                    nothing(text),
                    Settles::Unanswered(record.id),
                    QuestionEnd::Refused,
                )
            }
            (ApprovalState::Expired | ApprovalState::Granted | ApprovalState::Used, _) => {
                let told = tidegate_builtins::Answered::Expired.told(&[], self.produced_by);
                let settles = Settles::Unanswered(record.id);
                (Came::OfRunning(told), settles, QuestionEnd::Expired)
            }
        };
        Ok(Some(Settled {
            came,
            settles,
            event: question_settled(record, end),
        }))
    }

    /// Keeps a question, unless it is kept already, and lets the call wait for its answer.
    pub(super) async fn keep_question<R: Record>(
        &self,
        call: &ToolCall,
        arguments: &Value,
        question: &OpenQuestion,
        mut events: Vec<NewEvent>,
        journal: &Mutex<&mut R>,
    ) -> Result<CallEnd, RuntimeError> {
        if let Some(record) = self.questions.get(&call.id) {
            let approval = record.id;
            let waiting = PendingQuestion::read(record).ok_or(StoreError::UnknownApproval { approval })?;
            return Ok(CallEnd::Asks(Box::new(waiting)));
        }
        let id = ids::new_approval_id();
        let stored = StoredQuestion {
            form: QUESTION_FORM.to_owned(),
            tool: call.name.clone(),
            question: question.text.clone(),
            choices: question.choices.clone(),
        };
        let label = self.produced_by;
        let new = NewApproval {
            id,
            session: self.session,
            turn: self.turn,
            call: call.id.clone(),
            digest: question_digest(call, arguments),
            label,
            // Texts alone: nothing in it can fail to be written.
            shown: serde_json::to_string(&stored).unwrap_or_default(),
            valid_for: question
                .valid_for
                .unwrap_or_else(|| Duration::from_secs(self.shared.configuration.policy.approval_timeout_s)),
        };
        let asked = EventKind::QuestionAsked {
            approval: id,
            call: call.id.clone(),
            tool: call.name.clone(),
        };
        events.push(self.event(label, asked));
        let mut journal = journal.lock().await;
        journal.asked();
        journal
            .record(vec![Write::AskApproval(Box::new(new))], events)
            .await?;
        let unknown = || StoreError::UnknownApproval { approval: id };
        let record = self.shared.store.approval(id).await?.ok_or_else(unknown)?;
        let waiting = PendingQuestion::read(&record).ok_or_else(unknown)?;
        Ok(CallEnd::Asks(Box::new(waiting)))
    }

    /// Stores the result of a call whose question is settled by it: after that the answer is used, and not before.
    pub(super) async fn store_settled<R: Record>(
        &self,
        answered: &mut Answered,
        journal: &Mutex<&mut R>,
    ) -> Result<(), RuntimeError> {
        let mut writes = match answered.settles {
            None => return Ok(()),
            Some(Settles::Answered(approval)) => vec![
                Write::DecideApproval {
                    approval,
                    grant: true,
                },
                Write::UseApproval { approval },
            ],
            Some(Settles::Unanswered(approval)) => vec![Write::ExpireApproval { approval }],
        };
        let session = self.session;
        let sources = std::mem::take(&mut answered.sources);
        writes.extend(sources.into_iter().map(|source| Write::Source(session, source)));
        writes.push(Write::CallFinished {
            session,
            turn: self.turn,
            result: Box::new(answered.result.clone()),
        });
        let events = std::mem::take(&mut answered.events);
        journal.lock().await.record(writes, events).await
    }

    /// The question this call asked before, if it waits still.
    pub(super) fn asked_before(&self, call: &CallId) -> Option<&ApprovalRecord> {
        self.questions.get(call)
    }
}
