//! What the machine offers: the data folder, the store, confinement, the terminal.

use super::component::{Component, State};
use super::is_folder;
use crate::output;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use tidegate_builtins::confine::Launcher;
use tidegate_builtins::confinement_available;
use tidegate_runtime::config::{Configuration, DurabilitySetting};
use tidegate_runtime::{DataFolder, Runtime};

/// Less free space than this is told: 100 MiB.
const LITTLE_SPACE: u64 = 100 * 1024 * 1024;

/// Whether the data folder can be used, and by whom.
pub(super) fn data_folder(data: &DataFolder) -> Component {
    let title = "data folder";
    let root = data.root();
    let shown = root.display();
    if !is_folder(data) {
        return if root.symlink_metadata().is_ok() {
            Component::new(
                State::Fail,
                title,
                format!("{shown} is no folder"),
                "choose another with --data-dir DIR or TIDEGATE_DATA_DIR",
            )
        } else {
            Component::ok(title, format!("{shown} is not there yet; the first run makes it"))
        };
    }
    // Made and gone again: the one sure way to know.
    if let Err(error) = tempfile::tempfile_in(root) {
        return Component::new(
            State::Fail,
            title,
            format!("{shown} cannot be written ({error})"),
            "give yourself the right to write there, or choose another with --data-dir DIR",
        );
    }
    let space = free_space(root);
    let free = space.map_or_else(String::new, |bytes| format!(", {} free", size(bytes)));
    if let Some(mode) = open_to_others(root) {
        return Component::new(
            State::Warn,
            title,
            format!("{shown} is writable{free}, and open to others ({mode:o})"),
            format!("chmod 700 {shown}"),
        );
    }
    if space.is_some_and(|bytes| bytes < LITTLE_SPACE) {
        return Component::new(
            State::Warn,
            title,
            format!("{shown} is writable{free}"),
            "make room: a full disk stops every turn",
        );
    }
    Component::ok(title, format!("{shown} is writable and yours alone{free}"))
}

/// Whether the store can be opened.
pub(super) fn store(configuration: &Configuration, data: &DataFolder) -> Component {
    let title = "store";
    let file = Runtime::store_file(configuration, data);
    let shown = file.display();
    let durability = match configuration.store.durability {
        DurabilitySetting::Power => "survives loss of power",
        DurabilitySetting::Process => "survives the end of the process, not loss of power",
    };
    let Ok(metadata) = file.metadata() else {
        return Component::ok(
            title,
            format!("{shown} is not there yet; the first run makes it · {durability}"),
        );
    };
    match Runtime::open_store(configuration, data) {
        Ok(_) => Component::ok(
            title,
            format!(
                "{shown} opens · schema {} · {} · {durability}",
                tidegate_store::SqliteStore::schema(),
                size(metadata.len())
            ),
        ),
        Err(error) => {
            let why = output::with_causes(&error.into());
            Component::new(
                State::Fail,
                title,
                why,
                "mend that, or choose another folder with --data-dir DIR",
            )
        }
    }
}

/// Whether commands can be confined.
pub(super) async fn confinement() -> Component {
    let title = "confinement";
    let tried = match Launcher::this_program() {
        Ok(launcher) => confinement_available(&launcher)
            .await
            .map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    match tried {
        Ok(()) => Component::ok(
            title,
            "commands run without network, in a folder of their own (namespaces, Landlock)",
        ),
        Err(error) => Component::new(
            State::Warn,
            title,
            format!(
                "commands cannot be confined here: {}",
                output::with_causes(&error)
            ),
            "run_command then works only in sessions that hold nothing yet and may read everything",
        ),
    }
}

/// What is seen of the program.
pub(super) fn terminal() -> Component {
    let is = |terminal: bool| if terminal { "terminal" } else { "no terminal" };
    let kind = std::env::var("TERM").unwrap_or_else(|_| "not set".into());
    let about = format!(
        "input {}, output {}, messages {} · TERM {kind}",
        is(io::stdin().is_terminal()),
        is(io::stdout().is_terminal()),
        is(io::stderr().is_terminal()),
    );
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
    if io::stdout().is_terminal() && !is_utf8 {
        return Component::new(
            State::Warn,
            "terminal",
            about,
            "the locale is not UTF-8, so marks may be shown wrongly; set LANG, for example to C.UTF-8",
        );
    }
    Component::ok("terminal", about)
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let figures = rustix::fs::statvfs(folder).ok()?;
    Some(figures.f_bavail.saturating_mul(figures.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_folder: &Path) -> Option<u64> {
    None
}

/// The folder's mode, if others than its owner may look into it.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = folder.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_to_others(_folder: &Path) -> Option<u32> {
    None
}

/// Bytes in a unit that can be read.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 10_240 && unit + 1 < units.len() {
        value /= 1_024;
        unit += 1;
    }
    format!("{value} {}", units.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_a_unit_that_can_be_read() {
        for (bytes, expected) in [
            (0, "0 B"),
            (10_239, "10239 B"),
            (10_240, "10 KiB"),
            (52_428_800, "50 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
