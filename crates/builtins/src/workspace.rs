//! The folder a session works in.

use crate::error::Failure;
use crate::{FileError, beneath};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Label, PathLabel, PathRule, PathRules, ResourceKind, ResourceRef};
use tidegate_tools::FileLabels;
use tokio::sync::Mutex;

/// The folder a session works in, held open: if it is renamed, the tools stay with it.
pub struct Workspace {
    given: PathBuf,
    root: PathBuf,
    folder: OwnedFd,
    rules: PathRules,
    labels: Arc<dyn FileLabels>,
    /// Held while a label is recorded and its content appears, so that two writes do not mix the two.
    writing: Mutex<()>,
}

impl Workspace {
    /// Opens the folder at `root`. `rules` are for its canonical path; `labels` keeps the labels of files that
    /// tools wrote.
    ///
    /// # Errors
    /// If `root` is no folder or cannot be opened, if the rules are for another, or if the system cannot open
    /// files beneath a folder.
    pub fn open(root: &Path, rules: PathRules, labels: Arc<dyn FileLabels>) -> Result<Arc<Self>, FileError> {
        let unusable = |cause| FileError::Workspace {
            root: root.to_owned(),
            cause,
        };
        let canonical = root.canonicalize().map_err(unusable)?;
        if rules.workspace() != canonical {
            return Err(FileError::OtherRules {
                root: canonical,
                rules: rules.workspace().to_owned(),
            });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(&canonical, flags, Mode::empty()).map_err(|cause| unusable(cause.into()))?;
        let workspace = Self {
            given: root.to_owned(),
            root: canonical,
            folder,
            rules,
            labels,
            writing: Mutex::new(()),
        };
        // An old system is told of now and not at the first call.
        let probe = beneath::open(workspace.folder(), Path::new(""), beneath::FOLDER)
            .map_err(|cause| FileError::Unsupported { cause: cause.into() })?;
        beneath::real_path(workspace.folder(), &probe).map_err(|cause| FileError::Unsupported { cause })?;
        Ok(Arc::new(workspace))
    }

    /// Its canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub(crate) fn labels(&self) -> &dyn FileLabels {
        &*self.labels
    }

    pub(crate) fn writing(&self) -> &Mutex<()> {
        &self.writing
    }

    /// What absolute paths may start with.
    pub(crate) fn roots(&self) -> [&Path; 2] {
        [&self.root, &self.given]
    }

    /// The canonical absolute path, as rules and file labels know it.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        // Joining an empty path would add a slash, and make another path of it.
        if path.as_os_str().is_empty() {
            self.root.clone()
        } else {
            self.root.join(path)
        }
    }

    pub(crate) fn classify(&self, path: &Path) -> PathLabel {
        self.rules.classify(&self.absolute(path))
    }

    /// The label of what is at `path` as far as the path tells it.
    pub(crate) fn level(&self, path: &Path) -> Label {
        self.classify(path).unknown_file()
    }

    /// Whether a listing or a search of a session with `clearance` may know of `path`.
    pub(crate) fn is_visible(&self, path: &Path, clearance: Classification) -> Option<Label> {
        let class = self.classify(path);
        let own = matches!(class.rule, PathRule::OwnFile | PathRule::NotCanonical);
        (!own && class.classification.can_flow_to(clearance)).then(|| class.unknown_file())
    }

    /// How explanations and lineage name a path.
    pub(crate) fn reference(path: &Path) -> ResourceRef {
        ResourceRef {
            kind: ResourceKind::Path,
            name: crate::path::shown(path),
        }
    }

    /// Opens `path`, which was resolved before, and makes sure that it is where it was.
    pub(crate) fn open_resolved(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, FileError> {
        let opened = beneath::open(self.folder(), path, flags).map_err(|cause| match cause {
            // It was there a moment ago and no link.
            Errno::NOENT | Errno::LOOP | Errno::AGAIN | Errno::XDEV => FileError::Changed {
                path: path.to_owned(),
            },
            Errno::NOTDIR if flags.contains(OFlags::DIRECTORY) => FileError::NotAFolder {
                path: path.to_owned(),
            },
            cause => FileError::system("open", path, cause),
        })?;
        self.require_place(path, &opened)?;
        Ok(opened)
    }

    /// That an open file or folder is still the one `path` names.
    pub(crate) fn require_place(&self, path: &Path, opened: impl AsFd) -> Result<(), FileError> {
        match beneath::real_path(self.folder(), opened) {
            Ok(Some(real)) if real == path => Ok(()),
            Ok(_) => Err(FileError::Changed {
                path: path.to_owned(),
            }),
            Err(cause) => Err(FileError::system("open", path, cause)),
        }
    }

    /// The failure of something about `path`, which the path's level covers.
    pub(crate) fn failure(&self, path: &Path, error: FileError) -> Failure {
        error.labelled(self.level(path))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
