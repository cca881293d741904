//! Saving a run, and loading it.

use super::Run;
use crate::RunError;

/// Most runs take no more bytes.
const USUAL_BYTES: usize = 1_024;

impl Run {
    /// The form [`save`](Self::save) writes. Stored beside the bytes; raised when the form changes.
    pub const VERSION: u32 = 1;

    /// The run as bytes of form [`VERSION`](Self::VERSION). Store them with the transcript's new entries, in one
    /// transaction.
    ///
    /// # Errors
    /// [`RunError::Unwritable`]; nothing a run holds can bring it about.
    pub fn save(&self) -> Result<Vec<u8>, RunError> {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        serde_json::to_writer(&mut bytes, self).map_err(RunError::Unwritable)?;
        Ok(bytes)
    }

    /// The run that was saved in form `version`.
    ///
    /// # Errors
    /// [`RunError::UnknownVersion`] for the form of a newer version, and [`RunError::Unreadable`].
    pub fn load(version: u32, bytes: &[u8]) -> Result<Self, RunError> {
        if version != Self::VERSION {
            return Err(RunError::UnknownVersion {
                found: version,
                known: Self::VERSION,
            });
        }
        serde_json::from_slice(bytes).map_err(|cause| RunError::Unreadable { version, cause })
    }
}
