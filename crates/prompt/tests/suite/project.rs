use crate::made::templates;
use std::path::{Path, PathBuf};
use tidegate_prompt::{ProjectFile, project_file_candidates};

fn file(text: &str) -> Option<ProjectFile> {
    ProjectFile::new(&templates(), "AGENTS.md", text).unwrap()
}

#[test]
fn the_nearest_folder_counts_and_in_it_the_first_name() {
    let candidates = |folder: &str, root: Option<&str>| -> Vec<String> {
        project_file_candidates(Path::new(folder), root.map(Path::new))
            .iter()
            .map(|path: &PathBuf| path.to_str().unwrap().replace('\\', "/"))
            .collect()
    };
    let names = |folder: &str| {
        ["TIDEGATE.md", "AGENTS.md", "CLAUDE.md", ".cursorrules"].map(|name| format!("{folder}/{name}"))
    };
    assert_eq!(candidates("/a/b", None), names("/a/b"));
    assert_eq!(candidates("/a/b", Some("/a/b")), names("/a/b"));
    assert_eq!(
        candidates("/a/b/c", Some("/a/b")),
        [names("/a/b/c"), names("/a/b")].concat()
    );
    // Another place, and one whose name only begins alike, are no root of the folder.
    assert_eq!(candidates("/a/b", Some("/x")), names("/a/b"));
    assert_eq!(candidates("/a/bc", Some("/a/b")), names("/a/bc"));
}

#[test]
fn front_matter_is_left_out() {
    for (text, expected) in [
        ("plain\n", Some("plain")),
        ("---\ntitle: x\n---\nbody", Some("body")),
        ("\u{feff}---\r\na: b\r\n---\r\n\r\nbody\r\n", Some("body")),
        ("+++\na = 1\n+++\nbody", Some("body")),
        ("---\na: b\n...\nbody", Some("body")),
        ("---\nnot closed\nbody", Some("---\nnot closed\nbody")),
        ("text\n---\na\n---\n", Some("text\n---\na\n---")),
        ("---\n---\n", None),
        ("---", Some("---")),
        ("", None),
        (" \n\t", None),
        ("a\0b", Some("a\u{fffd}b")),
    ] {
        assert_eq!(file(text).as_ref().map(ProjectFile::text), expected, "{text:?}");
    }
}

#[test]
fn a_long_file_keeps_both_ends_and_says_what_is_missing() {
    let long = format!(
        "{}{}{}",
        "a".repeat(14_000),
        "b".repeat(10_000),
        "c".repeat(4_000)
    );
    let cut = file(&long).unwrap();
    assert_eq!(cut.left_out(), 10_000);
    let expected = format!(
        "{}\n\n[cut: 10000 of 28000 characters left out]\n\n{}",
        "a".repeat(14_000),
        "c".repeat(4_000)
    );
    assert_eq!(cut.text(), expected);
    // Up to 20,000 characters nothing is cut, though the ends have only 18,000.
    let most = "你".repeat(20_000);
    assert_eq!(file(&most).unwrap().text(), most);
    assert_eq!(file(&format!("{most}好")).unwrap().left_out(), 2_001);
}

#[test]
fn a_cut_breaks_no_character() {
    let family = "👩‍👩‍👧‍👦"; // Seven code points.
    for text in [
        family.repeat(3_000),
        "✓".repeat(20_001),
        "é\u{301}".repeat(20_000),
        "\u{301}".repeat(30_000),
    ] {
        let cut = file(&text).unwrap();
        assert!(cut.left_out() > 0);
        if text.starts_with(family) {
            let kept: String = cut.text().replace(|c: char| c.is_ascii(), "");
            assert_eq!(kept.replace(family, ""), "");
        }
    }
}
