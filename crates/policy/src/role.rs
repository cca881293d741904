//! Who a user is to the program.

use crate::label::serde_as_text;
use std::fmt;
use std::str::FromStr;

/// What a user may do, lowest first. Tools name the least role that may see and run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// May talk, and use tools meant for guests.
    Guest,
    /// May use the ordinary tools.
    User,
    /// The owner: may also run commands and administer.
    Admin,
}

impl Role {
    /// All roles, lowest first.
    pub const ALL: [Self; 3] = [Self::Guest, Self::User, Self::Admin];

    /// The name, in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guest => "GUEST",
            Self::User => "USER",
            Self::Admin => "ADMIN",
        }
    }
}

/// A name that is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown role {given:?}; write one of GUEST, USER, ADMIN")]
pub struct ParseRoleError {
    given: String,
}

impl FromStr for Role {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseRoleError { given: text.into() })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

serde_as_text!(Role);
