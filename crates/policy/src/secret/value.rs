//! The values of secrets, and putting them into arguments.

use super::placeholder::{Placeholder, in_text};
use super::scope::{ScopeRefusal, is_url};
use super::{Scrubber, SecretName};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Shortest value, in bytes. A shorter one is found in results by chance, so that taking it out would both spoil
/// them and tell what it is.
const SHORTEST: usize = 8;

/// What is wrong with secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// A value that is too short.
    #[error(
        "the value of the secret {secret} has {length} bytes; a secret needs at least {SHORTEST}, or it would be \
         found in results by chance and could not be kept out of them"
    )]
    TooShort {
        /// The secret.
        secret: SecretName,
        /// Its length in bytes.
        length: usize,
    },
    /// A value that starts or ends with blanks or line breaks, which hardly belong to it.
    #[error(
        "the value of the secret {secret} starts or ends with a blank or line break, which is hardly meant; take it away"
    )]
    Blanks {
        /// The secret.
        secret: SecretName,
    },
    /// Secrets a call needs and that have no value.
    #[error(
        "no value is set for: {}; set the variables or files that [secrets] names for them",
        names.iter().map(SecretName::as_str).collect::<Vec<_>>().join(", ")
    )]
    NoValue {
        /// Their names, all of them.
        names: Vec<SecretName>,
    },
    /// A placeholder where it may not be.
    #[error(transparent)]
    Refused(#[from] ScopeRefusal),
}

/// The values of secrets. Shown, it names them and no value.
#[derive(Clone, Default)]
pub struct SecretValues {
    values: BTreeMap<SecretName, SecretString>,
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl SecretValues {
    /// Adds a value, in place of one of that name before.
    ///
    /// # Errors
    /// If it is too short to be kept out of results, or has blanks at an end.
    pub fn insert(&mut self, secret: SecretName, value: SecretString) -> Result<(), SecretError> {
        let text = value.expose_secret();
        if text.trim() != text {
            return Err(SecretError::Blanks { secret });
        }
        let length = text.len();
        if length < SHORTEST {
            return Err(SecretError::TooShort { secret, length });
        }
        self.values.insert(secret, value);
        Ok(())
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &SecretName> {
        self.values.keys()
    }

    /// What takes these values out of results.
    pub fn scrubber(&self) -> Scrubber {
        Scrubber::new(
            self.values
                .iter()
                .map(|(name, value)| (name, value.expose_secret())),
        )
    }

    pub(super) fn put_into(
        &self,
        arguments: &Value,
        found: &[Placeholder],
    ) -> Result<SubstitutedArguments, SecretError> {
        let wanted: BTreeSet<&SecretName> = found.iter().map(|placeholder| &placeholder.secret).collect();
        let missing = wanted.iter().filter(|name| !self.values.contains_key(**name));
        let names: Vec<SecretName> = missing.map(|name| (*name).clone()).collect();
        if !names.is_empty() {
            return Err(SecretError::NoValue { names });
        }
        let mut arguments = arguments.clone();
        if !wanted.is_empty() {
            self.replace(&mut arguments);
        }
        Ok(SubstitutedArguments(arguments))
    }

    fn replace(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = self.replaced(text),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.replace(entry)),
            Value::Object(members) => members.values_mut().for_each(|member| self.replace(member)),
        }
    }

    fn replaced(&self, text: &str) -> String {
        let encode = is_url(text);
        let mut replaced = String::with_capacity(text.len());
        let mut at = 0;
        for (place, name) in in_text(text) {
            let Some(value) = self.values.get(&name) else {
                continue;
            };
            replaced.push_str(text.get(at..place.start).unwrap_or_default());
            let value = value.expose_secret();
            if encode {
                replaced.extend(value.bytes().map(percent_encoded));
            } else {
                replaced.push_str(value);
            }
            at = place.end;
        }
        replaced.push_str(text.get(at..).unwrap_or_default());
        replaced
    }
}

/// A byte as it stands anywhere in a URL.
fn percent_encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

/// Arguments with the values of secrets in them. Shown, it tells nothing of them.
#[derive(Clone)]
pub struct SubstitutedArguments(Value);

impl SubstitutedArguments {
    /// The arguments: for the tool, and for nothing else.
    pub fn expose(&self) -> &Value {
        &self.0
    }

    /// The arguments: for the tool, and for nothing else.
    pub fn into_exposed(self) -> Value {
        self.0
    }
}

impl fmt::Debug for SubstitutedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SubstitutedArguments(…)")
    }
}
