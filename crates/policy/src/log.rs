//! What logs, traces and metrics may hold: they are INTERNAL.

use crate::{Classification, escaped};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::borrow::Cow;
use std::fmt;
use url::Url;

/// The level of logs, traces and metrics: content above it is hashed.
const LOGS: Classification = Classification::Internal;

/// Stands for content that logs must not hold: `[#a1b2c3 ~2 KB]`.
///
/// The hash is HMAC-SHA-256 with a key, cut to 24 bits: enough to see that two lines are about the same content,
/// and nothing to guess the content by without the key. The length is rounded up to a power of two, at least 64 bytes.
/// The key is the caller's: random, and best as long-lived as the logs have to be compared. Shown, it tells nothing of it.
#[derive(Clone)]
pub struct KeyedHash {
    state: Hmac<Sha256>,
}

impl fmt::Debug for KeyedHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedHash(…)")
    }
}

impl KeyedHash {
    /// Hashes with this key.
    pub fn new(key: [u8; 32]) -> Self {
        // HMAC fills a shorter key up with zeros to the size of a block.
        let mut block = [0; 64];
        if let Some(start) = block.first_chunk_mut() {
            *start = key;
        }
        Self {
            state: Hmac::new(&block.into()),
        }
    }

    /// What stands for `content`.
    pub fn of(&self, content: &str) -> String {
        let mut state = self.state.clone();
        state.update(content.as_bytes());
        let hash = state.finalize().into_bytes();
        let digits: String = hash.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
        format!("[#{digits} ~{}]", rounded(content.len()))
    }

    /// `content` as logs may hold it: escaped if its level is INTERNAL or below, else hashed.
    pub fn logged<'c>(&self, content: &'c str, level: Classification) -> Cow<'c, str> {
        if level.can_flow_to(LOGS) {
            escaped(content)
        } else {
            Cow::Owned(self.of(content))
        }
    }
}

fn rounded(bytes: usize) -> String {
    let bytes = bytes.max(64).checked_next_power_of_two().unwrap_or(usize::MAX);
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

/// A URL as logs may hold it, escaped: without user, query and fragment. What is no URL ends where a query or fragment
/// would begin.
pub fn logged_url(url: &str) -> String {
    let shown = match url.parse::<Url>() {
        Ok(mut parsed) if parsed.has_host() => {
            parsed.set_query(None);
            parsed.set_fragment(None);
            // These fail for URLs without a host alone.
            let _without_user = parsed.set_username("").and_then(|()| parsed.set_password(None));
            parsed.to_string()
        }
        _ => {
            let end = url.find(['?', '#']).unwrap_or(url.len());
            url.get(..end).unwrap_or_default().to_owned()
        }
    };
    escaped(&shown).into_owned()
}
