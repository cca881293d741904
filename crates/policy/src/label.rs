//! The lattice: classification, integrity, and their product.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How far data may travel. Ordered: data flows to an equal or higher level, never down.
///
/// Parsing trims and ignores ASCII case and accepts the four names alone, so that a look-alike letter
/// or an empty string is an error and never a default. Rendered in capitals.
///
/// ```
/// use tidegate_policy::Classification::{self, *};
///
/// assert_eq!(" internal ".parse::<Classification>()?, Internal);
/// assert!(Internal.can_flow_to(Confidential));
/// assert!(!Confidential.can_flow_to(Internal));
/// assert!("SECRET".parse::<Classification>().is_err());
/// # Ok::<(), tidegate_policy::ParseLabelError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Classification {
    /// For everyone.
    #[default]
    Public,
    /// For the people and machines of the house.
    Internal,
    /// For those who need it.
    Confidential,
    /// For the owner, and for nothing that leaves this machine unless the owner configured it so.
    Restricted,
}

impl Classification {
    /// All levels, lowest first.
    pub const ALL: [Self; 4] = [Self::Public, Self::Internal, Self::Confidential, Self::Restricted];

    /// Whether data of this level may be handed to a sink of level `sink`.
    pub fn can_flow_to(self, sink: Self) -> bool {
        self <= sink
    }

    /// The name, in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "PUBLIC",
            Self::Internal => "INTERNAL",
            Self::Confidential => "CONFIDENTIAL",
            Self::Restricted => "RESTRICTED",
        }
    }
}

/// Whether the bytes are the owner's word or somebody else's.
///
/// TRUSTED is only what an authenticated person wrote, the configuration, and declared fields of
/// trusted tools; everything else is UNTRUSTED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Integrity {
    /// The owner's own word.
    Trusted,
    /// Anything else. Joins absorb to this side.
    Untrusted,
}

impl Integrity {
    /// The name, in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "TRUSTED",
            Self::Untrusted => "UNTRUSTED",
        }
    }
}

/// A classification and an integrity: what every piece of data carries.
///
/// Its [`join`](Self::join) makes a bounded lattice: associative, commutative, idempotent, monotone,
/// with [`Label::BOTTOM`] as identity and [`Label::UNREADABLE`] absorbing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// How far it may travel.
    pub classification: Classification,
    /// Whose word it is.
    pub integrity: Integrity,
}

impl Label {
    /// PUBLIC and TRUSTED: the identity of [`join`](Self::join), and where a new session starts.
    pub const BOTTOM: Self = Self::new(Classification::Public, Integrity::Trusted);

    /// What data whose label cannot be read counts as: RESTRICTED and UNTRUSTED.
    pub const UNREADABLE: Self = Self::new(Classification::Restricted, Integrity::Untrusted);

    /// A label of these two parts.
    pub const fn new(classification: Classification, integrity: Integrity) -> Self {
        Self {
            classification,
            integrity,
        }
    }

    /// TRUSTED data of `classification`.
    pub const fn trusted(classification: Classification) -> Self {
        Self::new(classification, Integrity::Trusted)
    }

    /// UNTRUSTED data of `classification`.
    pub const fn untrusted(classification: Classification) -> Self {
        Self::new(classification, Integrity::Untrusted)
    }

    /// The label of what is computed from both: the higher classification, UNTRUSTED if either is.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            classification: self.classification.max(other.classification),
            integrity: self.integrity.max(other.integrity),
        }
    }

    /// The join of all labels, [`Label::BOTTOM`] of none.
    pub fn join_all(labels: impl IntoIterator<Item = Self>) -> Self {
        labels.into_iter().fold(Self::BOTTOM, Self::join)
    }

    /// Whether `self` is at or below `other` in the lattice: joining it would change nothing.
    pub fn is_within(self, other: Self) -> bool {
        self.join(other) == other
    }

    /// Whether this data may be handed to a sink of level `sink`. Integrity plays no part in it.
    pub fn can_flow_to(self, sink: Classification) -> bool {
        self.classification.can_flow_to(sink)
    }
}

/// A name that is no classification or integrity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {given:?}; write one of {valid}")]
pub struct ParseLabelError {
    what: &'static str,
    given: String,
    valid: &'static str,
}

impl FromStr for Classification {
    type Err = ParseLabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseLabelError {
                what: "classification",
                given: text.into(),
                valid: "PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED",
            })
    }
}

impl FromStr for Integrity {
    type Err = ParseLabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Trusted, Self::Untrusted]
            .into_iter()
            .find(|integrity| integrity.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseLabelError {
                what: "integrity",
                given: text.into(),
                valid: "TRUSTED, UNTRUSTED",
            })
    }
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `CONFIDENTIAL, UNTRUSTED`.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.classification, self.integrity)
    }
}

/// Text form in serde for a type with `as_str` and `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

serde_as_text!(Classification);
serde_as_text!(Integrity);
