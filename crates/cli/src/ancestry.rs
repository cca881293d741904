//! Who started this process.

use std::path::Path;
use tidegate_builtins::confine::SUBCOMMAND;

/// Ancestors that are looked at. A chain that is longer is taken for one that hides something.
const MOST_ANCESTORS: usize = 256;

/// Whether a command that an agent runs started this process, directly or through others: then the launcher of
/// commands is among its ancestors, for it adopts what its descendants leave behind. Told on Linux alone.
pub(crate) fn is_started_by_a_tool() -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let mut process = std::process::id();
    for _ in 0..MOST_ANCESTORS {
        let folder = Path::new("/proc").join(process.to_string());
        let arguments = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        if arguments
            .split(|byte| *byte == 0)
            .skip(1)
            .any(|argument| argument == SUBCOMMAND.as_bytes())
        {
            return true;
        }
        match parent(&folder) {
            Some(parent) if parent > 1 => process = parent,
            // The first process, or one that cannot be looked at: nobody above it is a launcher of ours.
            Some(_) | None => return false,
        }
    }
    true
}

/// The parent, as `/proc/PID/stat` has it: the second field behind the name, which is in parentheses and may hold
/// anything.
fn parent(folder: &Path) -> Option<u32> {
    let stat = std::fs::read(folder.join("stat")).ok()?;
    let behind = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(behind + 1..)?).into_owned();
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
