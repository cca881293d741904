//! Secrets: where placeholders may stand, what is put in, and what is taken out again.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod scopes;
mod scrubbing;

use secrecy::SecretString;
use tidegate_policy::{SecretName, SecretValues};

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn values(values: &[(&str, &str)]) -> SecretValues {
    let mut all = SecretValues::default();
    for (secret, value) in values {
        all.insert(name(secret), SecretString::from(*value)).unwrap();
    }
    all
}
