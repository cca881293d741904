//! Identifiers, each its own type, so that one cannot be passed for another.
//!
//! Random ids (sessions, threads, turns, approvals) are 128 bits; the bits come from the caller, since nothing in
//! this crate is random.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// A text that is no id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not {} {what}: {expected}", article(.what))]
pub struct IdError {
    what: &'static str,
    given: String,
    expected: &'static str,
}

/// The indefinite article of a kind of id.
fn article(what: &str) -> &'static str {
    if what.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

impl IdError {
    pub(crate) fn new(what: &'static str, given: &str, expected: &'static str) -> Self {
        Self {
            what,
            given: given.into(),
            expected,
        }
    }
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The id with these random bits.
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The bits.
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                write_hex(self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix)
                    .filter(|hex| hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
                    .and_then(|hex| u128::from_str_radix(hex, 16).ok())
                    .map(Self)
                    .ok_or_else(|| IdError {
                        what: $what,
                        given: text.into(),
                        expected: concat!("expected ", $prefix, " and 32 lower-case hexadecimal digits"),
                    })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Writes 32 hex digits: at once, since checkpoints and events are full of ids.
fn write_hex(bits: u128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digit = |half: u8| match half {
        0..=9 => b'0' + half,
        _ => b'a' + (half - 10),
    };
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bits.to_be_bytes()) {
        if let [high, low] = pair {
            (*high, *low) = (digit(byte >> 4), digit(byte & 15));
        }
    }
    f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
}

random_id!(
    /// A session: one conversation with its taint, clearance and transcript. Written `s_` and 32 hex digits.
    SessionId, "s_", "session id"
);
random_id!(
    /// A sub-agent's thread inside a session. Written `t_` and 32 hex digits.
    ThreadId, "t_", "thread id"
);
random_id!(
    /// One turn: what happens from a user's message to its answer. Written `u_` and 32 hex digits.
    TurnId, "u_", "turn id"
);

random_id!(
    /// One request for the owner's approval of a call. Written `a_` and 32 hex digits.
    ApprovalId, "a_", "approval id"
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id of this text.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id!(
    /// One tool call of a session: unique in it and never reused, independent of the id the provider gave.
    CallId
);
text_id!(
    /// A full text kept in the store: the uncut output of a tool, say.
    SourceId
);
text_id!(
    /// A long-term memory.
    MemoryId
);
text_id!(
    /// A user of the configuration (`[users.NAME]`).
    UserId
);
text_id!(
    /// A tool's name, as models see it.
    ToolName
);

/// A rule of the gate, built in or from the configuration. A clone copies no text.
#[derive(Clone)]
pub struct RuleId(RuleName);

#[derive(Clone)]
enum RuleName {
    BuiltIn(&'static str),
    Given(Arc<str>),
}

impl RuleId {
    /// The id of this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(RuleName::Given(text.into()))
    }

    /// The id of a built-in rule.
    pub(crate) const fn built_in(name: &'static str) -> Self {
        Self(RuleName::BuiltIn(name))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            RuleName::BuiltIn(text) => text,
            RuleName::Given(text) => text,
        }
    }
}

impl PartialEq for RuleId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RuleId {}

impl PartialOrd for RuleId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RuleId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for RuleId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl From<&str> for RuleId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Serialize for RuleId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<str>::deserialize(deserializer).map(Self::new)
    }
}

/// The name of a session, given by a person: 1 to 64 of `A-Z a-z 0-9 _ -`.
///
/// It is an alias of a [`SessionId`]; a reset moves it on to the next session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(Arc<str>);

impl SessionName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let valid = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(IdError {
                what: "session name",
                given: text.into(),
                expected: "write 1 to 64 letters A-Z a-z, digits, _ or -",
            })
        }
    }
}

impl TryFrom<String> for SessionName {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0.as_ref().into()
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// An event: a session and its place in that session's sequence. Written `s_…:17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The session the event belongs to.
    pub session: SessionId,
    /// Its place in the session's sequence; the first event has 1.
    pub sequence: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.sequence)
    }
}

impl FromStr for EventId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.split_once(':')
            .and_then(|(session, sequence)| {
                Some(Self {
                    session: session.parse().ok()?,
                    sequence: sequence.parse().ok()?,
                })
            })
            .ok_or_else(|| IdError {
                what: "event id",
                given: text.into(),
                expected: "expected a session id, a colon and a number, as `tidegate events` prints them",
            })
    }
}
