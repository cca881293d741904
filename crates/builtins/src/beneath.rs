//! Opening beneath a folder, whatever links there are and whoever changes them meanwhile.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// For a folder.
pub(crate) const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// For reading a file. Without NONBLOCK opening a pipe waits for its writer; without NOCTTY opening a terminal may
/// make it ours.
pub(crate) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// How often an attempt that a concurrent rename disturbed is repeated.
#[cfg(target_os = "linux")]
const ATTEMPTS: usize = 32;

/// Opens `path`, which has no `..`, beneath `root`, following no link at all: links were resolved before, each
/// judged by its own level.
#[cfg(target_os = "linux")]
pub(crate) fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, ResolveFlags, openat2};
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..ATTEMPTS {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // A rename somewhere in the system happened just now; INTR: a signal.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// The same where there is no `openat2`: name by name, following no link.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, openat};
    let mut folder = openat(root, ".", FOLDER, Mode::empty())?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(folder);
    };
    for part in parent {
        folder = openat(&folder, part, FOLDER, Mode::empty())?;
    }
    openat(&folder, name, flags, Mode::empty())
}

/// Where an open file or folder really is, relative to where `root` really is; `None` if that is not beneath it,
/// as after it was moved away or deleted.
pub(crate) fn real_path(root: BorrowedFd<'_>, opened: impl AsFd) -> io::Result<Option<PathBuf>> {
    let (root, opened) = (absolute(root)?, absolute(opened.as_fd())?);
    Ok(opened.strip_prefix(&root).ok().map(Path::to_owned))
}

/// A deleted file's path ends with ` (deleted)` and so is not the one it was opened by.
#[cfg(target_os = "linux")]
fn absolute(opened: BorrowedFd<'_>) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

#[cfg(all(not(target_os = "linux"), target_vendor = "apple"))]
fn absolute(opened: BorrowedFd<'_>) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(opened)?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Where the system cannot tell, files are not opened at all.
#[cfg(all(not(target_os = "linux"), not(target_vendor = "apple")))]
fn absolute(_opened: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
