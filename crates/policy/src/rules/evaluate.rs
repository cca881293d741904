//! What the rules say of a flow.

use super::condition::Met;
use super::facts::Facts;
use super::model::{Action, Rule, RuleSet};
use crate::{Hook, RuleId, RuleOutcome, RuleTrace};
use std::sync::{Arc, LazyLock};

/// What the custom rules of a hook come to.
#[derive(Clone, Debug)]
pub struct CustomOutcome<'r> {
    /// What they decide.
    pub verdict: CustomVerdict<'r>,
    /// Every rule looked at, in order, and why it did or did not match. The last is the one that ended it.
    pub traces: Vec<RuleTrace>,
    /// The rules whose patterns have to be redacted, in order.
    pub redactions: Vec<RuleId>,
}

/// What the custom rules decide.
#[derive(Clone, Copy, Debug)]
pub enum CustomVerdict<'r> {
    /// Nothing: no rule that ends them matched, which allows.
    NoMatch,
    /// This rule allows.
    Allow(&'r Rule),
    /// This rule refuses.
    Block(&'r Rule),
    /// This rule wants the owner to be asked.
    RequireApproval(&'r Rule),
}

impl<'r> CustomVerdict<'r> {
    /// The rule that ended it.
    pub fn rule(&self) -> Option<&'r Rule> {
        match self {
            Self::NoMatch => None,
            Self::Allow(rule) | Self::Block(rule) | Self::RequireApproval(rule) => Some(rule),
        }
    }
}

// Shared, since there may be one for every rule of every evaluation.
static ALWAYS: LazyLock<Arc<str>> = LazyLock::new(|| "it has no conditions, so it always matches".into());
static MATCHED: LazyLock<Arc<str>> = LazyLock::new(|| "all its conditions are met".into());

impl RuleSet {
    /// Looks at the rules of `hook` in order until one ends it.
    pub fn evaluate(&self, hook: Hook, facts: &dyn Facts) -> CustomOutcome<'_> {
        let rules = self.at(hook);
        let mut outcome = CustomOutcome {
            verdict: CustomVerdict::NoMatch,
            traces: Vec::with_capacity(rules.len()),
            redactions: Vec::new(),
        };
        self.evaluate_into(hook, facts, &mut outcome);
        outcome
    }

    /// [`evaluate`](Self::evaluate), adding to what `outcome` holds.
    pub(crate) fn evaluate_into<'r>(
        &'r self,
        hook: Hook,
        facts: &dyn Facts,
        outcome: &mut CustomOutcome<'r>,
    ) {
        for rule in self.at(hook) {
            let matching = rule.matches(facts);
            let mut trace = |result, why: &Arc<str>| {
                outcome.traces.push(RuleTrace {
                    rule: rule.id.clone(),
                    outcome: result,
                    why: Arc::clone(why).into(),
                });
            };
            let why = match matching {
                Err(unmet) => {
                    trace(RuleOutcome::Passed, unmet);
                    continue;
                }
                Ok(why) => why,
            };
            match rule.action {
                Action::Allow => {
                    trace(RuleOutcome::Allowed, why);
                    outcome.verdict = CustomVerdict::Allow(rule);
                }
                Action::Block => {
                    trace(RuleOutcome::Refused, why);
                    outcome.verdict = CustomVerdict::Block(rule);
                }
                Action::RequireApproval => {
                    trace(RuleOutcome::Asked, why);
                    outcome.verdict = CustomVerdict::RequireApproval(rule);
                }
                Action::Redact => {
                    trace(RuleOutcome::Redacted, why);
                    outcome.redactions.push(rule.id.clone());
                    continue;
                }
            }
            return;
        }
    }
}

impl Rule {
    /// Why it matches, or why not: the first condition that is not met.
    fn matches(&self, facts: &dyn Facts) -> Result<&Arc<str>, &Arc<str>> {
        let strictly = self.action == Action::Allow;
        let mut why = if self.when.is_empty() { &*ALWAYS } else { &*MATCHED };
        for condition in &self.when {
            match condition.is_met(facts.fact(condition.field), strictly) {
                Met::Yes => {}
                Met::No => return Err(&condition.unmet),
                Met::InDoubt => why = &condition.in_doubt,
            }
        }
        Ok(why)
    }
}
