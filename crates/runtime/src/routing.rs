//! Which models a session may use.

use crate::RuntimeError;
use crate::config::CompactionThreshold;
use crate::runtime::Shared;
use tidegate_message::{ModelId, ModelPolicy, Tier};
use tidegate_policy::Classification;
use tidegate_prompt::{Prices, Window};

/// Tokens that fit in a model of which the configuration says nothing.
const DEFAULT_WINDOW: u64 = 128_000;

/// From here on every conversation is compacted, whatever share of the window that is.
const MOST_TOKENS: u64 = 256_000;

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

    /// The window of the model that is called first, compacted from where the configuration says.
    pub(crate) fn window(&self, policy: &ModelPolicy, tier: Option<Tier>) -> Window {
        let first = self.candidates(policy, tier).into_iter().next();
        let window = Window::new(first.map_or(DEFAULT_WINDOW, |model| self.window_of(&model)));
        match self.configuration.prompt.compaction_threshold {
            CompactionThreshold::Auto => window,
            CompactionThreshold::Share(share) => {
                // Thousandths are exact enough, and integers.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the configuration was checked: 0.1 to 0.95"
                )]
                let thousandths = (share * 1_000.0) as u64;
                Window {
                    threshold: (window.tokens / 1_000)
                        .saturating_mul(thousandths)
                        .min(MOST_TOKENS),
                    ..window
                }
            }
        }
    }

    /// Tokens that fit in a model.
    pub(crate) fn window_of(&self, model: &ModelId) -> u64 {
        let models = &self.configuration.models;
        if models.is_empty() {
            return DEFAULT_WINDOW;
        }
        let known = models.get(&model.to_string());
        known
            .and_then(|settings| settings.context_window)
            .unwrap_or(DEFAULT_WINDOW)
    }

    /// Whether a model takes images, as far as the configuration says.
    pub(crate) fn takes_images(&self, model: &ModelId) -> bool {
        let known = self.configuration.models.get(&model.to_string());
        known.and_then(|settings| settings.images).unwrap_or(true)
    }

    /// What attachments count for.
    pub(crate) fn prices(&self) -> Prices {
        Prices {
            image: self.configuration.prompt.image_tokens,
            ..Prices::default()
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
