//! The owner's release of data that may not go down by itself.

use super::asking::Subject;
use super::decision::decided;
use super::digest::release_digest;
use super::request::ApprovalRequest;
use crate::explain::calls_of;
use crate::open::{registry, role};
use crate::tool_call::{Consent, is_write_down};
use crate::trial::Trial;
use crate::{Runtime, RuntimeError, ids};
use std::time::Duration;
use tidegate_message::{ApprovalDecision, EventKind, Transcript};
use tidegate_policy::{ApprovalId, EventId, Integrity, Label, RuleId};
use tidegate_store::{ApprovalRecord, NewApproval, SessionRecord, SessionState, StoreError, Write};

/// The name under which a release is recorded, in the place of a rule.
pub(crate) const RELEASE: &str = "release";

/// What a release would let go: everything the owner has to see before it is one.
#[derive(Clone, Debug)]
pub struct Release {
    /// The whole call, as it would run: the exact arguments and sinks.
    pub request: ApprovalRequest,
    digest: [u8; 32],
    label: Label,
}

impl Runtime {
    /// What releasing the call of a decision would let go. The decision has to be a refusal by no-write-down, and the
    /// session TRUSTED: where others had a say in what is sent, nothing is released.
    ///
    /// # Errors
    /// [`RuntimeError::NotReleasable`] says why not.
    pub async fn releasable(&self, id: EventId) -> Result<Release, RuntimeError> {
        let shared = &self.shared;
        let no = |why: &'static str| RuntimeError::NotReleasable { event: id, why };
        let stored = shared.store.event(id).await?;
        let event = stored.ok_or(RuntimeError::UnknownEvent { event: id })?.event;
        let EventKind::FlowJudged {
            call: Some(call),
            evaluation,
            ..
        } = &event.kind
        else {
            return Err(no("it is no decision about a call"));
        };
        if !is_write_down(evaluation) {
            return Err(no(
                "the call was not refused by no-write-down; only what that refuses can be released",
            ));
        }
        let record = shared.store.session(id.session).await?;
        let record: SessionRecord = record.ok_or(RuntimeError::UnknownEvent { event: id })?;
        let session = &record.session;
        if record.state == SessionState::Erased {
            return Err(no("the session was deleted"));
        }
        if evaluation.label.integrity == Integrity::Untrusted
            || session.taint.label().integrity == Integrity::Untrusted
        {
            return Err(no(
                "the session has read what nobody vouches for, and that may have shaped what would be sent; write it \
                 there yourself, or do it in a session that reads trusted data alone ([policy] trusted_folders)",
            ));
        }
        let entries = shared.store.entries(id.session).await?;
        let found = entries
            .iter()
            .position(|entry| calls_of(entry).any(|known| known.id == *call));
        let place = found.ok_or_else(|| no("the message with the call is not there any more"))?;
        let message = entries
            .get(place)
            .ok_or_else(|| no("the message with the call is not there any more"))?;
        let tool_call = calls_of(message)
            .find(|known| known.id == *call)
            .cloned()
            .ok_or_else(|| no("the message with the call is not there any more"))?;
        let role = role(shared, &session.user)?;
        let before = entries.iter().take(place).cloned().collect();
        let transcript = Transcript::from_entries(before).map_err(|cause| RuntimeError::Transcript {
            session: id.session,
            cause,
        })?;
        let trial = Trial {
            shared,
            registry: registry(shared, &session.workspace, role)?,
            session: id.session,
            user: session.user.clone(),
            role,
            taint: session.taint.clone(),
            clearance: session.clearance,
            attended: false,
            known: Default::default(),
        };
        let trial = trial.ready();
        let calls = trial.calls();
        let prepared = calls.prepared(&tool_call).await;
        let Some((definition, arguments, prepared)) = prepared else {
            return Err(no("what it names cannot be found any more"));
        };
        let subject = Subject {
            call: &tool_call,
            definition,
            arguments: &arguments,
            resources: prepared.resources(),
            resolved: prepared.resolved(),
        };
        if !is_write_down(&calls.judge_subject(&subject, Consent::None)) {
            return Err(no(
                "the call is not refused by no-write-down any more; let the model make it again",
            ));
        }
        let released = calls.judge_released(&subject);
        if !released.is_allowed() {
            return Err(no("other rules would stop the call all the same"));
        }
        let turn = event.turn.unwrap_or_else(ids::new_turn_id);
        let mut request = ApprovalRequest::of(
            ids::new_approval_id(),
            id.session,
            turn,
            &subject,
            evaluation,
            None,
            &transcript,
        );
        request.rule = RuleId::new(RELEASE);
        Ok(Release {
            request,
            digest: release_digest(&subject, &session.taint),
            label: evaluation.label,
        })
    }

    /// Releases it: when the model makes exactly this call again while the session's taint is what it is now, it runs,
    /// once. The owner has to have seen [`Release::request`] whole; who may call this is for the caller to see to.
    ///
    /// # Errors
    /// Of the store.
    pub async fn release(&self, release: &Release) -> Result<ApprovalRecord, RuntimeError> {
        let request = &release.request;
        let approval: ApprovalId = request.id;
        let new = NewApproval {
            id: approval,
            session: request.session,
            turn: request.turn,
            call: request.call.clone(),
            digest: release.digest,
            label: release.label,
            // Text and numbers alone: nothing in it can fail to be written.
            shown: serde_json::to_string(request).unwrap_or_default(),
            valid_for: Duration::from_secs(self.shared.configuration.policy.approval_timeout_s),
        };
        let store = &self.shared.store;
        store.commit(vec![Write::AskApproval(Box::new(new))]).await?;
        let unknown = || StoreError::UnknownApproval { approval };
        let record = store.approval(approval).await?.ok_or_else(unknown)?;
        let writes = vec![
            Write::DecideApproval {
                approval,
                grant: true,
            },
            decided(&record, ApprovalDecision::Granted),
        ];
        store.commit(writes).await?;
        Ok(store.approval(approval).await?.ok_or_else(unknown)?)
    }
}
