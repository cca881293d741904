//! Files that their owner alone may read: keys and secrets.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Why a file is not used.
pub(crate) enum Unusable {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is a folder or a device.
    NoFile,
    /// Others can read it.
    Shared,
}

/// The text of a file that nobody else can read.
pub(crate) fn read(path: &Path) -> Result<String, Unusable> {
    let mut file = File::open(path).map_err(Unusable::Unreadable)?;
    let metadata = file.metadata().map_err(Unusable::Unreadable)?;
    if !metadata.is_file() {
        return Err(Unusable::NoFile);
    }
    if !is_private(&metadata) {
        return Err(Unusable::Shared);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(Unusable::Unreadable)?;
    Ok(text)
}

#[cfg(unix)]
fn is_private(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_metadata: &std::fs::Metadata) -> bool {
    true
}
