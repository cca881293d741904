//! Limits of what may be asked for.

use crate::MemoryError;

/// Checks a number that was given.
pub(crate) fn bounds(what: &'static str, given: usize, most: usize) -> Result<(), MemoryError> {
    if (1..=most).contains(&given) {
        return Ok(());
    }
    Err(MemoryError::OutOfBounds {
        what,
        given: given as u64,
        least: 1,
        most: most as u64,
    })
}
