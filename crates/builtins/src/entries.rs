//! What is in folders, as far as a session may know of it.
//!
//! Folders are opened beneath the workspace, each by its whole path without following links, and read by
//! descriptor. Crates that walk by name (`walkdir`, `ignore`) would follow a folder that is swapped for a
//! link between two steps.

use crate::error::Failure;
use crate::path::{is_temporary_name, shown};
use crate::recorded::Recorded;
use crate::resolve::special;
use crate::stop::Stop;
use crate::{FileError, Workspace, beneath};
use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Integrity, Label};

/// How many folders deep a walk goes.
const DEPTH: usize = 64;

/// How many visible entries a walk looks at.
const ENTRIES: usize = 200_000;

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// And where it points to, as written in it.
    Link(PathBuf),
    /// A pipe, socket or device.
    Special(&'static str),
}

/// One visible entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

impl Entry {
    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// The visible entries of one folder, in the order of their paths, and the join of the labels of all of them and of
/// the folder.
pub(crate) struct Entries {
    pub(crate) entries: Vec<Entry>,
    pub(crate) label: Label,
}

impl Workspace {
    /// Reads the folder at `path`, which is resolved and visible. What is above the clearance is left out before
    /// anything is counted, sorted or opened.
    pub(crate) fn entries(
        &self,
        path: &Path,
        clearance: Classification,
        stop: &Stop,
    ) -> Result<Entries, Failure> {
        let mut label = self.level(path);
        let failed = |cause: Errno| FileError::system("list", path, cause).labelled(label);
        let folder = self
            .open_resolved(path, beneath::FOLDER)
            .map_err(|error| error.labelled(label))?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&folder).map_err(failed)? {
            stop.check()?;
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || is_temporary_name(name) {
                continue;
            }
            let place = path.join(name);
            let Some(level) = self.is_visible(&place, clearance) else {
                continue;
            };
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(cause) => return Err(failed(cause)),
                },
                known => known,
            };
            let kind = match kind {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => match readlinkat(&folder, name, Vec::new()) {
                    Ok(target) => Kind::Link(OsString::from_vec(target.into_bytes()).into()),
                    // Gone or replaced since the folder was read.
                    Err(Errno::NOENT | Errno::INVAL) => continue,
                    Err(cause) => return Err(failed(cause)),
                },
                other => Kind::Special(special(other)),
            };
            found.push((Entry { path: place, kind }, level));
        }
        // Read behind the names: a label is recorded before its name appears.
        let floor = found.iter().map(|(_, level)| *level).reduce(both_have);
        let recorded = match floor {
            Some(floor) => self.recorded_in(path, floor).map_err(|cause| {
                let path = path.to_owned();
                FileError::LabelsUnread { path, cause }.labelled(label)
            })?,
            None => Recorded::default(),
        };
        let mut visible = Vec::new();
        for (entry, level) in found {
            // A tool that named it may have known more than its path tells.
            let level = level.join(recorded.label(&self.absolute(&entry.path)));
            if level.can_flow_to(clearance) {
                label = label.join(level);
                visible.push(entry);
            }
        }
        visible.sort_by(by_path);
        Ok(Entries {
            entries: visible,
            label,
        })
    }

    /// Walks the folder at `start`, which is resolved and visible, and if `recursive` all folders in it.
    pub(crate) fn walk_entries(
        self: &Arc<Self>,
        start: &Path,
        recursive: bool,
        clearance: Classification,
        stop: Stop,
    ) -> Walk {
        Walk {
            workspace: Arc::clone(self),
            recursive,
            clearance,
            stop,
            waiting: Vec::new(),
            next_folder: Some(start.to_owned()),
            depth: start.components().count(),
            looked_at: 0,
            label: Label::BOTTOM,
            notes: Vec::new(),
        }
    }
}

/// What is within both labels.
fn both_have(left: Label, right: Label) -> Label {
    let integrity = match (left.integrity, right.integrity) {
        (Integrity::Untrusted, Integrity::Untrusted) => Integrity::Untrusted,
        _ => Integrity::Trusted,
    };
    Label::new(left.classification.min(right.classification), integrity)
}

/// In byte order of the paths that lie in them: a folder `a` comes as `a/`, behind `a-b`.
fn by_path(left: &Entry, right: &Entry) -> Ordering {
    let key = |entry: &Entry| {
        let mut name = entry.name().as_bytes().to_vec();
        if entry.kind == Kind::Folder {
            name.push(b'/');
        }
        name
    };
    key(left).cmp(&key(right))
}

/// A walk in the byte order of paths. Links are not followed, so it ends.
pub(crate) struct Walk {
    workspace: Arc<Workspace>,
    recursive: bool,
    clearance: Classification,
    stop: Stop,
    /// The rest of each folder on the way, each last entry first.
    waiting: Vec<Vec<Entry>>,
    /// To be read before anything else.
    next_folder: Option<PathBuf>,
    /// Of the start.
    depth: usize,
    looked_at: usize,
    label: Label,
    notes: Vec<String>,
}

impl Walk {
    /// The next entry, `None` at the end. A folder comes before what is in it.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, Failure> {
        if let Some(folder) = self.next_folder.take() {
            self.read(&folder)?;
        }
        let entry = loop {
            match self.waiting.last_mut().map(Vec::pop) {
                None => return Ok(None),
                Some(None) => {
                    self.waiting.pop();
                }
                Some(Some(entry)) => break entry,
            }
        };
        self.stop.check()?;
        if self.looked_at == ENTRIES {
            self.note(format!("stopped after {ENTRIES} entries"));
            self.waiting.clear();
            return Ok(None);
        }
        self.looked_at += 1;
        // What git keeps is of no use to read, and large; whoever wants it names it.
        if self.recursive && entry.kind == Kind::Folder && entry.name() != ".git" {
            if entry.path.components().count() > self.depth + DEPTH {
                self.note(format!(
                    "{} is more than {DEPTH} folders deep and was passed over",
                    shown(&entry.path)
                ));
            } else {
                self.next_folder = Some(entry.path.clone());
            }
        }
        Ok(Some(entry))
    }

    /// The join of the labels of all that was looked at so far.
    pub(crate) fn label(&self) -> Label {
        self.label
    }

    /// What has to be said about the walk: each a sentence without a final stop.
    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    fn note(&mut self, note: String) {
        // A tree made to annoy has to be said once, not ten thousand times.
        const NOTES: usize = 20;
        match self.notes.len().cmp(&NOTES) {
            Ordering::Less => self.notes.push(note),
            Ordering::Equal => self.notes.push("and more like that".into()),
            Ordering::Greater => {}
        }
    }

    fn read(&mut self, folder: &Path) -> Result<(), Failure> {
        match self.workspace.entries(folder, self.clearance, &self.stop) {
            Ok(Entries { mut entries, label }) => {
                entries.reverse();
                self.waiting.push(entries);
                self.label = self.label.join(label);
                Ok(())
            }
            Err(failure)
                if self.waiting.is_empty() || matches!(failure.error, FileError::Cancelled { .. }) =>
            {
                Err(failure.joined(self.label))
            }
            // A folder inside that cannot be opened, or is gone by now, is no reason to show nothing.
            Err(failure) => {
                self.label = self.label.join(failure.label);
                self.note(format!("{} cannot be opened", shown(folder)));
                Ok(())
            }
        }
    }
}
