//! What a command may reach in a workspace, at the level it works at.
//!
//! A confined command works at one level. It can read what is at most of that level and write what is exactly of
//! it, so that whatever it copies, nothing goes down. That is made of the mounts of its confinement: places of a
//! lower level are read-only, places of a higher level, and the program's own files, are hidden.

use super::CommandError;
use crate::Workspace;
use crate::content::FileState;
use crate::error::Failure;
use crate::path::is_temporary_name;
use crate::stop::Stop;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tidegate_policy::{Classification, PathRule};

use crate::confine::{Access, View};

/// How many files and folders a workspace may have.
const MOST_ENTRIES: usize = 200_000;

/// How many places may be otherwise than the folder they are in. Each is a mount.
const MOST_VIEWS: usize = 4_000;

/// What a command may reach in a workspace.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The places that are otherwise than the folder they lie in, relative to the workspace; itself first.
    accesses: BTreeMap<PathBuf, Access>,
    /// The files it could read, as they are.
    pub(crate) files: BTreeMap<PathBuf, FileState>,
    /// Whatever else it could see: folders, links, pipes. Their names tell as much as content does.
    others: BTreeMap<PathBuf, Other>,
}

/// Something that is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// A folder is another only if it has another number: what is in it is looked at by itself.
    Folder { device: u64, inode: u64 },
    /// A link has a content, which cannot change without its state.
    Else(FileState),
}

/// What is new or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    /// Whether it has a content that can be hashed.
    pub(crate) is_file: bool,
}

/// A walk through a workspace.
struct Walk<'a> {
    workspace: &'a Workspace,
    level: Classification,
    accesses: BTreeMap<PathBuf, Access>,
    files: BTreeMap<PathBuf, FileState>,
    others: BTreeMap<PathBuf, Other>,
    /// Files with several names: how many there are, and those that were found.
    shared: BTreeMap<(u64, u64), (u64, Vec<PathBuf>)>,
    entries: usize,
}

impl Reach {
    /// Looks through the workspace for a command that works at `level`. Hidden folders are not looked into.
    pub(crate) fn of(
        workspace: &Workspace,
        level: Classification,
        stop: &Stop,
    ) -> Result<Result<Self, CommandError>, Failure> {
        let mut walk = Walk {
            workspace,
            level,
            accesses: BTreeMap::new(),
            files: BTreeMap::new(),
            others: BTreeMap::new(),
            shared: BTreeMap::new(),
            entries: 0,
        };
        let root = walk.access(Path::new(""));
        walk.accesses.insert(PathBuf::new(), root);
        let mut folders = vec![(PathBuf::new(), root)];
        while let Some((folder, access)) = folders.pop() {
            stop.check()?;
            if access == Access::Hidden {
                continue;
            }
            if let Err(error) = walk.enter(&folder, access, &mut folders) {
                return Ok(Err(error));
            }
        }
        Ok(walk.finish())
    }

    /// As parts of the file system.
    pub(crate) fn views(&self, workspace: &Workspace) -> Vec<View> {
        self.accesses
            .iter()
            .map(|(path, access)| View {
                path: workspace.absolute(path),
                access: *access,
                required: true,
                own: false,
            })
            .collect()
    }

    /// The levels of places that are hidden now and were not there, or not hidden, `before`: a command that ran
    /// in between could see them.
    pub(crate) fn appeared_since<'a>(
        &'a self,
        before: &'a Self,
        workspace: &'a Workspace,
    ) -> impl Iterator<Item = (&'a Path, Classification)> {
        self.accesses
            .iter()
            .filter(|(path, access)| {
                **access == Access::Hidden
                    && !is_temporary(path)
                    && before.accesses.get(*path) != Some(&Access::Hidden)
            })
            .map(|(path, _)| (path.as_path(), workspace.level(path).classification))
    }

    /// What is new or changed since `before`: files, folders, links.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<Change> {
        let files = self
            .files
            .iter()
            .filter(|(path, state)| before.files.get(*path) != Some(*state))
            .map(|(path, _)| (path, true));
        let others = self
            .others
            .iter()
            .filter(|(path, other)| before.others.get(*path) != Some(*other))
            .map(|(path, _)| (path, false));
        // Folders first: there are fewer, and each tells of all that lies in it.
        others.chain(files).map(change).collect()
    }

    /// All that can be seen.
    pub(crate) fn everything(&self) -> Vec<Change> {
        let files = self.files.keys().map(|path| (path, true));
        self.others
            .keys()
            .map(|path| (path, false))
            .chain(files)
            .map(change)
            .collect()
    }

    /// The places whose access is another than that of the folder they lie in, and whether they can be written.
    pub(crate) fn writable(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.accesses
            .iter()
            .map(|(path, access)| (path.as_path(), *access == Access::Write))
    }

    /// Whether a command can write the folder at `path`.
    pub(crate) fn can_write(&self, path: &Path) -> bool {
        let access = path.ancestors().find_map(|place| self.accesses.get(place));
        access == Some(&Access::Write)
    }
}

fn change((path, is_file): (&PathBuf, bool)) -> Change {
    Change {
        path: path.clone(),
        is_file,
    }
}

/// What a command that works at `level` can do at `path`, as far as the path tells.
pub(crate) fn access(workspace: &Workspace, path: &Path, level: Classification) -> Access {
    let class = workspace.classify(path);
    let own = matches!(class.rule, PathRule::OwnFile | PathRule::NotCanonical);
    if own || is_temporary(path) || class.classification > level {
        Access::Hidden
    } else if class.classification == level {
        Access::Write
    } else {
        Access::Read
    }
}

impl Walk<'_> {
    fn access(&self, path: &Path) -> Access {
        access(self.workspace, path, self.level)
    }

    /// Looks at what is in a folder, and puts its folders on the list.
    fn enter(
        &mut self,
        folder: &Path,
        inherited: Access,
        folders: &mut Vec<(PathBuf, Access)>,
    ) -> Result<(), CommandError> {
        let failed = |cause| CommandError::Walk {
            path: folder.to_owned(),
            cause,
        };
        let entries = match std::fs::read_dir(self.workspace.absolute(folder)) {
            Ok(entries) => entries,
            // Gone meanwhile, or not to be entered by the command either.
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(CommandError::TooLarge {
                    what: "more files and folders",
                    limit: MOST_ENTRIES,
                });
            }
            // Of the entry itself, not of what a link leads to.
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(failed(error)),
            };
            let path = folder.join(entry.file_name());
            let access = self.access(&path);
            if access != inherited {
                self.accesses.insert(path.clone(), access);
            }
            if metadata.is_dir() {
                if access != Access::Hidden {
                    let folder = Other::Folder {
                        device: metadata.dev(),
                        inode: metadata.ino(),
                    };
                    self.others.insert(path.clone(), folder);
                }
                folders.push((path, access));
            } else if access != Access::Hidden {
                self.look_at_file(path, &metadata);
            }
        }
        Ok(())
    }

    fn look_at_file(&mut self, path: PathBuf, metadata: &Metadata) {
        let state = FileState::of(metadata);
        if FileType::from_raw_mode(metadata.mode()) != FileType::RegularFile {
            self.others.insert(path, Other::Else(state));
            return;
        }
        if metadata.nlink() > 1 {
            let (_, names) = self
                .shared
                .entry((state.device, state.inode))
                .or_insert((metadata.nlink(), Vec::new()));
            names.push(path.clone());
        }
        self.files.insert(path, state);
    }

    /// A file of which not all names were found may be known elsewhere under a higher level.
    fn finish(mut self) -> Result<Reach, CommandError> {
        for (count, names) in std::mem::take(&mut self.shared).into_values() {
            if names.len() as u64 == count {
                continue;
            }
            for name in names {
                self.files.remove(&name);
                self.accesses.insert(name, Access::Hidden);
            }
        }
        self.hold_folders();
        if self.accesses.len() > MOST_VIEWS {
            return Err(CommandError::TooLarge {
                what: "more places of other levels",
                limit: MOST_VIEWS,
            });
        }
        Ok(Reach {
            accesses: self.accesses,
            files: self.files,
            others: self.others,
        })
    }

    /// A folder with a place of another level in it must not be moved: the place would have another path, and with
    /// it another level. What is mounted cannot be moved, so each of these folders gets a mount.
    fn hold_folders(&mut self) {
        let others: Vec<PathBuf> = self.accesses.keys().cloned().collect();
        for place in others {
            for folder in place.ancestors().skip(1) {
                if !self.accesses.contains_key(folder) {
                    let access = self.access(folder);
                    self.accesses.insert(folder.to_owned(), access);
                }
            }
        }
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(is_temporary_name)
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound
            | std::io::ErrorKind::NotADirectory
            | std::io::ErrorKind::PermissionDenied
    )
}
