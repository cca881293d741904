//! Files that are exported to.

use anyhow::Context as _;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes a new file that its owner alone can read: what is exported may be confidential.
pub(super) fn write_new(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<std::fs::File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).with_context(|| {
        format!(
            "cannot create {}; an export needs a new file in a folder that is there",
            path.display()
        )
    })?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|()| out.into_inner()?.sync_all());
    written.with_context(|| {
        // Half an export is none. If it cannot be removed either, the error names it.
        let _ = std::fs::remove_file(path);
        format!("cannot write {}", path.display())
    })
}
