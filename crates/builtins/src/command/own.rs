//! The program's own files, where a command could put others in their place.
//!
//! A file that is there is covered by a mount, which also cannot be moved or removed. In a place where nothing is, nothing
//! can be mounted, and a link is replaced without touching what it leads to. So neither may lie where a command can write.

use super::CommandError;
use super::reach::Reach;
use crate::Workspace;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many links are followed, as many as Linux follows.
const LINKS: usize = 40;

/// That a command with this `reach` can put nothing in the place of any of the program's `own` files.
pub(super) fn require_out_of_reach(
    own: &[PathBuf],
    workspace: &Workspace,
    reach: &Reach,
) -> Result<(), CommandError> {
    // What is in a folder that can be written can be replaced, whatever it is: but for what is covered.
    let can_write = |place: &Path| {
        place
            .parent()
            .and_then(|folder| folder.strip_prefix(workspace.root()).ok())
            .is_some_and(|folder| reach.can_write(folder))
    };
    for path in own {
        if let Some((problem, hint)) = problem(path, &can_write, LINKS) {
            return Err(CommandError::OwnFile {
                path: path.clone(),
                problem,
                hint,
            });
        }
    }
    Ok(())
}

const ABSENT: (&str, &str) = (
    "is a place of the program's own where nothing is yet",
    "make it (a folder with mkdir -p, a file with touch), or choose a workspace that does not hold it",
);

const LINK: (&str, &str) = (
    "is a place of the program's own that is reached by a link",
    "put the file or folder itself in the link's place, or choose a workspace that does not hold the link",
);

/// Goes along the path name by name, as the system does.
fn problem(
    path: &Path,
    can_write: &impl Fn(&Path) -> bool,
    links: usize,
) -> Option<(&'static str, &'static str)> {
    let mut place = PathBuf::from("/");
    let mut names = path.components();
    while let Some(name) = names.next() {
        match name {
            Component::ParentDir => {
                place.pop();
                continue;
            }
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
        }
        let Ok(metadata) = fs::symlink_metadata(&place) else {
            // Nothing is there, or what is there is not for this user, and so not for the command either.
            return can_write(&place).then_some(ABSENT);
        };
        if metadata.is_symlink() {
            if can_write(&place) || links == 0 {
                return Some(LINK);
            }
            let target = fs::read_link(&place).ok()?;
            let folder = place.parent().unwrap_or(Path::new("/"));
            let target = folder.join(target).join(names.as_path());
            return problem(&target, can_write, links - 1);
        }
    }
    None
}
