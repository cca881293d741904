//! Paths as models write them, and as they are shown.

use crate::FileError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use tidegate_policy::escaped;

const TEMPORARY_PREFIX: &[u8] = b".tidegate-";
const TEMPORARY_SUFFIX: &[u8] = b".tmp";

/// The hexadecimal digits between prefix and suffix.
const TEMPORARY_DIGITS: usize = 16;

/// A path as asked for: relative to the workspace, without `.` and `..`; empty for the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) path: PathBuf,
    /// Whether it ends so that it can only name a folder.
    pub(crate) folder: bool,
}

/// Reads a path by its letters alone, without a look at any file.
///
/// `..` takes back the name before it, even if that is a link: what a path means must not depend on what is
/// there, or an answer to `secret/../x` would tell whether there is a `secret`. Absolute paths are understood
/// beneath any of `roots`.
pub(crate) fn parse(text: &str, roots: &[&Path]) -> Result<Asked, FileError> {
    if text.is_empty() {
        return Err(FileError::EmptyPath);
    }
    if text.contains('\0') {
        return Err(FileError::ZeroByte);
    }
    let given = Path::new(text);
    let outside = || FileError::Outside {
        path: given.to_owned(),
    };
    let whole = normalised(given).ok_or_else(outside)?;
    let path = if whole.is_absolute() {
        roots
            .iter()
            .find_map(|root| whole.strip_prefix(root).ok())
            .ok_or_else(outside)?
            .to_owned()
    } else {
        whole
    };
    let folder = text.ends_with('/')
        || given.components().next_back() == Some(Component::CurDir)
        || text.ends_with("/.")
        || text.ends_with("/..")
        || text == "..";
    Ok(Asked { path, folder })
}

/// A path for a file.
pub(crate) fn parse_file(text: &str, roots: &[&Path]) -> Result<PathBuf, FileError> {
    let Asked { path, folder } = parse(text, roots)?;
    if path.as_os_str().is_empty() {
        Err(FileError::IsFolder { path })
    } else if folder {
        Err(FileError::FolderName { path })
    } else {
        Ok(path)
    }
}

/// The path without `.` and `..`, `None` if it climbs above where it starts.
pub(crate) fn normalised(path: &Path) -> Option<PathBuf> {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // Above `/` is `/`.
            Component::ParentDir if result.parent().is_none() && result.has_root() => {}
            Component::ParentDir => {
                if !result.pop() {
                    return None;
                }
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => result.push(component),
        }
    }
    Some(result)
}

/// The name of an unfinished file. `digits` distinguishes it.
pub(crate) fn temporary_name(digits: u64) -> String {
    format!(".tidegate-{digits:016x}.tmp")
}

/// Whether that is the name of an unfinished file, perhaps one a crash left behind. Listings and searches do not
/// show them.
pub(crate) fn is_temporary_name(name: &OsStr) -> bool {
    name.as_bytes()
        .strip_prefix(TEMPORARY_PREFIX)
        .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX))
        .is_some_and(|digits| digits.len() == TEMPORARY_DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

/// The path for people and models: on one line, with nothing that is not seen, bytes that are no UTF-8 as `\xff`.
/// The workspace itself is `.`.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return ".".into();
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&escaped(chunk.valid()));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Asked, is_temporary_name, parse, shown, temporary_name};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    fn read(text: &str) -> String {
        match parse(text, &[Path::new("/desk/space"), Path::new("/link")]) {
            Ok(Asked { path, folder }) => format!("{}{}", shown(&path), if folder { " folder" } else { "" }),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_path_is_read_by_its_letters_alone() {
        let outside = |path: &str| {
            format!(
                "{path} lies outside the workspace; write a path relative to the workspace, as in notes/today.md"
            )
        };
        let table = [
            ("a", "a".to_owned()),
            ("a/b.txt", "a/b.txt".into()),
            ("./a//b/./c", "a/b/c".into()),
            ("a/../b", "b".into()),
            ("a/b/../../c", "c".into()),
            ("a/", "a folder".into()),
            ("a/.", "a folder".into()),
            ("a/b/..", "a folder".into()),
            (".", ". folder".into()),
            ("./", ". folder".into()),
            (" ", " ".into()),
            ("..a/...", "..a/...".into()),
            ("/desk/space", ".".into()),
            ("/desk/space/a/b", "a/b".into()),
            ("/desk/space/../space/a", "a".into()),
            ("/../desk/space/a", "a".into()),
            ("/link/a", "a".into()),
            (
                "",
                "the path is empty; write one relative to the workspace, as in notes/today.md".into(),
            ),
            (
                "a\0b",
                "the path holds a zero byte; no file can have such a name".into(),
            ),
            ("..", outside("..")),
            ("a/../../b", outside("a/../../b")),
            ("/", outside("/")),
            ("/etc/passwd", outside("/etc/passwd")),
            ("/desk/space2/a", outside("/desk/space2/a")),
            ("/desk/space/../other", outside("/desk/space/../other")),
            ("../space/a", outside("../space/a")),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_are_shown_on_one_line_whatever_they_hold() {
        let table: [(&[u8], &str); 4] = [
            (b"a/b c.txt", "a/b c.txt"),
            (b"two\nlines\x1b[31m", r"two\nlines\u{1b}[31m"),
            (b"caf\xe9/\xff", r"caf\xe9/\xff"),
            ("x\u{202e}fdp".as_bytes(), r"x\u{202e}fdp"),
        ];
        for (name, expected) in table {
            assert_eq!(shown(Path::new(OsStr::from_bytes(name))), expected);
        }
    }

    #[test]
    fn only_names_made_by_the_program_are_temporary() {
        assert!(is_temporary_name(OsStr::new(&temporary_name(7))));
        assert!(is_temporary_name(OsStr::new(&temporary_name(u64::MAX))));
        for name in [
            ".tidegate-.tmp",
            ".tidegate-00000000000000zz.tmp",
            "tidegate.tmp",
            ".tidegate-0123456789abcdef",
        ] {
            assert!(!is_temporary_name(OsStr::new(name)), "{name}");
        }
    }
}
