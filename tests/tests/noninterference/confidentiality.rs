//! Two runs that are equal in all inputs up to a level look the same up to that level.

use crate::inputs::Inputs;
use crate::mutant::Mutant;
use crate::run::{StoreKind, observe};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeSet;
use std::path::Path;
use tidegate_policy::Classification::{self, Confidential, Internal, Public};

/// Seeds that once showed a difference, and a few more.
const KEPT: [u64; 8] = [0, 1, 2, 3, 4, 5, 15, 27];

/// How many pairs of runs the property tries beside those.
const CASES: u32 = 48;

/// How many seeds a mutant has to survive to be called missed.
const TRIES: u64 = 40;

/// The difference that an observer at `observer` sees between two runs with other secrets.
fn difference(
    folder: &Path,
    (seed, observer): (u64, Classification),
    kind: StoreKind,
    mutant: Option<Mutant>,
) -> Option<String> {
    let [one, other] = [1, 2].map(|variant| {
        let inputs = Inputs {
            seed,
            observer,
            variant,
        };
        observe(&folder.join("run"), inputs, kind, mutant)
    });
    one.difference(&other)
}

#[test]
fn the_same_inputs_make_the_same_run_of_which_everything_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut kinds = BTreeSet::new();
    for seed in KEPT {
        let inputs = Inputs {
            seed,
            observer: Classification::Restricted,
            variant: 1,
        };
        let [one, again] =
            [(); 2].map(|()| observe(&folder.path().join("run"), inputs, StoreKind::Memory, None));
        assert_eq!(one.difference(&again), None, "seed {seed}");
        kinds.extend(one.kinds().map(str::to_owned));
    }
    let expected = [
        "answer",
        "approvals",
        "entries",
        "events",
        "files",
        "journal",
        "labels",
        "requests",
        "sends",
        "session",
        "sources",
    ];
    assert_eq!(kinds, expected.map(str::to_owned).into());
}

#[test]
fn kept_runs_with_other_secrets_look_the_same_in_memory_and_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [StoreKind::Memory, StoreKind::Sqlite] {
        for seed in KEPT {
            for observer in [Public, Internal, Confidential] {
                let found = difference(folder.path(), (seed, observer), kind, None);
                assert_eq!(found, None, "{kind:?}, seed {seed}, seen from {observer}");
            }
        }
    }
}

#[test]
fn runs_with_other_secrets_look_the_same_from_below() {
    let folder = tempfile::tempdir().unwrap();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    let cases = (
        any::<u64>(),
        prop::sample::select(vec![Public, Internal, Confidential]),
    );
    TestRunner::new_with_rng(config, rng)
        .run(&cases, |case| {
            prop_assert_eq!(difference(folder.path(), case, StoreKind::Memory, None), None);
            Ok(())
        })
        .unwrap();
}

#[test]
fn each_missing_protection_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut missed = Vec::new();
    for mutant in Mutant::OF_CONFIDENTIALITY {
        let found = (0..TRIES).find_map(|seed| {
            [Public, Internal, Confidential].into_iter().find_map(|observer| {
                difference(folder.path(), (seed, observer), StoreKind::Memory, Some(mutant))
                    .map(|found| (seed, observer, found))
            })
        });
        match found {
            Some((seed, observer, found)) => {
                let first: String = found.chars().take(160).collect();
                println!("{mutant:?}: seed {seed}, {observer}: {first}");
            }
            None => missed.push(mutant),
        }
    }
    assert_eq!(missed, [], "no run showed that these are missing");
}
