//! Which models a session may use.

use crate::RuntimeError;
use crate::runtime::Shared;
use tidegate_message::{ModelId, ModelPolicy, Tier};
use tidegate_policy::Classification;

impl Shared {
    /// The candidates for a call, best first: of `tier`, or of a fixed model.
    pub(crate) fn candidates(&self, policy: &ModelPolicy, tier: Option<Tier>) -> Vec<ModelId> {
        match (policy, tier) {
            (ModelPolicy::Model(model), _) => vec![model.clone()],
            (_, Some(tier)) => self.tiers.get(&tier).cloned().unwrap_or_default(),
            (_, None) => Vec::new(),
        }
    }

    /// The tiers a session of this policy may come to use.
    pub(crate) fn tiers_of(policy: &ModelPolicy) -> &[Tier] {
        match policy {
            ModelPolicy::Auto => &[Tier::Lite, Tier::Flash],
            ModelPolicy::AutoPro => &Tier::ALL,
            ModelPolicy::Tier(Tier::Lite) => &[Tier::Lite],
            ModelPolicy::Tier(Tier::Flash) => &[Tier::Flash],
            ModelPolicy::Tier(Tier::Pro) => &[Tier::Pro],
            ModelPolicy::Model(_) => &[],
        }
    }

    /// Checks that the policy has a model to start with.
    pub(crate) fn check_policy(&self, policy: &ModelPolicy) -> Result<(), RuntimeError> {
        if let ModelPolicy::Model(model) = policy {
            return match self.slot(model) {
                Some(_) => Ok(()),
                None => Err(RuntimeError::UnknownProvider {
                    policy: policy.clone(),
                    provider: model.provider().clone(),
                    known: self
                        .providers
                        .keys()
                        .map(|id| id.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                }),
            };
        }
        match Self::tiers_of(policy).first() {
            Some(tier) if self.tiers.get(tier).is_none_or(Vec::is_empty) => Err(RuntimeError::NoModel {
                wanted: format!("tier {tier}"),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// The highest clearance among the providers a session of this policy may come to use: what is above it
    /// could not be worked with, so it is refused before it is read.
    pub(crate) fn highest_clearance(&self, policy: &ModelPolicy) -> Classification {
        let models = match policy {
            ModelPolicy::Model(model) => vec![model],
            _ => Self::tiers_of(policy)
                .iter()
                .filter_map(|tier| self.tiers.get(tier))
                .flatten()
                .collect(),
        };
        models
            .into_iter()
            .filter_map(|model| self.slot(model))
            .map(|slot| slot.clearance)
            .max()
            .unwrap_or(Classification::Public)
    }
}
