//! What the architecture notes promise, and the tests that hold them to it.
//!
//! A promise is a paragraph with `**Invariant**` in it and a line
//! ``Held by: `crates/policy/tests/gate.rs::a_name`, `…` `` before the next promise or heading. The files are named
//! from the workspace's folder.

use crate::{File, Source};

/// A promise that nothing holds, or that is held by a test that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvariantFinding {
    /// The notes promise nothing.
    #[error("{path}: states no **Invariant**; without one the notes promise nothing")]
    None {
        /// The notes.
        path: String,
    },
    /// No test is named for an invariant.
    #[error(
        "{path}:{line}: the invariant names no test; add a line \"Held by: `path/to/file.rs::function_name`\""
    )]
    NotHeld {
        /// The notes.
        path: String,
        /// The line of the invariant, from 1.
        line: usize,
    },
    /// What is named is not of the form that can be looked up.
    #[error("{path}:{line}: `{reference}` is not of the form `path/to/file.rs::function_name`")]
    Unclear {
        /// The notes.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is written there.
        reference: String,
    },
    /// The file is not there.
    #[error("{path}:{line}: `{file}` does not exist; name it from the workspace's folder")]
    NoFile {
        /// The notes.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The file that is named.
        file: String,
    },
    /// The file has no such test.
    #[error("{path}:{line}: `{file}` has no test `{function}`; a function that is no test holds nothing")]
    NoTest {
        /// The notes.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The file that is named.
        file: String,
        /// The function that is named.
        function: String,
    },
}

/// Every promise of `notes` that no test among `files` holds.
pub fn check(notes: &File, files: &[File]) -> Vec<InvariantFinding> {
    let mut findings = Vec::new();
    let mut is_any = false;
    let mut open: Option<usize> = None;
    let mut is_list = false;
    let mut is_sample = false;
    let not_held = |line: Option<usize>| {
        line.map(|line| InvariantFinding::NotHeld {
            path: notes.path.clone(),
            line,
        })
    };
    for (number, text) in notes.text.lines().enumerate() {
        let line = number + 1;
        if text.trim_start().starts_with("```") {
            is_sample = !is_sample;
            is_list = false;
            continue;
        }
        if is_sample {
            continue;
        }
        let begins = text.contains("**Invariant");
        if begins || text.starts_with('#') {
            findings.extend(not_held(open.take()));
            is_list = false;
        }
        if begins {
            is_any = true;
            open = Some(line);
        }
        let list = match text.split_once("Held by:") {
            Some((_, list)) => list,
            None if is_list && !text.trim().is_empty() => text,
            None => {
                is_list = false;
                continue;
            }
        };
        is_list = true;
        for reference in list.split('`').skip(1).step_by(2) {
            open = None;
            findings.extend(look_up(notes, line, reference, files));
        }
    }
    findings.extend(not_held(open));
    if !is_any {
        findings.push(InvariantFinding::None {
            path: notes.path.clone(),
        });
    }
    findings
}

fn look_up(notes: &File, line: usize, reference: &str, files: &[File]) -> Option<InvariantFinding> {
    let path = notes.path.clone();
    let split = reference.split_once(".rs::").map(|(file, item)| {
        // A test inside a module may be named with it.
        (
            format!("{file}.rs"),
            item.rsplit("::").next().unwrap_or(item).to_owned(),
        )
    });
    let Some((named, function)) = split.filter(|(_, function)| !function.is_empty()) else {
        return Some(InvariantFinding::Unclear {
            path,
            line,
            reference: reference.to_owned(),
        });
    };
    let Some(file) = files.iter().find(|file| file.path == named) else {
        return Some(InvariantFinding::NoFile {
            path,
            line,
            file: named,
        });
    };
    // A file that is no Rust is found by the rules of the house; here it has no tests.
    let functions = Source::parse(&file.text)
        .map(|source| source.functions())
        .unwrap_or_default();
    let is_held = functions
        .iter()
        .any(|found| found.is_test && found.name == function);
    (!is_held).then_some(InvariantFinding::NoTest {
        path,
        line,
        file: named,
        function,
    })
}
