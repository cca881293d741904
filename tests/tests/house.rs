//! Every file of the workspace keeps the rules of the house.

use std::io::{Write, stderr};
use tidegate_tests::house::{FORBIDDEN_WORDS, HouseFinding, MANY_LINES, MOST_LINES, check, is_long};
use tidegate_tests::{File, WorkspaceError, files, layers, listing};

#[test]
fn every_file_keeps_the_rules_of_the_house() -> Result<(), WorkspaceError> {
    let files = files()?;
    let findings: Vec<HouseFinding> = files.iter().flat_map(check).collect();
    assert!(findings.is_empty(), "{}", listing(&findings));
    Ok(())
}

#[test]
fn the_files_looked_at_are_those_of_every_package_and_the_settings() -> Result<(), WorkspaceError> {
    let files = files()?;
    let mut expected: Vec<String> = [".cargo/config.toml", ".ci/run", "Cargo.toml", "deny.toml"]
        .map(String::from)
        .into();
    for layer in layers::layers()? {
        // Fuzz targets are programs of one file each, in a folder of their own.
        let sources = ["src/", "fuzz_targets/"].map(|folder| layer.manifest.replace("Cargo.toml", folder));
        assert!(
            files
                .iter()
                .any(|file| file.is_rust() && sources.iter().any(|folder| file.path.starts_with(folder))),
            "no source of {} was looked at",
            layer.name
        );
        expected.push(layer.manifest);
    }
    for path in expected {
        assert!(
            files.iter().any(|file| file.path == path),
            "{path} was not looked at"
        );
    }
    let strays: Vec<&str> = files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| path.starts_with("target/"))
        .collect();
    assert!(strays.is_empty(), "cargo's output was looked at: {strays:?}");
    Ok(())
}

#[test]
fn long_files_are_named_and_none_is_too_long() -> Result<(), WorkspaceError> {
    let files = files()?;
    for file in files.iter().filter(|file| is_long(file)) {
        // Past the capture of the test runner, which shows only what failing tests print. Nothing depends on it.
        let line = format!(
            "note: {} has {} lines; about {MANY_LINES} are enough\n",
            file.path,
            file.text.lines().count()
        );
        stderr().write_all(line.as_bytes()).ok();
    }
    let too_long: Vec<_> = files
        .iter()
        .flat_map(check)
        .filter(|finding| matches!(finding, HouseFinding::TooLong { .. }))
        .collect();
    assert!(too_long.is_empty(), "{}", listing(&too_long));
    Ok(())
}

#[test]
fn a_file_over_the_limit_is_found() {
    for (path, lines, is_too_long, is_long_file) in [
        ("src/a.rs", MOST_LINES + 1, true, true),
        ("src/a.rs", MOST_LINES, false, true),
        ("src/a.rs", MANY_LINES + 1, false, true),
        ("src/a.rs", MANY_LINES, false, false),
        ("docs/a.md", MOST_LINES + 1, false, false),
    ] {
        let file = File::new(path, &"// a line\n".repeat(lines));
        let expected: Vec<_> = is_too_long
            .then(|| HouseFinding::TooLong {
                path: path.to_owned(),
                lines,
            })
            .into_iter()
            .collect();
        assert_eq!(check(&file), expected, "{path}, {lines} lines");
        assert_eq!(is_long(&file), is_long_file, "{path}, {lines} lines");
    }
}

#[test]
fn a_definition_in_a_front_page_is_found() {
    for (path, text, expected) in [
        (
            "src/lib.rs",
            "//! For x.\nmod a;\npub use a::A;\npub mod b { pub use crate::a::*; }\n",
            None,
        ),
        (
            "src/lib.rs",
            "//! For x.\n#![doc = \"fn\"]\nextern crate core as c;\n// fn a() {}\n",
            None,
        ),
        ("src/lib.rs", "//! For x.\n\npub fn a() {}\n", Some((3, "fn"))),
        (
            "src/lib.rs",
            "//! For x.\nmod a;\nimpl a::A {}\n",
            Some((3, "impl")),
        ),
        ("src/lib.rs", "//! For x.\npub struct A;\n", Some((2, "struct"))),
        (
            "src/lib.rs",
            "//! For x.\n#[cfg(test)]\nmod tests {\n    const A: u8 = 1;\n}\n",
            Some((4, "const")),
        ),
        ("src/b/mod.rs", "mod a;\npub enum B {}\n", Some((2, "enum"))),
        ("tests/common/mod.rs", "pub fn a() {}\n", None),
        ("src/other.rs", "pub fn a() {}\n", None),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(line, word)| HouseFinding::Defines {
                path: path.to_owned(),
                line,
                word: word.to_owned(),
            })
            .collect();
        assert_eq!(check(&File::new(path, text)), expected, "{path}: {text}");
    }
}

#[test]
fn a_crate_that_does_not_say_what_it_is_for_is_found() {
    for (name, text, is_found) in [
        ("lib.rs", "//! For x.\nmod a;\n", false),
        ("lib.rs", "mod a;\n", true),
        ("lib.rs", "// For x.\nmod a;\n", true),
        ("lib.rs", "", true),
        ("other.rs", "mod a;\n", false),
    ] {
        let path = format!("src/{name}");
        let expected: Vec<_> = is_found
            .then(|| HouseFinding::NoFrontPage { path: path.clone() })
            .into_iter()
            .collect();
        assert_eq!(check(&File::new(&path, text)), expected, "{name}: {text}");
    }
}

#[test]
fn a_silenced_test_or_lint_is_found_wherever_it_is_code() {
    for (attribute, expected) in [
        ("ignore", Some("ignore")),
        ("ignore = \"slow\"", Some("ignore")),
        ("allow(dead_code)", Some("allow")),
        ("allow(dead_code, reason = \"later\")", Some("allow")),
        ("cfg_attr(unix, ignore)", Some("ignore")),
        ("cfg_attr(not(test), allow(dead_code))", Some("allow")),
        ("expect(dead_code, reason = \"used by the macro\")", None),
        ("doc = \"ignore\"", None),
        ("serde(ignore)", None),
        ("test", None),
    ] {
        for (text, line) in [
            (format!("#[{attribute}]\nfn a() {{}}\n"), 1),
            (format!("mod a {{\n    #![{attribute}]\n}}\n"), 2),
            (
                format!("proptest! {{\n    #[test]\n    #[{attribute}]\n    fn a(x in 0..9) {{}}\n}}\n"),
                3,
            ),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|word| HouseFinding::Silenced {
                    path: "src/a.rs".to_owned(),
                    line,
                    word: word.to_owned(),
                })
                .collect();
            assert_eq!(check(&File::new("src/a.rs", &text)), expected, "{text}");
        }
        for text in [
            format!("// #[{attribute}]\n"),
            format!("const A: &str = r##\"#[{attribute}]\"##;\n"),
        ] {
            assert_eq!(check(&File::new("src/a.rs", &text)), [], "{text}");
        }
    }
}

#[test]
fn a_forbidden_word_is_found_in_every_kind_of_file() {
    for word in FORBIDDEN_WORDS {
        for path in ["src/a.rs", "docs/a.md", ".ci/run", "deny.toml"] {
            let text = format!("// nothing here\n// see {} for more\n", word.to_uppercase());
            let expected = HouseFinding::ForbiddenWord {
                path: path.to_owned(),
                line: 2,
                word: word.to_owned(),
            };
            assert_eq!(check(&File::new(path, &text)), [expected], "{path}: {text}");
        }
        assert_eq!(check(&File::new("Cargo.lock", word)), []);
    }
    assert_eq!(
        check(&File::new(
            "docs/a.md",
            "the workspace's root; work/; crates/io\n"
        )),
        []
    );
}

#[test]
fn a_package_without_the_workspaces_lints_is_found() {
    for (path, text, is_found) in [
        (
            "crates/a/Cargo.toml",
            "[package]\nname = \"a\"\n[lints]\nworkspace = true\n",
            false,
        ),
        ("crates/a/Cargo.toml", "lints.workspace = true\n", false),
        ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n", true),
        ("crates/a/Cargo.toml", "[lints]\nworkspace = false\n", true),
        (
            "crates/a/Cargo.toml",
            "[lints.rust]\nunsafe_code = \"forbid\"\n",
            true,
        ),
        ("Cargo.toml", "[workspace]\n", false),
        ("crates/a/other.toml", "[package]\n", false),
    ] {
        let expected: Vec<_> = is_found
            .then(|| HouseFinding::NoLints {
                path: path.to_owned(),
            })
            .into_iter()
            .collect();
        assert_eq!(check(&File::new(path, text)), expected, "{path}: {text}");
    }
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_found() {
    for (path, text) in [("src/a.rs", "fn a() {"), ("crates/a/Cargo.toml", "[package")] {
        let findings = check(&File::new(path, text));
        assert!(
            matches!(findings.as_slice(), [HouseFinding::NotReadable { path: found, .. }] if found == path),
            "{findings:?}"
        );
    }
}
