//! What a path is as a source and as a sink.

use crate::{Classification, Integrity, Label, SinkLevel};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Component, Path, PathBuf};

/// Which row of the table gave a path its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathRule {
    /// One of the program's own files: RESTRICTED as a source, never a sink.
    OwnFile,
    /// A pattern of `[policy.paths]`, as written.
    Pattern(String),
    /// A folder of the workspace named after a level.
    LevelFolder,
    /// The rest of the workspace: `[policy] workspace`.
    Workspace,
    /// Outside the workspace: CONFIDENTIAL.
    Outside,
    /// Relative, or with a `..` in it: nobody can say what it names, so it is RESTRICTED and never a sink.
    NotCanonical,
}

/// What a path is as a source and as a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLabel {
    /// Its level.
    pub classification: Classification,
    /// Why.
    pub rule: PathRule,
    /// Whether unknown files there are TRUSTED (a folder marked so in the configuration).
    pub trusted: bool,
}

impl PathLabel {
    /// The label of a file there that no tool is known to have written.
    pub fn unknown_file(&self) -> Label {
        let integrity = if self.trusted {
            Integrity::Trusted
        } else {
            Integrity::Untrusted
        };
        Label::new(self.classification, integrity)
    }

    /// What may be written there: data up to its level, nothing into the program's own files.
    pub fn sink(&self) -> SinkLevel {
        match self.rule {
            PathRule::OwnFile | PathRule::NotCanonical => SinkLevel::OwnFile,
            PathRule::Pattern(_) | PathRule::LevelFolder | PathRule::Workspace | PathRule::Outside => {
                SinkLevel::Level(self.classification)
            }
        }
    }
}

/// Classifies canonical absolute paths by their names alone; resolving links is the caller's part.
///
/// The first that applies:
/// 1. One of the program's own files or folders: RESTRICTED, never a sink, wherever it lies (also in the
///    workspace). Where own folders and session workspaces lie in one another, the innermost decides.
/// 2. The first matching pattern of `[policy.paths]`, matched against the path relative to the workspace.
///    `*` and `?` stay within one name, `**` crosses folders, and `folder/**` is the folder itself too.
///    Case counts.
/// 3. What no pattern matches has the level of the top-level folder `public`, `internal`, `confidential` or
///    `restricted` it lies in (ASCII case is ignored, so that `Confidential/` does not silently become what
///    the workspace is), else that of the workspace; but it is never lower than a pattern says of a
///    folder above it: `"secret*" = "RESTRICTED"` covers what lies in `secret-plans/`, although `*` does not
///    cross a `/`.
/// 4. Outside the workspace: CONFIDENTIAL.
///
/// A path that is relative or has a `..` part cannot be classified, and is treated like an own file.
/// Names need not be UTF-8.
///
/// A tool that changes a whole folder at once has to classify what lies in it, since a folder may hold
/// own files without being one.
///
/// ```
/// use std::path::Path;
/// use tidegate_policy::{Classification::*, PathRules, SinkLevel};
///
/// let rules = PathRules::builder("/home/ann/desk")
///     .pattern("finance/**", Restricted)
///     .own("/home/ann/desk/tidegate.toml")
///     .build()?;
/// let level = |path| rules.classify(Path::new(path)).classification;
///
/// assert_eq!(level("/home/ann/desk/finance/q3.md"), Restricted);
/// assert_eq!(level("/home/ann/desk/public/faq.md"), Public);
/// assert_eq!(level("/home/ann/desk/readme.md"), Internal);
/// assert_eq!(level("/etc/hosts"), Confidential);
/// assert_eq!(rules.sink(Path::new("/home/ann/desk/tidegate.toml")), SinkLevel::OwnFile);
/// # Ok::<(), tidegate_policy::PathRulesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PathRules {
    workspace: PathBuf,
    workspace_level: Classification,
    patterns: Vec<(String, Classification)>,
    globs: GlobSet,
    /// For each of `globs`, the pattern it comes from.
    glob_patterns: Vec<usize>,
    /// Innermost first; at equal paths own files before session workspaces.
    territories: Vec<Territory>,
    trusted: Vec<PathBuf>,
}

/// A part of the file system that is the program's own, or is excepted from that.
#[derive(Clone, Debug)]
struct Territory {
    path: PathBuf,
    own: bool,
}

/// Builds [`PathRules`]. All paths but patterns are canonical and absolute.
#[derive(Clone, Debug)]
pub struct PathRulesBuilder {
    workspace: PathBuf,
    workspace_level: Classification,
    patterns: Vec<(String, Classification)>,
    territories: Vec<Territory>,
    trusted: Vec<PathBuf>,
}

/// Path rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathRulesError {
    /// A pattern is no glob.
    #[error(
        "[policy.paths] {pattern:?} is not a glob: {}; write a path relative to the workspace, with * or ? \
         for part of a name, ** for any folders, [ab] for a choice of characters and {{a,b}} for one of texts",
        cause.kind()
    )]
    NotAGlob {
        /// The pattern, as written.
        pattern: String,
        /// What is wrong with it.
        #[source]
        cause: globset::Error,
    },
    /// A pattern is a glob but no path of the workspace can match it.
    #[error(
        "[policy.paths] {pattern:?} would never match: it {problem}; patterns are relative to the workspace, \
         such as \"public/**\", \"*.key\" or \"**/drafts/*.md\""
    )]
    NeverMatches {
        /// The pattern, as written.
        pattern: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The patterns are too much together.
    #[error("[policy.paths] is too large to be compiled ({patterns} patterns); use fewer or shorter ones")]
    TooLarge {
        /// How many patterns there are.
        patterns: usize,
        /// What is wrong.
        #[source]
        cause: globset::Error,
    },
    /// A path that has to be canonical is not.
    #[error("the path of {what}, {path:?}, is not canonical; it has to be absolute, without `..` and links")]
    NotCanonical {
        /// What the path is of.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
}

impl PathRulesBuilder {
    /// The level of what lies in the workspace and is neither matched by a pattern nor in a level folder
    /// (`[policy] workspace`). Default: INTERNAL.
    #[must_use]
    pub fn workspace_level(mut self, level: Classification) -> Self {
        self.workspace_level = level;
        self
    }

    /// Adds a pattern of `[policy.paths]` after those added before; the first that matches wins.
    #[must_use]
    pub fn pattern(mut self, glob: impl Into<String>, level: Classification) -> Self {
        self.patterns.push((glob.into(), level));
        self
    }

    /// Adds one of the program's own files, or a folder of them: configuration, data, templates, keys,
    /// skills, scenarios.
    #[must_use]
    pub fn own(mut self, path: impl Into<PathBuf>) -> Self {
        self.territories.push(Territory {
            path: path.into(),
            own: true,
        });
        self
    }

    /// Excepts a session's workspace that lies in an own folder. Own files inside it, added by their own
    /// path, stay own.
    #[must_use]
    pub fn session_workspace(mut self, path: impl Into<PathBuf>) -> Self {
        self.territories.push(Territory {
            path: path.into(),
            own: false,
        });
        self
    }

    /// Marks a folder: unknown files in it are TRUSTED. The program's own files never are.
    #[must_use]
    pub fn trusted(mut self, folder: impl Into<PathBuf>) -> Self {
        self.trusted.push(folder.into());
        self
    }

    /// The rules.
    ///
    /// # Errors
    /// If a pattern is no glob or could never match, or a path is not absolute or has a `..` part.
    pub fn build(self) -> Result<PathRules, PathRulesError> {
        check_canonical("the workspace", &self.workspace)?;
        for territory in &self.territories {
            let what = if territory.own {
                "the program's own files"
            } else {
                "a session's workspace"
            };
            check_canonical(what, &territory.path)?;
        }
        for folder in &self.trusted {
            check_canonical("a trusted folder", folder)?;
        }

        let mut globs = GlobSetBuilder::new();
        let mut glob_patterns = Vec::new();
        for (index, (pattern, _)) in self.patterns.iter().enumerate() {
            if let Some(problem) = never_matches(pattern) {
                return Err(PathRulesError::NeverMatches {
                    pattern: pattern.clone(),
                    problem,
                });
            }
            for text in std::iter::once(pattern.as_str()).chain(pattern.strip_suffix("/**")) {
                let glob = GlobBuilder::new(text)
                    .literal_separator(true)
                    .build()
                    .map_err(|cause| PathRulesError::NotAGlob {
                        pattern: pattern.clone(),
                        cause,
                    })?;
                globs.add(glob);
                glob_patterns.push(index);
            }
        }
        let globs = globs.build().map_err(|cause| PathRulesError::TooLarge {
            patterns: self.patterns.len(),
            cause,
        })?;

        let mut territories = self.territories;
        territories.sort_by_key(|territory| {
            (
                std::cmp::Reverse(territory.path.components().count()),
                std::cmp::Reverse(territory.own),
            )
        });
        Ok(PathRules {
            workspace: self.workspace,
            workspace_level: self.workspace_level,
            patterns: self.patterns,
            globs,
            glob_patterns,
            territories,
            trusted: self.trusted,
        })
    }
}

impl PathRules {
    /// Rules for a workspace, given by its canonical path.
    pub fn builder(workspace: impl Into<PathBuf>) -> PathRulesBuilder {
        PathRulesBuilder {
            workspace: workspace.into(),
            workspace_level: Classification::Internal,
            patterns: Vec::new(),
            territories: Vec::new(),
            trusted: Vec::new(),
        }
    }

    /// The canonical path of the workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Classifies a canonical absolute path, whether or not something is there.
    pub fn classify(&self, path: &Path) -> PathLabel {
        if !is_canonical(path) {
            return PathLabel {
                classification: Classification::Restricted,
                rule: PathRule::NotCanonical,
                trusted: false,
            };
        }
        if self.is_own(path) {
            return PathLabel {
                classification: Classification::Restricted,
                rule: PathRule::OwnFile,
                trusted: false,
            };
        }
        let (classification, rule) = match path.strip_prefix(&self.workspace) {
            // Collecting the components leaves out `//`, `/./` and a final `/`, which globs would see.
            Ok(relative) => self.in_workspace(&relative.components().collect::<PathBuf>()),
            Err(_) => (Classification::Confidential, PathRule::Outside),
        };
        let trusted = self.trusted.iter().any(|folder| path.starts_with(folder));
        PathLabel {
            classification,
            rule,
            trusted,
        }
    }

    /// What may be written to a canonical absolute path. The same as [`PathLabel::sink`] of its class.
    pub fn sink(&self, path: &Path) -> SinkLevel {
        self.classify(path).sink()
    }

    fn is_own(&self, path: &Path) -> bool {
        self.territories
            .iter()
            .find(|territory| path.starts_with(&territory.path))
            .is_some_and(|innermost| innermost.own)
    }

    fn in_workspace(&self, relative: &Path) -> (Classification, PathRule) {
        if let Some((pattern, level)) = self.first_match(relative) {
            return (*level, PathRule::Pattern(pattern.clone()));
        }
        let fallback = match level_folder(relative) {
            Some(level) => (level, PathRule::LevelFolder),
            None => (self.workspace_level, PathRule::Workspace),
        };
        relative
            .ancestors()
            .skip(1)
            .filter_map(|folder| self.first_match(folder))
            .max_by_key(|(_, level)| *level)
            .filter(|(_, level)| *level > fallback.0)
            .map_or(fallback, |(pattern, level)| {
                (*level, PathRule::Pattern(pattern.clone()))
            })
    }

    fn first_match(&self, relative: &Path) -> Option<&(String, Classification)> {
        if relative.as_os_str().is_empty() {
            // The workspace itself, which `*` would match as an empty name.
            return self.patterns.iter().find(|(pattern, _)| pattern == "**");
        }
        let first = *self.globs.matches(relative).first()?;
        self.patterns.get(*self.glob_patterns.get(first)?)
    }
}

fn level_folder(relative: &Path) -> Option<Classification> {
    let Some(Component::Normal(name)) = relative.components().next() else {
        return None;
    };
    let name = name.to_str()?;
    Classification::ALL
        .into_iter()
        .find(|level| level.as_str().eq_ignore_ascii_case(name))
}

fn is_canonical(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
}

fn check_canonical(what: &'static str, path: &Path) -> Result<(), PathRulesError> {
    if is_canonical(path) {
        Ok(())
    } else {
        Err(PathRulesError::NotCanonical {
            what,
            path: path.into(),
        })
    }
}

/// Why a pattern, though perhaps a glob, is a mistake: its author would believe files protected that are not.
fn never_matches(pattern: &str) -> Option<&'static str> {
    if pattern.is_empty() {
        Some("is empty")
    } else if pattern.trim() != pattern {
        Some("begins or ends with white space")
    } else if pattern.contains('\0') {
        Some("holds a NUL character")
    } else if pattern.contains('\\') {
        Some(
            "holds a \\; folders are separated by /, and a special character is written in brackets, as in [*]",
        )
    } else if pattern.starts_with('/') {
        Some("begins with /")
    } else if pattern.starts_with("~/") {
        Some("begins with ~, which is not expanded")
    } else if pattern.ends_with('/') {
        Some("ends with /; write folder/** for a folder and what lies in it")
    } else if pattern.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Some("has a part that is empty, . or ..")
    } else {
        None
    }
}
