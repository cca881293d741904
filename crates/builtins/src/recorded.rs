//! What is recorded of places in the workspace: labels of files and folders that tools made, and of what a command
//! may be writing at this moment.

use crate::Workspace;
use crate::content::Known;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tidegate_policy::{Classification, Label};
use tidegate_tools::{FileLabelsError, LabelQuery, LabelStart, PendingWrites};
use tokio::runtime::Handle;

/// How many labels are asked for at once.
const PAGE: usize = 512;

/// How many recorded labels are looked at to know whether a command may see what they are for.
pub(crate) const MOST_LABELS: usize = 100_000;

/// The recorded labels of what lies directly in one folder.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    places: BTreeMap<PathBuf, Label>,
    pending: Vec<PendingWrites>,
}

impl Recorded {
    /// The least label of the name at the absolute `path`, and of what tells of it.
    pub(crate) fn label(&self, path: &Path) -> Label {
        let known = self.places.get(path).copied().unwrap_or(Label::BOTTOM);
        known.join(pending_label(&self.pending, path))
    }
}

/// The join of the labels of all work that may be writing at the absolute `path`.
pub(crate) fn pending_label(pending: &[PendingWrites], path: &Path) -> Label {
    let pending = pending.iter().filter(|work| work.can_write(path));
    Label::join_all(pending.map(|work| work.label))
}

/// Waits for an answer of the store, in work that may block.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    Handle::current().block_on(answer)
}

impl Workspace {
    /// What is known of the content of the file at `path`.
    pub(crate) async fn known(&self, path: &Path) -> Known {
        let path = self.absolute(path);
        // In this order: what is settled meanwhile is found where it was recorded.
        let pending = self.labels().pending().await;
        match (pending, self.labels().get(&path).await) {
            (Ok(pending), Ok(file)) => Known::new(file, pending_label(&pending, &path)),
            (Err(_), _) | (_, Err(_)) => Known::UNREADABLE,
        }
    }

    /// The highest level that is recorded of the folder at `path` and of those above it, up to the workspace: an answer
    /// about what lies there tells that they are there. For work that may block. What cannot be read is the highest
    /// there is.
    pub(crate) fn recorded_of(&self, path: &Path) -> Label {
        wait(async {
            let mut level = Classification::Public;
            for folder in path.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
                level = level.max(self.known(folder).await.name().classification);
            }
            // Who named the folder did not write what is in it.
            Label::trusted(level)
        })
    }

    /// What is recorded of the link at `path`, and so of where it leads. For work that may block.
    pub(crate) fn recorded_of_link(&self, path: &Path) -> Label {
        wait(self.known(path)).name()
    }

    /// The recorded labels of what lies directly in `folder`, as far as they are not within `floor` anyway. For work
    /// that may block.
    pub(crate) fn recorded_in(&self, folder: &Path, floor: Label) -> Result<Recorded, FileLabelsError> {
        let folder = self.absolute(folder);
        wait(async {
            let pending = self.labels().pending().await?;
            let mut places = BTreeMap::new();
            let mut start = LabelStart::First;
            loop {
                let query = LabelQuery {
                    folder: folder.clone(),
                    start: start.clone(),
                    not_within: floor,
                    limit: PAGE,
                };
                let found = self.labels().find(query).await?;
                let is_last = found.len() < PAGE;
                let mut next = None;
                for (path, known) in found {
                    let within = path.strip_prefix(&folder).unwrap_or(&path);
                    let mut names = within.iter();
                    let (first, deeper) = (names.next().unwrap_or_default(), names.next().is_some());
                    if deeper {
                        // What lies in a folder in it is not asked for, and may be much.
                        next = Some(LabelStart::Behind(folder.join(first)));
                        break;
                    }
                    next = Some(LabelStart::After(path.clone()));
                    places.insert(path, known.label);
                }
                match next {
                    Some(LabelStart::After(_)) if is_last => break,
                    Some(next) => start = next,
                    None => break,
                }
            }
            Ok(Recorded { places, pending })
        })
    }

    /// The level a command has to work at that would work at `level` if only paths counted: the highest that is
    /// recorded of what it would see, names included. `hides` says what it cannot see. `None` if there are too many
    /// labels to know. For work that may block.
    pub(crate) fn raised(
        &self,
        level: Classification,
        hides: impl Fn(&Path, Classification) -> bool,
    ) -> Result<Option<Classification>, FileLabelsError> {
        let mut level = level;
        loop {
            match wait(self.raised_once(level, &hides))? {
                Some(higher) if higher > level => level = higher,
                found => return Ok(found),
            }
        }
    }

    async fn raised_once(
        &self,
        level: Classification,
        hides: &impl Fn(&Path, Classification) -> bool,
    ) -> Result<Option<Classification>, FileLabelsError> {
        let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
        // The outermost part of a path that cannot be seen.
        let hidden = |path: &Path| -> Option<PathBuf> {
            let relative = path.strip_prefix(self.root()).unwrap_or(path);
            let parts: Vec<&Path> = relative.ancestors().collect();
            let outermost = parts.into_iter().rev().find(|part| hides(part, level));
            outermost.map(|part| self.absolute(part))
        };
        for work in self.labels().pending().await? {
            let sees = |(place, writable): &(PathBuf, bool)| {
                *writable && place.starts_with(self.root()) && hidden(place).is_none() && is_there(place)
            };
            if work.label.classification > level && work.places.iter().any(sees) {
                return Ok(Some(work.label.classification));
            }
        }
        let mut start = LabelStart::First;
        let mut looked_at = 0;
        loop {
            let query = LabelQuery {
                folder: self.root().to_owned(),
                start: start.clone(),
                not_within: Label::untrusted(level),
                limit: PAGE,
            };
            let found = self.labels().find(query).await?;
            looked_at += found.len();
            if looked_at > MOST_LABELS {
                return Ok(None);
            }
            let is_last = found.len() < PAGE;
            let mut next = None;
            for (path, known) in found {
                match hidden(&path) {
                    Some(outermost) if outermost != path => {
                        next = Some(LabelStart::Behind(outermost));
                        break;
                    }
                    None if is_there(&path) => return Ok(Some(known.label.classification)),
                    Some(_) | None => next = Some(LabelStart::After(path)),
                }
            }
            match next {
                Some(LabelStart::Behind(folder)) => start = LabelStart::Behind(folder),
                Some(next) if !is_last => start = next,
                Some(_) | None => return Ok(Some(level)),
            }
        }
    }
}
