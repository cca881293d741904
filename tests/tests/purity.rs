//! `policy`, `message`, `prompt`, `tools` and `core` decide; they have no means to act.

use tidegate_tests::purity::{Features, MEANS_TO_ACT, PurityFinding, check, names, tree};
use tidegate_tests::{WorkspaceError, listing};

/// Every crate of futures: even a future to wait for is too much for the gate.
const FUTURES: [&str; 8] = [
    "futures",
    "futures-core",
    "futures-util",
    "futures-task",
    "futures-channel",
    "futures-executor",
    "futures-io",
    "futures-sink",
];

#[test]
fn the_crates_that_decide_have_no_means_to_act() -> Result<(), WorkspaceError> {
    let mut findings = Vec::new();
    for name in [
        "tidegate-policy",
        "tidegate-message",
        "tidegate-prompt",
        "tidegate-tools",
        "tidegate-core",
    ] {
        for features in [Features::Default, Features::All] {
            let tree = tree(name, features)?;
            // A tree that was not drawn would be pure as well.
            assert_eq!(names(&tree).next(), Some(name), "{tree}");
            assert!(
                names(&tree).any(|found| found == "serde"),
                "{name} has no dependencies? {tree}"
            );
            findings.extend(check(name, features, &tree, &MEANS_TO_ACT));
            if name == "tidegate-policy" {
                findings.extend(check(name, features, &tree, &FUTURES));
            }
        }
    }
    assert!(findings.is_empty(), "{}", listing(&findings));
    Ok(())
}

#[test]
fn a_crate_that_acts_is_found_by_the_same_look() -> Result<(), WorkspaceError> {
    for (name, dependency) in [
        ("tidegate-store", "libsqlite3-sys"),
        ("tidegate-providers", "reqwest"),
    ] {
        let tree = tree(name, Features::Default)?;
        let findings = check(name, Features::Default, &tree, &MEANS_TO_ACT);
        assert!(
            findings.iter().any(|finding| finding.dependency == dependency),
            "{tree}"
        );
    }
    Ok(())
}

#[test]
fn a_forbidden_crate_is_found_by_its_whole_name() {
    for (tree, expected) in [
        (
            "pure v0.1.0 (/path/pure)\nserde v1.0.229\ntokio v1.54.0",
            vec!["tokio"],
        ),
        (
            "pure v0.1.0\ntokio v1.54.0 (*)\ntokio v1.54.0\nmio v1.0.0",
            vec!["tokio", "mio"],
        ),
        (
            "pure v0.1.0\ntokio-macros v2.0.0 (proc-macro)\nmy-tokio v1.0.0",
            vec![],
        ),
        ("pure v0.1.0 (/home/tokio)\n\n", vec![]),
        ("", vec![]),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|dependency| PurityFinding {
                name: "pure".to_owned(),
                dependency: dependency.to_owned(),
                features: Features::All,
            })
            .collect();
        assert_eq!(
            check("pure", Features::All, tree, &["tokio", "mio"]),
            expected,
            "{tree}"
        );
    }
}
