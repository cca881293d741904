//! The rules every file of the workspace is held to, as far as a program can check them.

use crate::{File, Source};

/// The most lines a Rust file may have.
pub const MOST_LINES: usize = 1000;

/// From here on a Rust file is long: it probably holds two ideas.
pub const MANY_LINES: usize = 600;

/// What the workspace must not name: folders of one machine and hosts of package registries. In pieces, so that this
/// file does not name them.
pub const FORBIDDEN_WORDS: [&str; 8] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/fa", "rm/"),
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("python", "hosted"),
    concat!("npm", "js.org"),
    concat!("deb.", "debian.org"),
];

/// What a file that only declares and re-exports has no use for.
const DEFINITIONS: [&str; 9] = [
    "fn",
    "impl",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules",
];

/// A breach of a rule: where it is and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HouseFinding {
    /// A Rust file has more than [`MOST_LINES`].
    #[error("{path}: {lines} lines, {MOST_LINES} at the most; part it by ideas")]
    TooLong {
        /// The file.
        path: String,
        /// How many lines it has.
        lines: usize,
    },
    /// A `lib.rs` or `mod.rs` defines something.
    #[error(
        "{path}:{line}: `{word}`; lib.rs and mod.rs only declare and re-export, so move it to a file of its own"
    )]
    Defines {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The word that begins the definition.
        word: String,
    },
    /// A `lib.rs` does not begin with what the crate is for.
    #[error("{path}: begins without `//!`; say first what the crate is for and not for")]
    NoFrontPage {
        /// The file.
        path: String,
    },
    /// A test that does not run, or a lint that is switched off without saying why.
    #[error("{path}:{line}: `{word}`; mend the cause, or use `expect` with a reason for a lint")]
    Silenced {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The attribute.
        word: String,
    },
    /// A word that means something on one machine only, or names a registry's host.
    #[error(
        "{path}:{line}: contains `{word}`; the repository names no machine's folders and no registry's host"
    )]
    ForbiddenWord {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The word.
        word: String,
    },
    /// A package that is not held to the workspace's lints.
    #[error("{path}: has no `[lints] workspace = true`; every package inherits the workspace's lints")]
    NoLints {
        /// The manifest.
        path: String,
    },
    /// A file that its ending promises to be something it is not.
    #[error("{path}: {cause}")]
    NotReadable {
        /// The file.
        path: String,
        /// Where it stops being what it should be.
        cause: String,
    },
}

/// Every breach in `file`.
pub fn check(file: &File) -> Vec<HouseFinding> {
    let mut findings = forbidden_words(file);
    if file.is_rust() {
        findings.extend(length(file));
        match Source::parse(&file.text) {
            Ok(source) => {
                findings.extend(silenced(file, &source));
                findings.extend(definitions(file, &source));
            }
            Err(cause) => {
                findings.push(HouseFinding::NotReadable {
                    path: file.path.clone(),
                    cause: cause.to_string(),
                });
            }
        }
        findings.extend(front_page(file));
    }
    findings.extend(lints(file));
    findings
}

/// Whether `file` is a Rust file of more than [`MANY_LINES`].
pub fn is_long(file: &File) -> bool {
    file.is_rust() && file.text.lines().count() > MANY_LINES
}

fn length(file: &File) -> Option<HouseFinding> {
    let lines = file.text.lines().count();
    (lines > MOST_LINES).then(|| HouseFinding::TooLong {
        path: file.path.clone(),
        lines,
    })
}

fn definitions(file: &File, source: &Source) -> Vec<HouseFinding> {
    // Outside src, mod.rs is how cargo is told that a file next to the tests is none itself.
    let is_declaring =
        matches!(file.name(), "lib.rs" | "mod.rs") && file.path.split('/').any(|folder| folder == "src");
    if !is_declaring {
        return Vec::new();
    }
    let defines = |(line, word): (usize, String)| HouseFinding::Defines {
        path: file.path.clone(),
        line,
        word,
    };
    source
        .words()
        .into_iter()
        .filter(|(_, word)| DEFINITIONS.contains(&word.as_str()))
        .map(defines)
        .collect()
}

fn front_page(file: &File) -> Option<HouseFinding> {
    let is_front = file.name() == "lib.rs" && !file.text.starts_with("//!");
    is_front.then(|| HouseFinding::NoFrontPage {
        path: file.path.clone(),
    })
}

fn silenced(file: &File, source: &Source) -> Vec<HouseFinding> {
    let is_silencing = |word: &String| matches!(word.as_str(), "ignore" | "allow");
    source
        .attributes()
        .into_iter()
        .filter_map(|attribute| {
            let word = match attribute.path.first()?.as_str() {
                "cfg_attr" => attribute.words.into_iter().find(is_silencing)?,
                _ => attribute.path.into_iter().next().filter(is_silencing)?,
            };
            Some(HouseFinding::Silenced {
                path: file.path.clone(),
                line: attribute.line,
                word,
            })
        })
        .collect()
}

fn forbidden_words(file: &File) -> Vec<HouseFinding> {
    // Cargo writes this one, with the registry's address in every entry.
    if file.name() == "Cargo.lock" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        for word in FORBIDDEN_WORDS.into_iter().filter(|word| line.contains(word)) {
            let (path, word) = (file.path.clone(), word.to_owned());
            findings.push(HouseFinding::ForbiddenWord {
                path,
                line: number + 1,
                word,
            });
        }
    }
    findings
}

fn lints(file: &File) -> Option<HouseFinding> {
    // The workspace's own manifest states the lints.
    if file.name() != "Cargo.toml" || file.path == "Cargo.toml" {
        return None;
    }
    let path = file.path.clone();
    match file.text.parse::<toml::Table>() {
        Ok(manifest) => {
            let inherits = manifest
                .get("lints")
                .and_then(|lints| lints.get("workspace")?.as_bool());
            // A package that cannot be a member has nothing to inherit from.
            let is_apart = manifest.contains_key("workspace");
            (inherits != Some(true) && !is_apart).then_some(HouseFinding::NoLints { path })
        }
        Err(cause) => Some(HouseFinding::NotReadable {
            path,
            cause: cause.to_string(),
        }),
    }
}
