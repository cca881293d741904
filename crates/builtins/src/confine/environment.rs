//! The environment of commands.

use std::collections::BTreeMap;
use std::path::Path;

/// The private folder of a confined command: its home, and its temporary files.
pub(crate) const PRIVATE: &str = "/private";
/// The home folder in it.
pub(crate) const HOME: &str = "/private/home";
/// The folder for temporary files in it; `/tmp` is the same folder.
pub(crate) const TEMPORARY: &str = "/private/tmp";

/// Where commands are looked for if the program itself has no `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The whole environment of a command: nothing of the program's own but `PATH`. `private` is its home where it is
/// not confined.
pub(crate) fn environment(private: Option<&Path>) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    let (home, temporary) = match private {
        Some(folder) => (folder.display().to_string(), folder.display().to_string()),
        None => (HOME.to_owned(), TEMPORARY.to_owned()),
    };
    [
        ("HOME", home),
        ("LANG", "C.UTF-8".to_owned()),
        ("PATH", path),
        ("TERM", "dumb".to_owned()),
        ("TMPDIR", temporary),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
