//! From a path as asked for to the place it names, link by link.
//!
//! The system could follow the links itself, but then an answer would tell what lies behind them. Here each
//! place is judged by its level before it is touched.

use crate::error::Failure;
use crate::path::normalised;
use crate::{FileError, Workspace, beneath};
use rustix::fs::{AtFlags, FileType, Mode, openat, readlinkat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use tidegate_policy::{Classification, Label};

/// As many as Linux follows.
const LINKS: usize = 40;

/// What a path names. All paths are relative to the workspace and without links.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// Something is there.
    Found {
        path: PathBuf,
        kind: FileType,
        /// The join of the labels of the links followed, and of what is recorded of the folders passed.
        links: Label,
    },
    /// Nothing is there: `parent` is the innermost folder of `path` that is.
    Missing {
        path: PathBuf,
        parent: PathBuf,
        links: Label,
    },
    /// It is above the clearance, and was not touched.
    Above(Label),
}

impl Workspace {
    /// Resolves `asked` for a session with `clearance`. Only places within the clearance are looked at, and folders
    /// on the way to one.
    pub(crate) fn resolve(&self, asked: &Path, clearance: Classification) -> Result<Resolved, Failure> {
        let mut path = asked.to_owned();
        let mut links = Label::BOTTOM;
        for _ in 0..=LINKS {
            let level = self.level(&path).join(links);
            if !level.can_flow_to(clearance) {
                return Ok(Resolved::Above(level));
            }
            let link = match self
                .walk(&path, clearance)
                .map_err(|failure| failure.joined(level))?
            {
                Step::Found(kind) => {
                    // That of a file itself is for whoever opens it.
                    let folder = if kind == FileType::Directory {
                        &path
                    } else {
                        folder_and_name(&path).0
                    };
                    let links = links.join(self.recorded_of(folder));
                    return Ok(if links.can_flow_to(clearance) {
                        Resolved::Found { path, kind, links }
                    } else {
                        Resolved::Above(level.join(links))
                    });
                }
                Step::Missing { parent } => {
                    let links = links.join(self.recorded_of(&parent));
                    return Ok(if links.can_flow_to(clearance) {
                        Resolved::Missing { path, parent, links }
                    } else {
                        Resolved::Above(level.join(links))
                    });
                }
                Step::Link(link) => link,
            };
            // Where a link is, and who made it, decides who may know where it leads.
            links = links
                .join(self.level(&link.path))
                .join(self.recorded_of(&link.folder))
                .join(self.recorded_of_link(&link.path));
            if !links.can_flow_to(clearance) {
                return Ok(Resolved::Above(links));
            }
            let target = self
                .read_link(&link)
                .map_err(|error| error.labelled(level.join(links)))?;
            path = self.through(&link, &target).ok_or_else(|| {
                FileError::LinkOut {
                    path: asked.to_owned(),
                    link: link.path,
                }
                .labelled(level.join(links))
            })?;
        }
        Err(FileError::TooManyLinks {
            path: asked.to_owned(),
        }
        .labelled(self.level(&path).join(links)))
    }

    /// Goes along `path` name by name, from folder to opened folder, up to its end or the first link.
    fn walk(&self, path: &Path, clearance: Classification) -> Result<Step, Failure> {
        let mut folder = beneath::open(self.folder(), Path::new(""), beneath::FOLDER)
            .map_err(|cause| self.failure(path, FileError::system("open", path, cause)))?;
        let mut so_far = PathBuf::new();
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let place = so_far.join(name);
            let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(Step::Missing { parent: so_far }),
                Err(cause) => return Err(self.failure(&place, FileError::system("look at", &place, cause))),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    let rest = names.collect();
                    return Ok(Step::Link(Link {
                        folder: so_far,
                        name: name.to_owned(),
                        path: place,
                        rest,
                    }));
                }
                kind if names.peek().is_none() => return Ok(Step::Found(kind)),
                FileType::Directory => {
                    folder = openat(&folder, name, beneath::FOLDER, Mode::empty()).map_err(|cause| {
                        let error = match cause {
                            Errno::NOENT | Errno::LOOP | Errno::NOTDIR => {
                                FileError::Changed { path: place.clone() }
                            }
                            cause => FileError::system("open", &place, cause),
                        };
                        self.failure(&place, error)
                    })?;
                    so_far = place;
                }
                // That something above the clearance is there must not be told, even on the way to what is not.
                _ if !self.level(&place).can_flow_to(clearance) => {
                    return Ok(Step::Missing { parent: so_far });
                }
                _ => return Err(self.failure(&place, FileError::NotAFolder { path: place.clone() })),
            }
        }
        // The workspace itself.
        Ok(Step::Found(FileType::Directory))
    }

    fn read_link(&self, link: &Link) -> Result<PathBuf, FileError> {
        let folder = self.open_resolved(&link.folder, beneath::FOLDER)?;
        match readlinkat(&folder, &link.name, Vec::new()) {
            Ok(target) => Ok(OsString::from_vec(target.into_bytes()).into()),
            Err(Errno::INVAL | Errno::NOENT) => Err(FileError::Changed {
                path: link.path.clone(),
            }),
            Err(cause) => Err(FileError::system("read the link", &link.path, cause)),
        }
    }

    /// Where `target`, read from `link`, and the rest of the path behind it lead; `None` if that is out of the
    /// workspace. As in asked paths, `..` takes back the name before it.
    fn through(&self, link: &Link, target: &Path) -> Option<PathBuf> {
        let target = if target.is_absolute() {
            let target = normalised(target)?;
            self.roots()
                .iter()
                .find_map(|root| target.strip_prefix(root).ok())
                .map(Path::to_owned)?
        } else {
            normalised(&link.folder.join(target))?
        };
        // Joining an empty path would add a slash.
        Some(if link.rest.as_os_str().is_empty() {
            target
        } else {
            target.join(&link.rest)
        })
    }
}

enum Step {
    Found(FileType),
    Missing { parent: PathBuf },
    Link(Link),
}

struct Link {
    /// The folder it is in.
    folder: PathBuf,
    name: OsString,
    /// Both together.
    path: PathBuf,
    /// What comes behind it in the path.
    rest: PathBuf,
}

/// What a thing that is no regular file is, for people.
pub(crate) fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        FileType::Directory => "a folder",
        FileType::RegularFile | FileType::Unknown => "something of another kind",
    }
}

/// The folder and the name of a path that is not empty.
pub(crate) fn folder_and_name(path: &Path) -> (&Path, &OsStr) {
    (
        path.parent().unwrap_or(Path::new("")),
        path.file_name().unwrap_or_default(),
    )
}
