//! Calls that are judged and not made: for simulation, and before a release.

use crate::CancelToken;
use crate::caller::caller;
use crate::ids;
use crate::provenance::Known;
use crate::runtime::Shared;
use crate::tool_call::Calls;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_policy::{CallId, Classification, Role, SessionId, Taint, TurnId, UserId};
use tidegate_store::ApprovalRecord;
use tidegate_tools::Registry;
use tokio::sync::Mutex;

/// The circumstances of a trial.
pub(crate) struct Trial<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) registry: Arc<Registry>,
    pub(crate) session: SessionId,
    pub(crate) user: UserId,
    pub(crate) role: Role,
    pub(crate) taint: Taint,
    pub(crate) clearance: Classification,
    /// As if somebody were there to be asked.
    pub(crate) attended: bool,
    pub(crate) known: BTreeMap<CallId, Known>,
}

/// The same with what calls borrow.
pub(crate) struct Ready<'a> {
    trial: Trial<'a>,
    turn: TurnId,
    cancel: CancelToken,
    asked: BTreeMap<CallId, Vec<ApprovalRecord>>,
    questions: BTreeMap<CallId, ApprovalRecord>,
    granted: std::sync::Mutex<Classification>,
    asking: Mutex<()>,
}

impl<'a> Trial<'a> {
    pub(crate) fn ready(self) -> Ready<'a> {
        // A call that was asked about is judged as with somebody there.
        let asked = match self.attended {
            true => self.known.keys().map(|call| (call.clone(), Vec::new())).collect(),
            false => BTreeMap::new(),
        };
        Ready {
            trial: self,
            turn: ids::new_turn_id(),
            cancel: CancelToken::default(),
            asked,
            questions: BTreeMap::new(),
            granted: std::sync::Mutex::new(Classification::Public),
            asking: Mutex::new(()),
        }
    }
}

impl Ready<'_> {
    pub(crate) fn calls(&self) -> Calls<'_> {
        let trial = &self.trial;
        Calls {
            shared: trial.shared,
            registry: &trial.registry,
            session: trial.session,
            turn: self.turn,
            role: trial.role,
            caller: caller(&trial.user, trial.role, None, trial.attended),
            parallel: 1,
            clearance: trial.clearance,
            taint: &trial.taint,
            produced_by: trial.taint.label(),
            known: &trial.known,
            cancel: &self.cancel,
            approver: None,
            asked: &self.asked,
            questions: &self.questions,
            answer: None,
            acknowledged: Classification::Public,
            granted: &self.granted,
            asking: &self.asking,
        }
    }

    /// What is known of a call's values.
    pub(crate) fn known(&self, call: &CallId) -> Option<&Known> {
        self.trial.known.get(call)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.trial.registry
    }
}
