//! Limits of what may be asked for.

use crate::MemoryError;
use tidegate_policy::SourceId;

/// The longest name of a source, in characters.
pub const LONGEST_SOURCE_ID: usize = 200;

/// Checks the name of a source that is to be saved.
pub(crate) fn check_source_id(source: &SourceId) -> Result<(), MemoryError> {
    let given = source.as_str().chars().count();
    if given > LONGEST_SOURCE_ID {
        return Err(MemoryError::TooLong {
            what: "source_id",
            given,
            most: LONGEST_SOURCE_ID,
        });
    }
    Ok(())
}

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
