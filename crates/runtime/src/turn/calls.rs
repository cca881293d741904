//! Running the calls of one model message, and what the owner was asked about them.

use super::{Facts, Turn};
use crate::approvals::{PendingQuestion, StoredQuestion, decided};
use crate::caller::caller;
use crate::provenance::{Known, is_judged_by_value};
use crate::tool_call::{Answered, CallEnd, Calls};
use crate::{RuntimeError, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use tidegate_core::ToolFacts as _;
use tidegate_message::{ApprovalDecision, ResultStatus, ToolCall, ToolResult};
use tidegate_policy::{ApprovalId, CallId, Integrity, IntegrityMode, Label};
use tidegate_store::{ApprovalFilter, ApprovalRecord, Write};
use tidegate_tools::Cancel as _;
use tokio::sync::Mutex;

/// How the calls of a message ended.
pub(super) enum CallsEnd {
    /// All are answered.
    Answered(Vec<ToolResult>),
    /// These are answered, and these wait for the owner.
    Waiting {
        known: Vec<ToolResult>,
        waiting: Vec<(CallId, WaitsFor)>,
    },
    /// The turn was cancelled: these are answered, and these had begun.
    Cancelled {
        known: Vec<ToolResult>,
        begun: BTreeSet<CallId>,
    },
}

/// What a call waits for.
pub(super) enum WaitsFor {
    /// That it is approved.
    Approval(ApprovalId),
    /// The answer to its question.
    Answer(Box<PendingQuestion>),
}

impl Turn<'_> {
    /// Answers the calls of the open unit: those of a batch together, the batches one after the other. A call that
    /// waits for the owner holds up no other.
    pub(super) async fn run_tools(&mut self, batches: Vec<Vec<ToolCall>>) -> Result<CallsEnd, RuntimeError> {
        let session = self.session.id();
        let mut known: BTreeMap<CallId, ToolResult> = BTreeMap::new();
        let mut waiting: BTreeMap<CallId, WaitsFor> = BTreeMap::new();
        let mut begun = BTreeSet::new();
        let mut raises = Vec::new();
        let mut refusals = 0_u32;
        let produced_by = self.open_label();
        let order: Vec<CallId> = batches.iter().flatten().map(|call| call.id.clone()).collect();
        let shared = Arc::clone(&self.session.shared);
        let registry = Arc::clone(&self.session.registry);
        let (user, name) = (
            self.session.record.session.user.clone(),
            self.session.name().cloned(),
        );
        let caller = caller(&user, self.session.role, name.as_ref(), self.approver.is_some());
        let facts = Facts(&registry);
        let taint = self.session.taint().clone();
        let cancel = self.cancel.clone();
        let asked = std::mem::take(&mut self.asked);
        let questions = std::mem::take(&mut self.questions);
        let answer = self.answer.take();
        let acknowledged = self.session.record.acknowledged;
        let granted = std::sync::Mutex::new(acknowledged);
        let values = self.known_before(batches.iter().flatten(), produced_by);
        let calls = Calls {
            shared: &shared,
            registry: &registry,
            session,
            turn: self.turn,
            role: self.session.role,
            caller,
            parallel: u64::try_from(order.len()).unwrap_or(u64::MAX),
            clearance: self.session.clearance(),
            taint: &taint,
            produced_by,
            known: &values,
            cancel: &cancel,
            approver: self.approver,
            asked: &asked,
            questions: &questions,
            answer: answer.as_ref(),
            acknowledged,
            granted: &granted,
            asking: &Mutex::new(()),
        };
        for batch in batches {
            if self.cancel.is_cancelled() {
                break;
            }
            let ends = {
                let journal = Mutex::new(&mut *self);
                match batch.as_slice() {
                    [call] if facts.is_consequential(&call.name) => vec![calls.answer(call, &journal).await?],
                    together => {
                        let answers = together.iter().map(|call| calls.answer(call, &journal));
                        futures::future::try_join_all(answers).await?
                    }
                }
            };
            for (call, end) in batch.iter().zip(ends) {
                let answered = match end {
                    CallEnd::Answered(answered) => self.put_aside(*answered).await,
                    CallEnd::Waits(approval) => {
                        waiting.insert(call.id.clone(), WaitsFor::Approval(approval));
                        continue;
                    }
                    CallEnd::Asks(question) => {
                        waiting.insert(call.id.clone(), WaitsFor::Answer(question));
                        continue;
                    }
                    CallEnd::NotBegun => continue,
                };
                let Answered {
                    result,
                    raise,
                    events,
                    sources,
                    journalled,
                    denied_by_owner,
                    // The turn has it from the result.
                    settles: _,
                } = answered;
                self.waiting.events.extend(events);
                self.waiting
                    .writes
                    .extend(sources.into_iter().map(|source| Write::Source(session, source)));
                if journalled {
                    let result = Box::new(result.clone());
                    self.waiting.writes.push(Write::CallFinished {
                        session,
                        turn: self.turn,
                        result,
                    });
                }
                if let Some((label, origin)) = raise {
                    raises.push((result.call.clone(), label, origin));
                }
                if result.status == ResultStatus::Unknown {
                    begun.insert(result.call.clone());
                }
                refusals = refusals.saturating_add(u32::from(denied_by_owner));
                known.insert(result.call.clone(), result);
            }
        }
        // In call order, whichever ran first: the lineage must not depend on scheduling.
        let turn = self.session.record.turns;
        let mut raised = false;
        for id in &order {
            for (_, label, origin) in raises.iter().filter(|(call, _, _)| call == id) {
                raised |= self.raise(*label, origin.clone(), turn);
            }
        }
        self.store_taint(raised);
        self.session.record.acknowledged = granted.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.run.on_refusals(refusals);
        let complete = order
            .iter()
            .all(|id| known.contains_key(id) || waiting.contains_key(id));
        let known: Vec<ToolResult> = order.iter().filter_map(|id| known.remove(id)).collect();
        Ok(if !complete || self.cancel.is_cancelled() {
            CallsEnd::Cancelled { known, begun }
        } else if waiting.is_empty() {
            CallsEnd::Answered(known)
        } else {
            let waiting = order
                .into_iter()
                .filter_map(|id| Some((id.clone(), waiting.remove(&id)?)))
                .collect();
            CallsEnd::Waiting { known, waiting }
        })
    }

    /// What is known of the values of each consequential call, if that matters in this context.
    fn known_before<'c>(
        &mut self,
        calls: impl IntoIterator<Item = &'c ToolCall>,
        produced_by: Label,
    ) -> BTreeMap<CallId, Known> {
        let Session {
            provenance,
            transcript,
            registry,
            shared,
            record,
            ..
        } = &mut *self.session;
        let context = produced_by.join(record.session.taint.label());
        let mode = shared.integrity.mode;
        if mode == IntegrityMode::Off || context.integrity == Integrity::Trusted {
            return BTreeMap::new();
        }
        let calls: Vec<&ToolCall> = calls
            .into_iter()
            .filter(|call| is_judged_by_value(call, registry))
            .collect();
        // What was said is read when a call first needs it: reading later gives the same ledger.
        if calls.is_empty() {
            return BTreeMap::new();
        }
        if mode == IntegrityMode::Values {
            provenance.read(&shared.integrity, transcript, registry);
        }
        provenance.before_each(&shared.integrity, calls, registry)
    }

    /// Reads what the owner was asked about the open calls, and has said since.
    pub(super) async fn read_approvals(&mut self, open: &BTreeSet<CallId>) -> Result<(), RuntimeError> {
        for record in self.approvals().await? {
            if open.contains(&record.call) {
                self.may_have_asked |= record.state.is_open();
                if StoredQuestion::read(&record).is_some() {
                    self.questions.insert(record.call.clone(), record);
                    continue;
                }
                self.asked.entry(record.call.clone()).or_default().push(record);
            }
        }
        Ok(())
    }

    /// Ends what waits for the owner, or is granted and was not used: with the turn, nothing of it can happen any
    /// more.
    pub(super) async fn give_up_approvals(&mut self) -> Result<Vec<Write>, RuntimeError> {
        if !self.may_have_asked {
            return Ok(Vec::new());
        }
        let open = self
            .approvals()
            .await?
            .into_iter()
            .filter(|record| record.state.is_open());
        Ok(open
            .flat_map(|record| {
                let approval = record.id;
                [
                    Write::ExpireApproval { approval },
                    decided(&record, ApprovalDecision::Expired),
                ]
            })
            .collect())
    }

    /// The requests of this turn.
    async fn approvals(&self) -> Result<Vec<ApprovalRecord>, RuntimeError> {
        let filter = ApprovalFilter {
            session: Some(self.session.id()),
            state: None,
        };
        let mut records = self.session.shared.store.approvals(filter).await?;
        records.retain(|record| record.turn == self.turn);
        Ok(records)
    }
}
