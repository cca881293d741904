//! Holding one call until the owner has decided.

use super::decision::decided;
use super::digest::digest;
use super::request::{ApprovalRequest, rule_of};
use super::text::{Denied, denied};
use super::{ApprovalAnswer, Approver};
use crate::config::Unattended;
use crate::tool_call::{Calls, Record};
use crate::{RuntimeError, ids};
use serde_json::Value;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_message::{ApprovalDecision, EventKind, ToolCall};
use tidegate_policy::{
    Admission, ApprovalId, ArgumentCheck, Classification, Evaluation, Resource, RuleId, rule,
};
use tidegate_store::{ApprovalRecord, ApprovalState, NewApproval, NewEvent, StoreError, Write};
use tidegate_tools::{Cancel as _, ToolDefinition};
use tokio::sync::Mutex;

/// A call whose arguments are checked and resolved.
pub(crate) struct Subject<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) arguments: &'a Value,
    pub(crate) resources: &'a [Resource],
    pub(crate) resolved: Vec<String>,
}

/// What came of asking.
pub(crate) enum Permission {
    /// The owner grants this one call.
    Granted(Grant),
    /// It may not run; the model is told this.
    Denied {
        told: String,
        /// The owner refused, or did not answer. It was not that nobody was there.
        by_owner: bool,
        events: Vec<NewEvent>,
    },
    /// The request waits in the store.
    Waits(ApprovalId),
    /// The turn was cancelled while it was asked.
    Cancelled,
}

/// A grant that was not used yet.
pub(crate) struct Grant {
    pub(crate) approval: ApprovalId,
    pub(crate) rule: RuleId,
    /// Up to which level the owner lets the session rise with it, and need not be asked again.
    pub(crate) acknowledged: Option<Classification>,
}

impl Calls<'_> {
    /// Asks the owner what `evaluation` wants asked, or finds out what the owner said before.
    pub(crate) async fn ask<R: Record>(
        &self,
        subject: &Subject<'_>,
        evaluation: Evaluation,
        journal: &Mutex<&mut R>,
    ) -> Result<Permission, RuntimeError> {
        // One question at a time.
        let _alone = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(Permission::Cancelled),
            alone = self.asking.lock() => alone,
        };
        let digest = digest(subject);
        let mut known = None;
        for record in self.asked.get(&subject.call.id).into_iter().flatten() {
            if record.digest == digest {
                known = Some(record);
            } else if record.state.is_open() {
                // It was asked about something else, which the call no longer is.
                self.expire(record, journal).await?;
            }
        }
        let question = Question {
            subject,
            evaluation,
            told: known.is_none(),
        };
        let held = match known {
            Some(record) => {
                // It may have been answered, or have expired, since it was read.
                let now = self.shared.store.approval(record.id).await?;
                let state = now.map_or(ApprovalState::Expired, |record| record.state);
                if let Some(permission) = self.settled(record, state, &question, journal).await? {
                    return Ok(permission);
                }
                record.clone()
            }
            None if self.approver.is_none() && self.unattended() == Unattended::Refuse => {
                let question = Question {
                    told: false,
                    ..question
                };
                return Ok(self.denial(Denied::NobodyThere, &question));
            }
            None => self.request(digest, &question, journal).await?,
        };
        let Some(approver) = self.approver else {
            return Ok(Permission::Waits(held.id));
        };
        let state = match self.answer_of(approver, &held).await {
            Answer::Said(ApprovalAnswer::Later) => return Ok(Permission::Waits(held.id)),
            Answer::Cancelled => return Ok(Permission::Cancelled),
            Answer::Said(answer) => {
                let grant = answer == ApprovalAnswer::Grant;
                self.decide(&held, grant, journal).await?
            }
            Answer::TooLate => ApprovalState::Expired,
        };
        let permission = self.settled(&held, state, &question, journal).await?;
        Ok(permission.unwrap_or(Permission::Waits(held.id)))
    }

    /// What the state of a request says; none if it waits.
    async fn settled<R: Record>(
        &self,
        record: &ApprovalRecord,
        state: ApprovalState,
        question: &Question<'_>,
        journal: &Mutex<&mut R>,
    ) -> Result<Option<Permission>, RuntimeError> {
        Ok(Some(match state {
            ApprovalState::Waiting => return Ok(None),
            ApprovalState::Granted => {
                let evaluation = &question.evaluation;
                let acknowledged = evaluation
                    .is_asked_by(rule::BUMPER)
                    .then(|| self.brings(question.subject));
                if let Some(level) = acknowledged {
                    let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
                    *granted = level.max(*granted);
                }
                Permission::Granted(Grant {
                    approval: record.id,
                    rule: rule_of(evaluation),
                    acknowledged,
                })
            }
            // A grant is used in the commit that journals its call, and a call in the journal is not asked about.
            ApprovalState::Refused | ApprovalState::Used => self.denial(Denied::Refused, question),
            ApprovalState::Expired => {
                self.expire(record, journal).await?;
                self.denial(Denied::Expired, question)
            }
        }))
    }

    fn denial(&self, why: Denied, question: &Question<'_>) -> Permission {
        let evaluation = &question.evaluation;
        let judged = (!question.told).then(|| self.judged(question.subject.call, evaluation.clone()));
        Permission::Denied {
            told: denied(&evaluation.for_model(), why),
            by_owner: why != Denied::NobodyThere,
            events: judged.into_iter().collect(),
        }
    }

    /// Stores a new request, before anybody is asked.
    async fn request<R: Record>(
        &self,
        digest: [u8; 32],
        question: &Question<'_>,
        journal: &Mutex<&mut R>,
    ) -> Result<ApprovalRecord, RuntimeError> {
        let Question {
            subject, evaluation, ..
        } = question;
        let id = ids::new_approval_id();
        let verdict = self
            .known
            .get(&subject.call.id)
            .map(|known| known.ledger.judge(&subject.definition.policy, &known.arguments));
        let mut journal = journal.lock().await;
        let shown = ApprovalRequest::of(
            id,
            self.session,
            self.turn,
            subject,
            evaluation,
            verdict.as_ref(),
            journal.transcript(),
        );
        let label = self.produced_by.join(evaluation.label);
        let new = NewApproval {
            id,
            session: self.session,
            turn: self.turn,
            call: subject.call.id.clone(),
            digest,
            label,
            // Text and numbers alone: nothing in it can fail to be written.
            shown: serde_json::to_string(&shown).unwrap_or_default(),
            valid_for: self.valid_for(),
        };
        let asked = EventKind::ApprovalAsked {
            approval: id,
            call: subject.call.id.clone(),
            tool: subject.call.name.clone(),
            rule: rule_of(evaluation),
        };
        let events = vec![
            self.judged(subject.call, evaluation.clone()),
            self.event(label, asked),
        ];
        journal.asked();
        journal
            .record(vec![Write::AskApproval(Box::new(new))], events)
            .await?;
        let stored = self.shared.store.approval(id).await?;
        stored.ok_or(RuntimeError::Store(StoreError::UnknownApproval { approval: id }))
    }

    /// Asks the approver, until the request expires.
    async fn answer_of(&self, approver: &dyn Approver, held: &ApprovalRecord) -> Answer {
        let Ok(request) = ApprovalRequest::read(held) else {
            // Another version asked this, in a form that cannot be shown: nobody can say yes to it here.
            return Answer::Said(ApprovalAnswer::Later);
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let expires = Duration::from_millis(u64::try_from(held.expires_ms).unwrap_or_default());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Answer::Cancelled,
            answer = approver.decide(&request) => Answer::Said(answer),
            () = tokio::time::sleep(expires.saturating_sub(now)) => Answer::TooLate,
        }
    }

    /// Stores the answer; what the request is then. Somebody else may have been faster, in another process.
    async fn decide<R: Record>(
        &self,
        held: &ApprovalRecord,
        grant: bool,
        journal: &Mutex<&mut R>,
    ) -> Result<ApprovalState, RuntimeError> {
        let (decision, state) = if grant {
            (ApprovalDecision::Granted, ApprovalState::Granted)
        } else {
            (ApprovalDecision::Refused, ApprovalState::Refused)
        };
        let approval = held.id;
        let writes = vec![Write::DecideApproval { approval, grant }, decided(held, decision)];
        match self.shared.store.commit(writes).await {
            Ok(committed) => {
                journal.lock().await.tell(committed.events);
                Ok(state)
            }
            Err(StoreError::ApprovalSettled { state, .. }) => Ok(state),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores that a request is of no use any more.
    async fn expire<R: Record>(
        &self,
        record: &ApprovalRecord,
        journal: &Mutex<&mut R>,
    ) -> Result<(), RuntimeError> {
        let approval = record.id;
        let writes = vec![
            Write::ExpireApproval { approval },
            decided(record, ApprovalDecision::Expired),
        ];
        let committed = self.shared.store.commit(writes).await?;
        journal.lock().await.tell(committed.events);
        Ok(())
    }

    /// Up to which level the call would raise the session.
    fn brings(&self, subject: &Subject<'_>) -> Classification {
        let policy = &subject.definition.policy;
        self.flow_of(
            policy,
            &Admission::Offered,
            &ArgumentCheck::Valid,
            subject.resources,
        )
        .brings()
    }

    fn unattended(&self) -> Unattended {
        self.shared.configuration.policy.unattended
    }

    fn valid_for(&self) -> Duration {
        Duration::from_secs(self.shared.configuration.policy.approval_timeout_s)
    }
}

/// A call that has to be approved.
struct Question<'a> {
    subject: &'a Subject<'a>,
    evaluation: Evaluation,
    /// Whether the gate's answer is recorded with the request.
    told: bool,
}

/// What an approver said.
enum Answer {
    Said(ApprovalAnswer),
    /// The request expired before.
    TooLate,
    Cancelled,
}
