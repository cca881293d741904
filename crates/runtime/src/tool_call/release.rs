//! Calls that the owner released: exactly these bytes to exactly there, once.

use super::{Calls, Consent};
use crate::RuntimeError;
use crate::approvals::{Grant, RELEASE, Subject, release_digest};
use tidegate_policy::{Evaluation, RuleId, rule};
use tidegate_store::{ApprovalFilter, ApprovalRecord, ApprovalState};

/// Whether a call is refused because data would go down, and for nothing else.
pub(crate) fn is_write_down(evaluation: &Evaluation) -> bool {
    !evaluation.is_allowed()
        && evaluation
            .rule
            .as_ref()
            .is_some_and(|deciding| deciding.as_str() == rule::NO_WRITE_DOWN)
}

impl Calls<'_> {
    /// The release that lets this call run, if there is one, with the gate's answer to the call as released.
    pub(super) async fn released(
        &self,
        subject: &Subject<'_>,
    ) -> Result<Option<(Grant, Evaluation)>, RuntimeError> {
        let again = self.judge_released(subject);
        if !again.is_allowed() {
            return Ok(None);
        }
        let digest = release_digest(subject, self.taint);
        let filter = ApprovalFilter {
            session: Some(self.session),
            state: Some(ApprovalState::Granted),
        };
        let granted = self.shared.store.approvals(filter).await?;
        let found = granted
            .into_iter()
            .find(|record: &ApprovalRecord| record.digest == digest);
        Ok(found.map(|record| {
            let grant = Grant {
                approval: record.id,
                rule: RuleId::new(RELEASE),
                acknowledged: None,
            };
            (grant, again)
        }))
    }

    /// Judges a call as if the owner had released it.
    pub(crate) fn judge_released(&self, subject: &Subject<'_>) -> Evaluation {
        self.judge_subject(subject, Consent::Released)
    }
}
