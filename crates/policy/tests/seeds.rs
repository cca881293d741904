//! The checks of the fuzz targets, over the inputs kept with them and over variations of these.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    reason = "tests fail by panicking, and the checks are shared with the fuzz targets, each of which uses one"
)]

#[path = "../../../fuzz/checks.rs"]
mod checks;

use proptest::prelude::*;
use proptest::sample::Index;
use std::path::{Path, PathBuf};

type Check = fn(&str);

const CHECKS: [(&str, Check); 6] = [
    ("policy_file", checks::policy_file),
    ("regex", checks::regex),
    ("path", checks::path),
    ("url", checks::url),
    ("licence", checks::licence),
    ("secret", checks::secret),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

/// The seeds of a target, in the order of their names.
fn seeds(target: &str) -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join(target))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            (file, text)
        })
        .collect()
}

#[test]
fn every_check_holds_for_every_seed() {
    for (target, check) in CHECKS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 5, "{target} has its seeds");
        for (file, text) in seeds {
            println!("{}", file.display());
            check(&text);
        }
    }
}

#[test]
fn every_folder_of_seeds_has_its_check() {
    for folder in std::fs::read_dir(folder()).unwrap() {
        let name = folder.unwrap().file_name();
        assert!(CHECKS.iter().any(|(target, _)| **target == *name), "{name:?}");
    }
}

/// A change of a text.
#[derive(Clone, Debug)]
enum Change {
    Remove(Index, Index),
    Insert(Index, String),
    Repeat(Index, Index),
    /// The beginning of one seed with the end of another.
    Cross(Index, Index, Index),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<(Index, Index)>().prop_map(|(from, to)| Change::Remove(from, to)),
        (
            any::<Index>(),
            prop_oneof!["\\PC{1,3}", "[\\[\\](){}*+?|\\\\^$.%/:@\"'=\n-]{1,3}", ".{1,2}"]
        )
            .prop_map(|(at, text)| Change::Insert(at, text)),
        any::<(Index, Index)>().prop_map(|(from, to)| Change::Repeat(from, to)),
        any::<(Index, Index, Index)>().prop_map(|(seed, from, to)| Change::Cross(seed, from, to)),
    ]
}

fn changed(text: &str, change: &Change, seeds: &[(PathBuf, String)]) -> String {
    let place = |text: &str, index: &Index| text.floor_char_boundary(index.index(text.len() + 1));
    let range = |from: &Index, to: &Index| {
        let (from, to) = (place(text, from), place(text, to));
        from.min(to)..from.max(to)
    };
    match change {
        Change::Remove(from, to) => {
            let range = range(from, to);
            format!("{}{}", &text[..range.start], &text[range.end..])
        }
        Change::Insert(at, new) => {
            let at = place(text, at);
            format!("{}{new}{}", &text[..at], &text[at..])
        }
        Change::Repeat(from, to) => {
            let range = range(from, to);
            format!(
                "{}{}{}",
                &text[..range.end],
                &text[range.clone()],
                &text[range.end..]
            )
        }
        Change::Cross(seed, from, to) => {
            let (_, other) = seed.get(seeds);
            format!("{}{}", &text[..place(text, from)], &other[place(other, to)..])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_check_holds_for_variations_of_the_seeds(
        target in 0..CHECKS.len(),
        seed in any::<Index>(),
        changes in prop::collection::vec(any_change(), 1..5),
    ) {
        let (target, check) = CHECKS[target];
        let seeds = seeds(target);
        let text = changes.iter().fold(seed.get(&seeds).1.clone(), |text, change| changed(&text, change, &seeds));
        if text.len() < 5_000 {
            check(&text);
        }
    }
}
