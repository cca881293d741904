//! Which tier answers, and which it may hand over to.

use crate::text;
use serde::{Deserialize, Serialize};
use tidegate_message::{ModelPolicy, Tier, ToolCall};
use tidegate_tools::NewCognitiveLevel;

/// How often the tier may be switched in one turn. Switches cost nothing, so that two models could hand a
/// task back and forth forever.
pub const MAX_TIER_SWITCHES: u32 = 8;

/// The tier a session is at, and how far it may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// None for a model fixed by its name.
    current: Option<Tier>,
    /// None if the tier or model is fixed.
    ceiling: Option<Tier>,
}

impl Routing {
    /// Where a session of this policy begins.
    pub fn new(policy: &ModelPolicy) -> Self {
        match policy {
            ModelPolicy::Auto => Self {
                current: Some(Tier::Lite),
                ceiling: Some(Tier::Flash),
            },
            ModelPolicy::AutoPro => Self {
                current: Some(Tier::Lite),
                ceiling: Some(Tier::Pro),
            },
            ModelPolicy::Tier(tier) => Self {
                current: Some(*tier),
                ceiling: None,
            },
            ModelPolicy::Model(_) => Self {
                current: None,
                ceiling: None,
            },
        }
    }

    /// The same at `tier`, where an earlier turn of the session had come to; unchanged if the policy does not
    /// let a session get there.
    #[must_use]
    pub fn resumed_at(mut self, tier: Tier) -> Self {
        if self.ceiling.is_some_and(|ceiling| tier <= ceiling) {
            self.current = Some(tier);
        }
        self
    }

    /// The tier to call; none for a model fixed by its name.
    pub fn current(&self) -> Option<Tier> {
        self.current
    }

    /// The highest tier that can be switched to; none if nothing can be switched.
    pub fn ceiling(&self) -> Option<Tier> {
        self.ceiling
    }

    /// What can be switched to now, lowest first: the tiers up to the ceiling without the current one. Empty
    /// if the tier or model is fixed.
    pub fn targets(&self) -> Vec<Tier> {
        Tier::ALL
            .into_iter()
            .filter(|tier| {
                self.ceiling.is_some_and(|ceiling| *tier <= ceiling) && self.current != Some(*tier)
            })
            .collect()
    }

    /// Goes to a tier that [`request`](Self::request) let through; where it came from.
    pub(crate) fn switch(&mut self, to: Tier) -> Tier {
        self.current.replace(to).unwrap_or(to)
    }

    /// Reads a call of `new_cognitive_level`: what it asks for, or why that is not possible, for the model.
    pub(crate) fn request(&self, call: &ToolCall) -> Result<SwitchRequest, String> {
        let targets = self.targets();
        if targets.is_empty() {
            return Err(text::FIXED_MODEL.into());
        }
        let arguments = call
            .parse_arguments()
            .map_err(|problem| text::switch_arguments(&problem, &targets))?;
        let NewCognitiveLevel {
            target_model,
            transfer_plan,
            reason,
        } = serde_json::from_value(arguments.into())
            .map_err(|problem| text::switch_arguments(&problem, &targets))?;
        let to: Tier = target_model
            .parse()
            .map_err(|_| text::unknown_tier(&target_model, &targets))?;
        if !targets.contains(&to) {
            return Err(match self.ceiling {
                Some(ceiling) if to > ceiling => text::above_ceiling(to, ceiling, &targets),
                Some(_) | None => text::same_tier(to, &targets),
            });
        }
        if transfer_plan.trim().is_empty() {
            return Err(text::empty_plan(&targets));
        }
        Ok(SwitchRequest {
            to,
            plan: transfer_plan,
            reason: reason.filter(|reason| !reason.trim().is_empty()),
        })
    }
}

/// A valid wish for another tier.
pub(crate) struct SwitchRequest {
    pub(crate) to: Tier,
    pub(crate) plan: String,
    pub(crate) reason: Option<String>,
}
