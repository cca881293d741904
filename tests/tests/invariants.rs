//! What the architecture notes promise is held by tests that exist.

use tidegate_tests::invariants::{InvariantFinding, check};
use tidegate_tests::{File, WorkspaceError, files, listing};

const NOTES: &str = "docs/architecture.md";

#[test]
fn every_invariant_of_the_architecture_notes_is_held_by_a_test() -> Result<(), WorkspaceError> {
    let files = files()?;
    if let Some(notes) = files.iter().find(|file| file.path == NOTES) {
        let findings = check(notes, &files);
        assert!(findings.is_empty(), "{}", listing(&findings));
    }
    Ok(())
}

fn found(text: &str) -> Vec<InvariantFinding> {
    let files = [File::new(
        "a/tests/t.rs",
        "#[test]\nfn holds() {}\n#[test]\nfn too() {}\nfn no_test() {}\n",
    )];
    check(&File::new(NOTES, text), &files)
}

#[test]
fn an_invariant_that_tests_hold_is_accepted() {
    for text in [
        "**Invariant:** x. Held by: `a/tests/t.rs::holds`\n",
        "**Invariant** x\ngoes on.\n\nHeld by: `a/tests/t.rs::holds`,\n`a/tests/t.rs::too`.\n\n`other code`\n",
        "- **Invariant** x. Held by: `a/tests/t.rs::tests::holds`\n- **Invariant** y. Held by: `a/tests/t.rs::too`\n",
        "**Invariant** x. Held by: `a/tests/t.rs::holds`\n```\n**Invariant** as it is written\n```\n",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn an_invariant_that_no_test_holds_is_found() {
    let path = || NOTES.to_owned();
    let file = || "a/tests/t.rs".to_owned();
    for (text, expected) in [
        (
            "# Notes\n\nHeld by nobody.\n",
            InvariantFinding::None { path: path() },
        ),
        (
            "# Notes\n\n**Invariant** x.\n",
            InvariantFinding::NotHeld {
                path: path(),
                line: 3,
            },
        ),
        (
            "**Invariant** x.\n**Invariant** y. Held by: `a/tests/t.rs::holds`\n",
            InvariantFinding::NotHeld {
                path: path(),
                line: 1,
            },
        ),
        (
            "**Invariant** x.\n\n## Next\n\nHeld by: `a/tests/t.rs::holds`\n",
            InvariantFinding::NotHeld {
                path: path(),
                line: 1,
            },
        ),
        (
            "**Invariant** x. Held by: the compiler\n",
            InvariantFinding::NotHeld {
                path: path(),
                line: 1,
            },
        ),
        (
            "**Invariant** x. Held by: `holds`\n",
            InvariantFinding::Unclear {
                path: path(),
                line: 1,
                reference: "holds".to_owned(),
            },
        ),
        (
            "**Invariant** x. Held by: `a/tests/t.rs::`\n",
            InvariantFinding::Unclear {
                path: path(),
                line: 1,
                reference: "a/tests/t.rs::".to_owned(),
            },
        ),
        (
            "**Invariant** x. Held by: `b.rs::holds`\n",
            InvariantFinding::NoFile {
                path: path(),
                line: 1,
                file: "b.rs".to_owned(),
            },
        ),
        (
            "**Invariant** x. Held by: `a/tests/t.rs::holds`,\n  `a/tests/t.rs::gone`\n",
            InvariantFinding::NoTest {
                path: path(),
                line: 2,
                file: file(),
                function: "gone".to_owned(),
            },
        ),
        (
            "**Invariant** x. Held by: `a/tests/t.rs::no_test`\n",
            InvariantFinding::NoTest {
                path: path(),
                line: 1,
                file: file(),
                function: "no_test".to_owned(),
            },
        ),
    ] {
        assert_eq!(found(text), [expected], "{text}");
    }
}
