//! Why a file cannot be read.

use crate::error::Cause;
use std::error::Error as _;

/// Why there is no text of a file. It is told to people and models, and kept in the registry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{filename} is of a type for which this build has no reader; give its text instead")]
    NoReader { filename: String },
    #[error("the text is neither UTF-8 nor UTF-16; save it as UTF-8")]
    Encoding,
    #[cfg(feature = "documents")]
    #[error("the file is encrypted; save it without a password")]
    Encrypted,
    #[cfg(feature = "documents")]
    #[error("the text in it is longer than 32 MiB; give a part of it")]
    TooLong,
    #[cfg(feature = "documents")]
    #[error("there is no {part} in it, as in files of this type; it may be damaged or of another type")]
    Part { part: &'static str },
    #[cfg(feature = "documents")]
    #[error("it cannot be read as {what}; it may be damaged or of another type")]
    Damaged {
        what: &'static str,
        #[source]
        cause: Cause,
    },
}

impl Unreadable {
    #[cfg(feature = "documents")]
    pub(super) fn damaged(what: &'static str) -> impl Fn(Cause) -> Self {
        move |cause| Self::Damaged { what, cause }
    }

    /// All of it in one line.
    pub(crate) fn told(&self) -> String {
        let mut told = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some tell their cause themselves.
            if !told.contains(&text) {
                told.push_str(": ");
                told.push_str(&text);
            }
            cause = error.source();
        }
        told
    }
}
