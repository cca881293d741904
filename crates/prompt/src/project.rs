//! The project file: what a folder says to agents that work in it.

use crate::error::PromptError;
use crate::sanitise;
use crate::templates::{CutMark, TemplateName, Templates};
use crate::text::ends;
use std::path::{Path, PathBuf};

/// The names of a project file. In one folder the first that is there counts.
pub const PROJECT_FILE_NAMES: [&str; 4] = ["TIDEGATE.md", "AGENTS.md", "CLAUDE.md", ".cursorrules"];

/// The most characters (code points) of a project file that a prompt holds.
const MOST_CHARACTERS: usize = 20_000;
/// Of a longer one, these first ones (70 %) …
const HEAD: usize = 14_000;
/// … and these last ones (20 %).
const TAIL: usize = 4_000;

/// Where a project file may be, the one that counts first: the folder itself, then each above it up to
/// `repository_root` with it; in each folder in the order of [`PROJECT_FILE_NAMES`]. Nearer folders know better.
///
/// Without a root, or with one that `folder` is not in, only `folder` is looked at. Both paths are compared as they are
/// written: resolve them first.
pub fn project_file_candidates(folder: &Path, repository_root: Option<&Path>) -> Vec<PathBuf> {
    let root = repository_root
        .filter(|root| folder.starts_with(root))
        .unwrap_or(folder);
    folder
        .ancestors()
        .take_while(|above| above.starts_with(root))
        .flat_map(|above| PROJECT_FILE_NAMES.iter().map(|name| above.join(name)))
        .collect()
}

/// A project file as a prompt holds it: without front matter, its middle left out if it is long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    name: String,
    text: String,
    left_out: usize,
}

impl ProjectFile {
    /// Makes one of a file's name and text. A text over 20,000 characters keeps its first 14,000 and its last 4,000,
    /// with a mark between them. `None` if nothing but white space and front matter is in it.
    ///
    /// # Errors
    /// If the template of the mark cannot be rendered.
    pub fn new(templates: &Templates, name: &str, text: &str) -> Result<Option<Self>, PromptError> {
        let body = without_front_matter(text);
        if body.is_empty() {
            return Ok(None);
        }
        let body = sanitise(body);
        let Some(ends) = ends(&body, HEAD, TAIL).filter(|ends| ends.total > MOST_CHARACTERS) else {
            return Ok(Some(Self::uncut(name, body.into_owned())));
        };
        let mark = templates.render(
            TemplateName::CutMark,
            CutMark {
                omitted: ends.omitted,
                total: ends.total,
            },
        )?;
        Ok(Some(Self {
            name: name.into(),
            text: format!("{}\n\n{mark}\n\n{}", ends.head.trim_end(), ends.tail.trim_start()),
            left_out: ends.omitted,
        }))
    }

    pub(crate) fn uncut(name: impl Into<String>, text: String) -> Self {
        Self {
            name: name.into(),
            text,
            left_out: 0,
        }
    }

    /// Its name, as the model is told it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text, not escaped.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many characters of it are left out.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// `text` without a block between two lines `---` (YAML) or `+++` (TOML) at its very beginning, and without white space
/// at its ends. A block that is not closed is no front matter.
fn without_front_matter(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let fence = first.trim_end();
    if !matches!(fence, "---" | "+++") {
        return text.trim();
    }
    let mut end = first.len();
    for line in lines {
        end = end.saturating_add(line.len());
        let line = line.trim_end();
        // YAML may close a document with dots, too.
        if line == fence || (fence == "---" && line == "...") {
            return text.get(end..).unwrap_or_default().trim();
        }
    }
    text.trim()
}
