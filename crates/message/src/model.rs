//! Names of models, their tiers, and the policy that chooses among them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A provider's name in the configuration (`[providers.NAME]`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(Arc<str>);

impl ProviderId {
    /// The provider of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A model: `provider:model`, split at the first colon.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId {
    provider: ProviderId,
    name: Arc<str>,
}

impl ModelId {
    /// The model `name` of `provider`.
    pub fn new(provider: ProviderId, name: impl Into<Arc<str>>) -> Self {
        Self {
            provider,
            name: name.into(),
        }
    }

    /// The provider.
    pub fn provider(&self) -> &ProviderId {
        &self.provider
    }

    /// The model's name as its provider knows it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.name)
    }
}

impl fmt::Debug for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that names no model, tier or policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {given:?}; write {valid}")]
pub struct ParseModelError {
    what: &'static str,
    given: String,
    valid: &'static str,
}

impl FromStr for ModelId {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                Ok(Self::new(ProviderId::new(provider), name))
            }
            _ => Err(ParseModelError {
                what: "model",
                given: text.into(),
                valid: "provider:model, as in local:small",
            }),
        }
    }
}

/// How strong (and dear) a model is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Small and fast: where `auto` starts.
    Lite,
    /// The middle: the ceiling of `auto`.
    Flash,
    /// The strongest: the ceiling of `auto_pro`.
    Pro,
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Self; 3] = [Self::Lite, Self::Flash, Self::Pro];

    /// The name, in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lite => "LITE",
            Self::Flash => "FLASH",
            Self::Pro => "PRO",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseModelError {
                what: "tier",
                given: text.into(),
                valid: "LITE, FLASH or PRO",
            })
    }
}

/// How a session's model is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelPolicy {
    /// Start at LITE; the model may move up to FLASH and down again.
    #[default]
    Auto,
    /// Start at LITE, up to PRO.
    AutoPro,
    /// This tier, whatever happens.
    Tier(Tier),
    /// This model, whatever happens.
    Model(ModelId),
}

impl FromStr for ModelPolicy {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("auto") {
            Ok(Self::Auto)
        } else if text.eq_ignore_ascii_case("auto_pro") {
            Ok(Self::AutoPro)
        } else if let Ok(tier) = text.parse() {
            Ok(Self::Tier(tier))
        } else {
            text.parse().map(Self::Model).map_err(|_| ParseModelError {
                what: "model policy",
                given: text.into(),
                valid: "auto, auto_pro, a tier (LITE, FLASH, PRO) or provider:model",
            })
        }
    }
}

impl fmt::Display for ModelPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::AutoPro => f.write_str("auto_pro"),
            Self::Tier(tier) => fmt::Display::fmt(tier, f),
            Self::Model(model) => fmt::Display::fmt(model, f),
        }
    }
}

macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serde_as_text!(ModelId, Tier, ModelPolicy);
