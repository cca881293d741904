//! Putting content in its place: whole or not at all, with its label recorded first.

use crate::content::{FileState, hash};
use crate::error::Failure;
use crate::path::temporary_name;
use crate::resolve::{Resolved, folder_and_name, special};
use crate::stop::blocking;
use crate::{FileError, Workspace, beneath};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, fsync, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Label, PathLabel, Resource};
use tidegate_tools::{CallContext, ContentHash, FileLabelsError, KnownFile};

/// How often another name is tried for the unfinished file.
const ATTEMPTS: usize = 16;

/// Where content is to be put, as it was when the call was judged.
pub(crate) struct Target {
    /// The innermost folder there is, held open from judging to writing.
    folder: OwnedFd,
    folder_path: PathBuf,
    /// The folders to make in it.
    missing: Vec<OsString>,
    name: OsString,
    /// All together, relative to the workspace, without links.
    pub(crate) path: PathBuf,
    /// The labels of the links that led there.
    links: Label,
    /// The file that will be replaced.
    old: Option<Old>,
}

#[derive(Clone, Copy)]
struct Old {
    state: FileState,
    mode: u32,
    owner: (u32, u32),
}

impl Target {
    /// What the call touches there. To say whether something could be written is to tell of the folder, hence the
    /// source; its integrity is the program's own, which tells of a success nothing but that.
    pub(crate) fn resources(&self, workspace: &Workspace, asked: &Path) -> Vec<Resource> {
        resources(asked, &workspace.classify(&self.path), self.links)
    }

    /// The place itself, whatever it was called: every byte of the path tells.
    pub(crate) fn exact_name(&self) -> String {
        exact_name(&self.path)
    }

    /// The folders that will be made, relative to the workspace, the outermost first.
    fn folders_to_make(&self) -> Vec<PathBuf> {
        let mut folder = self.folder_path.clone();
        let missing = self.missing.iter();
        missing
            .map(|name| {
                folder.push(name);
                folder.clone()
            })
            .collect()
    }

    /// Whether the file that will be replaced is the one in this state.
    pub(crate) fn replaces(&self, state: FileState) -> bool {
        self.old.is_some_and(|old| old.state == state)
    }

    /// The label of the news that it worked.
    pub(crate) fn success_label(&self, workspace: &Workspace) -> Label {
        news_label(&workspace.classify(&self.path), self.links)
    }
}

/// A path in which every byte tells, also where it is not UTF-8.
pub(crate) fn exact_name(path: &Path) -> String {
    format!("{path:?}")
}

fn news_label(class: &PathLabel, links: Label) -> Label {
    Label::trusted(class.classification).join(links)
}

/// The resources of writing to `asked`, which is of `class`.
pub(crate) fn resources(asked: &Path, class: &PathLabel, links: Label) -> Vec<Resource> {
    let what = Workspace::reference(asked);
    vec![
        Resource::Source {
            what: what.clone(),
            label: news_label(class, links),
        },
        Resource::Sink {
            what,
            level: class.sink(),
        },
    ]
}

/// A target, or the resources of one that is above the clearance and was not touched.
pub(crate) enum Aim {
    At(Target),
    Above(Vec<Resource>, Label),
}

impl Workspace {
    /// Resolves `asked` to a place that may be written to, changing nothing.
    pub(crate) fn aim(&self, asked: &Path, clearance: Classification) -> Result<Aim, Failure> {
        let above = |label: Label| {
            let class = self.classify(asked);
            Aim::Above(resources(asked, &class, label), label)
        };
        // The program's own files are not touched for a writer, not even one with the highest clearance.
        if self.is_visible(asked, clearance).is_none() {
            return Ok(above(self.level(asked)));
        }
        let (path, links, kind, folder_path) = match self.resolve(asked, clearance)? {
            Resolved::Above(label) => return Ok(above(label)),
            Resolved::Missing { path, parent, links } => (path, links, None, parent),
            Resolved::Found { path, kind, links } => {
                let folder = folder_and_name(&path).0.to_owned();
                (path, links, Some(kind), folder)
            }
        };
        if self.is_visible(&path, clearance).is_none() {
            return Ok(Aim::Above(
                resources(asked, &self.classify(&path), links),
                self.level(&path).join(links),
            ));
        }
        self.aim_at(path, links, kind, folder_path).map(Aim::At)
    }

    fn aim_at(
        &self,
        path: PathBuf,
        links: Label,
        kind: Option<FileType>,
        folder_path: PathBuf,
    ) -> Result<Target, Failure> {
        let label = self.level(&path).join(links);
        let failed = |error: FileError| error.labelled(label);
        match kind {
            None | Some(FileType::RegularFile) => {}
            Some(FileType::Directory) => return Err(failed(FileError::IsFolder { path })),
            Some(kind) => {
                return Err(failed(FileError::Special {
                    path,
                    kind: special(kind),
                }));
            }
        }
        let folder = self
            .open_resolved(&folder_path, beneath::FOLDER)
            .map_err(failed)?;
        let rest = path.strip_prefix(&folder_path).unwrap_or(&path);
        let mut missing: Vec<OsString> = rest.iter().map(OsStr::to_owned).collect();
        let name = missing.pop().unwrap_or_default();
        let old = match kind {
            Some(_) => Some(old(&folder, &name, &path).map_err(failed)?),
            None => None,
        };
        // Also for the superuser, whom the system would not stop.
        let folder_mode = rustix::fs::fstat(&folder)
            .map_err(|cause| failed(FileError::system("look at", &folder_path, cause)))?
            .st_mode;
        if !is_writable(Mode::from_raw_mode(folder_mode)) {
            return Err(failed(FileError::ReadOnly { path: folder_path }));
        }
        Ok(Target {
            folder,
            folder_path,
            missing,
            name,
            path,
            links,
            old,
        })
    }

    /// That the target is still the place that was judged; takes in what is there by now. A file that came or went
    /// meanwhile changes nothing about a write, which replaces whatever there is; but an edit is of just the content
    /// that was judged, whose state `content` is.
    pub(crate) fn look_again_at(
        &self,
        target: &mut Target,
        content: Option<FileState>,
    ) -> Result<(), Failure> {
        let label = self.level(&target.path).join(target.links);
        let changed = || {
            FileError::Changed {
                path: target.path.clone(),
            }
            .labelled(label)
        };
        self.require_place(&target.folder_path, &target.folder)
            .map_err(|_| changed())?;
        let (name, expected) = match target.missing.first() {
            Some(folder) => (folder, FileType::Directory),
            None => (&target.name, FileType::RegularFile),
        };
        let is_there = match statat(&target.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == expected => true,
            Err(Errno::NOENT) => false,
            Ok(_) | Err(_) => return Err(changed()),
        };
        let now = if is_there && target.missing.is_empty() {
            Some(old(&target.folder, &target.name, &target.path).map_err(|error| error.labelled(label))?)
        } else {
            None
        };
        if content.is_some() && now.map(|old| old.state) != content {
            return Err(changed());
        }
        target.old = now;
        Ok(())
    }

    /// Puts `bytes` with `label` at the target, if it still is what was judged (see [`look_again_at`](Self::look_again_at)).
    ///
    /// The bytes are written to an unfinished file beside the target and made durable; then the label is recorded;
    /// then one rename shows the content under its name. Whatever fails or is dropped before that leaves the old
    /// content as it was, and removes what was begun.
    pub(crate) async fn put(
        self: &Arc<Self>,
        mut target: Target,
        content: Option<FileState>,
        bytes: Vec<u8>,
        label: Label,
        context: &CallContext,
    ) -> Result<(), Failure> {
        let news = self.level(&target.path).join(target.links);
        let one_at_a_time = self.writing().lock().await;
        let hash = hash(&bytes);
        // The names of folders are told as soon as they are there.
        let folders = target.folders_to_make();
        if !folders.is_empty() {
            let workspace = Arc::clone(self);
            target = blocking(&context.cancel, move |_| {
                workspace.look_again_at(&mut target, content)?;
                Ok(target)
            })
            .await?;
            let hash = ContentHash::NONE;
            let folders = folders.into_iter().map(|path| (path, KnownFile { hash, label }));
            self.record(&target.path, folders.collect())
                .await
                .map_err(|error| error.labelled(news))?;
        }
        let written = {
            let workspace = Arc::clone(self);
            blocking(&context.cancel, move |_| {
                workspace.look_again_at(&mut target, content)?;
                Unfinished::write(target, &bytes).map_err(|error| error.labelled(news))
            })
            .await?
        };
        let path = written.target.path.clone();
        self.record(&path, vec![(path.clone(), KnownFile { hash, label })])
            .await
            .map_err(|error| error.labelled(news))?;
        let workspace = Arc::clone(self);
        let shown = blocking(&context.cancel, move |_| {
            let mut written = written;
            workspace
                .require_place(&written.folder_path(), &written.folder)
                .map_err(|error| error.labelled(news))?;
            if written.target.missing.is_empty() {
                workspace.look_again_at(&mut written.target, content)?;
            }
            written.show().map_err(|error| error.labelled(news))
        })
        .await;
        drop(one_at_a_time);
        shown
    }

    /// Records labels, never a lower level than a file is known to have: until the new content is there, and for ever
    /// if it never comes, the record is all that is known of the old. They are for writing `path`.
    async fn record(&self, path: &Path, files: Vec<(PathBuf, KnownFile)>) -> Result<(), FileError> {
        let failed = |cause| FileError::Labels {
            path: path.to_owned(),
            cause,
        };
        let files = files
            .into_iter()
            .map(|(path, known)| (self.absolute(&path), known))
            .collect();
        let recorded = match self.never_lower(files).await {
            Ok(files) => self.labels().put(files).await,
            Err(cause) => Err(cause),
        };
        recorded.map_err(failed)
    }

    /// The labels to record for files at absolute paths: never a lower level than each is known to have.
    pub(crate) async fn never_lower(
        &self,
        mut files: Vec<(PathBuf, KnownFile)>,
    ) -> Result<Vec<(PathBuf, KnownFile)>, FileLabelsError> {
        for (path, known) in &mut files {
            if let Some(old) = self.labels().get(path).await? {
                known.label = known.label.join(Label::trusted(old.label.classification));
            }
        }
        Ok(files)
    }
}

/// What is at `name`, which was a regular file a moment ago and has to be writable.
fn old(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<Old, FileError> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(folder, name, flags, Mode::empty())
        .map(File::from)
        .map_err(|cause| match cause {
            Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY => FileError::ReadOnly {
                path: path.to_owned(),
            },
            Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ISDIR => FileError::Changed {
                path: path.to_owned(),
            },
            cause => FileError::system("write", path, cause),
        })?;
    let metadata = file
        .metadata()
        .map_err(|cause| FileError::system("look at", path, cause))?;
    if !metadata.is_file() {
        return Err(FileError::Changed {
            path: path.to_owned(),
        });
    }
    if !is_writable(Mode::from_bits_truncate(metadata.mode())) {
        return Err(FileError::ReadOnly {
            path: path.to_owned(),
        });
    }
    Ok(Old {
        state: FileState::of(&metadata),
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
    })
}

fn is_writable(mode: Mode) -> bool {
    mode.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH)
}

/// Content that is written but not yet shown. Dropping it removes it, and the folders made for it.
struct Unfinished {
    target: Target,
    /// The folder it is in.
    folder: OwnedFd,
    temporary: Option<String>,
    /// Each made folder: the folder it is in, and its name.
    made: Vec<(OwnedFd, OsString)>,
}

impl Unfinished {
    fn write(target: Target, bytes: &[u8]) -> Result<Self, FileError> {
        let path = target.path.clone();
        let failed = |cause: Errno| FileError::system("write", &path, cause);
        let folder = target
            .folder
            .try_clone()
            .map_err(|cause| FileError::system("write", &path, cause))?;
        let mut unfinished = Self {
            target,
            folder,
            temporary: None,
            made: Vec::new(),
        };
        for name in unfinished.target.missing.clone() {
            unfinished.make_folder(&name).map_err(failed)?;
        }
        let mut file = unfinished.create().map_err(failed)?;
        file.write_all(bytes)
            .map_err(|cause| FileError::system("write", &path, cause))?;
        if let Some(old) = unfinished.target.old {
            // Giving a file to somebody else is the superuser's; for anybody else the new content is their own.
            match fchown(
                &file,
                Some(Uid::from_raw(old.owner.0)),
                Some(Gid::from_raw(old.owner.1)),
            ) {
                Ok(()) | Err(Errno::PERM) => {}
                Err(cause) => return Err(failed(cause)),
            }
            fchmod(&file, Mode::from_bits_truncate(old.mode & 0o777)).map_err(failed)?;
        }
        fsync(&file).map_err(failed)?;
        Ok(unfinished)
    }

    fn make_folder(&mut self, name: &OsStr) -> Result<(), Errno> {
        match mkdirat(&self.folder, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) => self.made.push((
                self.folder.try_clone().map_err(|_| Errno::MFILE)?,
                name.to_owned(),
            )),
            // Made by somebody else meanwhile.
            Err(Errno::EXIST) => {}
            Err(cause) => return Err(cause),
        }
        self.folder = openat(&self.folder, name, beneath::FOLDER, Mode::empty())?;
        Ok(())
    }

    fn create(&mut self) -> Result<File, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        for _ in 0..ATTEMPTS {
            // The standard library's hash keys are random, and differ each time.
            let name = temporary_name(RandomState::new().build_hasher().finish());
            match openat(
                &self.folder,
                name.as_str(),
                flags,
                Mode::from_bits_truncate(0o666),
            ) {
                Ok(file) => {
                    self.temporary = Some(name);
                    return Ok(File::from(file));
                }
                Err(Errno::EXIST) => {}
                Err(cause) => return Err(cause),
            }
        }
        Err(Errno::EXIST)
    }

    fn folder_path(&self) -> PathBuf {
        folder_and_name(&self.target.path).0.to_owned()
    }

    /// Shows the content under its name, in place of the old.
    fn show(mut self) -> Result<(), FileError> {
        let Some(temporary) = self.temporary.take() else {
            return Ok(());
        };
        let path = &self.target.path;
        if let Err(cause) = renameat(&self.folder, temporary.as_str(), &self.folder, &self.target.name) {
            let error = FileError::system("write", path, cause);
            self.temporary = Some(temporary);
            return Err(error);
        }
        // From here on it is there; that it survives a power cut is left.
        let made = std::mem::take(&mut self.made);
        for folder in made.iter().map(|(folder, _)| folder).chain([&self.folder]) {
            fsync(folder)
                .map_err(|cause| FileError::system("make durable (though it was written)", path, cause))?;
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // There is nobody to tell: whatever led here is told already, and an unfinished file that stays is
        // passed over by listings and searches.
        if let Some(temporary) = &self.temporary {
            let _ = unlinkat(&self.folder, temporary.as_str(), AtFlags::empty());
        }
        for (folder, name) in self.made.iter().rev() {
            let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
        }
    }
}
