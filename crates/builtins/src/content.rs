//! Opened files and the label of what is in them.

use crate::error::Failure;
use crate::stop::Stop;
use crate::{FileError, Workspace, beneath};
use rustix::fd::AsFd;
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::Read;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use tidegate_policy::{Classification, Integrity, Label};
use tidegate_tools::{ContentHash, KnownFile};

/// How much text is read into memory from one file, in bytes.
pub(crate) const WHOLE: u64 = 16 << 20;

/// How long a file may be of which a part is read, in bytes: all of it has to be hashed to know its label.
pub(crate) const IN_PARTS: u64 = 1 << 30;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// A regular file, open for reading. Nothing of it was read yet.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    /// Where it is, relative to the workspace, without links.
    pub(crate) path: PathBuf,
    /// What it was when it was opened.
    pub(crate) state: FileState,
    /// The label of content nothing is known about at that path.
    unknown: Label,
    /// What the content has at least, whoever wrote it: the labels of the links that led there, and what a second
    /// name brings.
    at_least: Label,
}

/// What tells that a file is still the same with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Workspace {
    /// Opens the regular file at `path`, which is resolved; `links` joins the labels of the links that led there.
    pub(crate) fn open_file(&self, path: &Path, links: Label) -> Result<Opened, Failure> {
        let unknown = self.level(path);
        let failed = |error: FileError| error.labelled(unknown.join(links));
        let file = File::from(self.open_resolved(path, beneath::FILE).map_err(failed)?);
        let metadata = metadata(&file, path).map_err(failed)?;
        require_regular(&metadata, path).map_err(failed)?;
        let at_least = links.join(shared(&metadata));
        Ok(Opened {
            file,
            path: path.to_owned(),
            state: FileState::of(&metadata),
            unknown,
            at_least,
        })
    }
}

/// What the store of labels says about a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    file: Option<KnownFile>,
    /// Of what may be writing it at this moment.
    pending: Label,
}

impl Known {
    /// A label that cannot be read is the highest there is.
    pub(crate) const UNREADABLE: Self = Self {
        file: None,
        pending: Label::UNREADABLE,
    };

    pub(crate) fn new(file: Option<KnownFile>, pending: Label) -> Self {
        Self { file, pending }
    }

    /// The label of the name, whatever the content is.
    pub(crate) fn name(&self) -> Label {
        self.file
            .map_or(Label::BOTTOM, |file| file.label)
            .join(self.pending)
    }

    /// What has to be joined with a label that was made before this was known.
    pub(crate) fn least(&self) -> Label {
        Label::trusted(self.classification()).join(self.pending)
    }

    /// The least level of the content, whatever it is.
    fn classification(&self) -> Classification {
        self.name().classification
    }

    /// The label of content with `hash` at a path where content nothing is known about has the label `unknown`: what
    /// a tool wrote is what it was when it was written, and what changed since is somebody else's.
    fn label(&self, unknown: Label, hash: impl FnOnce() -> ContentHash) -> Label {
        let Some(file) = self.file else {
            return unknown.join(self.pending);
        };
        let trusted = file.label.integrity == Integrity::Trusted && file.hash == hash();
        let integrity = if trusted {
            Integrity::Trusted
        } else {
            Integrity::Untrusted
        };
        let level = unknown.classification.max(file.label.classification);
        Label::new(level, integrity).join(self.pending)
    }
}

/// The hash of a whole content.
pub(crate) fn hash(bytes: &[u8]) -> ContentHash {
    ContentHash(Sha256::digest(bytes).into())
}

fn metadata(file: &File, path: &Path) -> Result<Metadata, FileError> {
    file.metadata()
        .map_err(|cause| FileError::system("look at", path, cause))
}

fn require_regular(metadata: &Metadata, path: &Path) -> Result<(), FileError> {
    let kind = metadata.file_type();
    let path = || path.to_owned();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(FileError::IsFolder { path: path() })
    } else if kind.is_fifo() {
        Err(FileError::Special {
            path: path(),
            kind: "a pipe",
        })
    } else if kind.is_socket() {
        Err(FileError::Special {
            path: path(),
            kind: "a socket",
        })
    } else {
        Err(FileError::Special {
            path: path(),
            kind: "a device",
        })
    }
}

/// A file with a second name may be known elsewhere under a higher level, or lie outside.
fn shared(metadata: &Metadata) -> Label {
    if metadata.nlink() > 1 {
        Label::UNREADABLE
    } else {
        Label::BOTTOM
    }
}

/// Some lines of a text, and what is known of the whole.
#[derive(Debug)]
pub(crate) struct Text {
    /// The lines asked for, as they are.
    pub(crate) bytes: Vec<u8>,
    /// How many lines there are in all.
    pub(crate) lines: u64,
    /// The hash of the whole content.
    pub(crate) hash: ContentHash,
    /// How long the whole is, in bytes.
    pub(crate) size: u64,
}

/// Which lines are wanted: from `first`, counted from 1, at most `count`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Lines {
    pub(crate) const ALL: Self = Self {
        first: 1,
        count: u64::MAX,
    };

    pub(crate) fn of(offset: Option<NonZeroU64>, limit: Option<NonZeroU64>) -> Self {
        Self {
            first: offset.map_or(1, NonZeroU64::get),
            count: limit.map_or(u64::MAX, NonZeroU64::get),
        }
    }

    fn contain(self, line: u64) -> bool {
        line.checked_sub(self.first)
            .is_some_and(|index| index < self.count)
    }
}

impl Opened {
    /// Its label as far as path and links tell it.
    pub(crate) fn level(&self) -> Label {
        self.unknown.join(self.at_least)
    }

    /// The least label of its content, before any of it is read.
    pub(crate) fn least(&self, known: &Known) -> Label {
        self.level().join(known.least())
    }

    /// The label of its content, of which `hash` is asked only if it matters.
    pub(crate) fn label(&self, known: &Known, hash: impl FnOnce() -> ContentHash) -> Label {
        known.label(self.unknown, hash).join(self.at_least)
    }

    /// Reads the wanted lines and hashes the whole, all from the one descriptor.
    pub(crate) fn read(&mut self, wanted: Lines, stop: &Stop) -> Result<Text, Failure> {
        let level = self.level();
        let failed = |error: FileError| error.labelled(level);
        let too_large = |size, limit, action| FileError::TooLarge {
            path: self.path.clone(),
            size,
            limit,
            action,
        };
        if self.state.size > IN_PARTS {
            return Err(failed(too_large(self.state.size, IN_PARTS, "read")));
        }
        let mut hasher = Sha256::new();
        let mut text = Text {
            bytes: Vec::new(),
            lines: 0,
            hash: ContentHash([0; 32]),
            size: 0,
        };
        let mut chunk = vec![0; CHUNK];
        let mut at_line_start = true;
        loop {
            stop.check()?;
            let length = match self.file.read(&mut chunk) {
                Ok(length) => length,
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(failed(FileError::system("read", &self.path, cause))),
            };
            let part = chunk.get(..length).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            hasher.update(part);
            text.size += part.len() as u64;
            if text.size > IN_PARTS {
                let size = self.state.size.max(text.size);
                return Err(failed(too_large(size, IN_PARTS, "read")));
            }
            for piece in part.split_inclusive(|byte| *byte == b'\n') {
                if at_line_start {
                    text.lines += 1;
                }
                at_line_start = piece.ends_with(b"\n");
                if wanted.contain(text.lines) {
                    text.bytes.extend_from_slice(piece);
                }
            }
            if text.bytes.len() as u64 > WHOLE {
                let size = self.state.size.max(text.size);
                let action = "read at once; give offset and a smaller limit to read a part";
                return Err(failed(too_large(size, WHOLE, action)));
            }
        }
        text.hash = ContentHash(hasher.finalize().into());
        Ok(text)
    }

    /// Reads it whole, if it is not too large.
    pub(crate) fn read_whole(&mut self, stop: &Stop) -> Result<Vec<u8>, Failure> {
        let level = self.level();
        let failed = |error: FileError| error.labelled(level);
        stop.check()?;
        let mut bytes = Vec::with_capacity(usize::try_from(self.state.size.min(WHOLE)).unwrap_or(0));
        let mut limited = (&self.file).take(WHOLE + 1);
        limited
            .read_to_end(&mut bytes)
            .map_err(|cause| failed(FileError::system("read", &self.path, cause)))?;
        if bytes.len() as u64 > WHOLE {
            let size = bytes.len() as u64;
            return Err(failed(FileError::TooLarge {
                path: self.path.clone(),
                size,
                limit: WHOLE,
                action: "searched",
            }));
        }
        Ok(bytes)
    }

    /// That the file is still where it was opened; takes in what path and names bring by now.
    pub(crate) fn look_again(&mut self, workspace: &Workspace) -> Result<(), Failure> {
        let level = self.level();
        let failed = |error: FileError| error.labelled(level);
        workspace
            .require_place(&self.path, self.file.as_fd())
            .map_err(failed)?;
        let metadata = metadata(&self.file, &self.path).map_err(failed)?;
        self.at_least = self.at_least.join(shared(&metadata));
        Ok(())
    }
}

impl Text {
    /// The lines as text.
    pub(crate) fn into_string(self, path: &Path, label: Label) -> Result<(String, TextFacts), Failure> {
        let facts = TextFacts { lines: self.lines };
        let binary = || {
            FileError::Binary {
                path: path.to_owned(),
                size: self.size,
            }
            .labelled(label)
        };
        if self.bytes.contains(&0) {
            return Err(binary());
        }
        String::from_utf8(self.bytes)
            .map(|text| (text, facts))
            .map_err(|_| binary())
    }
}

/// What is known of a text besides its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFacts {
    /// How many lines the whole has.
    pub(crate) lines: u64,
}
