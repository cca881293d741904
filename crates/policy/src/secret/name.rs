//! The name of a secret.

use crate::IdError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a secret (`[secrets.NAME]`): 1 to 64 of `A-Z a-z 0-9 _ - .`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(Arc<str>);

impl SecretName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_valid(text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        (1..=64).contains(&text.len()) && text.bytes().all(plain)
    }
}

impl FromStr for SecretName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if Self::is_valid(text) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::new(
                "name of a secret",
                text,
                "write 1 to 64 letters A-Z a-z, digits, _, - or .",
            ))
        }
    }
}

impl TryFrom<String> for SecretName {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0.as_ref().into()
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
