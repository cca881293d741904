//! Classification of paths.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use proptest::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tidegate_policy::{
    Classification::{self, *},
    Label, PathRule, PathRules, PathRulesError, SinkLevel,
};

/// The workspace `/w` with these patterns and nothing else.
fn with_patterns(patterns: &[(&str, Classification)]) -> PathRules {
    patterns
        .iter()
        .fold(PathRules::builder("/w"), |rules, (glob, level)| {
            rules.pattern(*glob, *level)
        })
        .build()
        .unwrap()
}

fn check(rules: &PathRules, path: &str, level: Classification, rule: PathRule) {
    let label = rules.classify(Path::new(path));
    assert_eq!((label.classification, label.rule), (level, rule), "{path}");
}

fn pattern(text: &str) -> PathRule {
    PathRule::Pattern(text.into())
}

#[test]
fn without_patterns_level_folders_then_the_workspace_then_the_outside_decide() {
    let rules = with_patterns(&[]);
    for (path, level, rule) in [
        ("/w/public/faq.md", Public, PathRule::LevelFolder),
        ("/w/internal/a/b", Internal, PathRule::LevelFolder),
        ("/w/confidential/q3.md", Confidential, PathRule::LevelFolder),
        ("/w/restricted", Restricted, PathRule::LevelFolder),
        ("/w/readme.md", Internal, PathRule::Workspace),
        ("/w", Internal, PathRule::Workspace),
        ("/", Confidential, PathRule::Outside),
        ("/etc/passwd", Confidential, PathRule::Outside),
        // Only whole names count, and only at the top of the workspace.
        ("/w/publications/a", Internal, PathRule::Workspace),
        ("/w/public.md", Internal, PathRule::Workspace),
        ("/w/notes/public/a", Internal, PathRule::Workspace),
        ("/w/notes/restricted/a", Internal, PathRule::Workspace),
        ("/public/a", Confidential, PathRule::Outside),
        ("/w2/public/a", Confidential, PathRule::Outside),
        ("/wpublic", Confidential, PathRule::Outside),
    ] {
        check(&rules, path, level, rule);
    }
}

#[test]
fn level_folders_are_found_in_any_ascii_case_and_in_no_look_alike() {
    let rules = with_patterns(&[]);
    for (path, level, rule) in [
        ("/w/Confidential/a", Confidential, PathRule::LevelFolder),
        ("/w/RESTRICTED/a", Restricted, PathRule::LevelFolder),
        ("/w/Public/a", Public, PathRule::LevelFolder),
        ("/w/reſtricted/a", Internal, PathRule::Workspace),
        ("/w/рublic/a", Internal, PathRule::Workspace),
        ("/w/public /a", Internal, PathRule::Workspace),
        ("/w/public\u{200b}/a", Internal, PathRule::Workspace),
    ] {
        check(&rules, path, level, rule);
    }
}

#[test]
fn the_workspace_level_is_for_the_rest_of_the_workspace_alone() {
    let rules = PathRules::builder("/w")
        .workspace_level(Restricted)
        .build()
        .unwrap();
    check(&rules, "/w/a", Restricted, PathRule::Workspace);
    check(&rules, "/w/public/a", Public, PathRule::LevelFolder);
    check(&rules, "/x", Confidential, PathRule::Outside);
}

#[test]
fn the_first_matching_pattern_wins() {
    let rules = with_patterns(&[
        ("docs/secret.md", Restricted),
        ("docs/**", Public),
        ("docs/other.md", Confidential),
        ("restricted/open/**", Public),
        ("**/*.key", Restricted),
        ("public/draft?.md", Confidential),
    ]);
    for (path, level, rule) in [
        ("/w/docs/secret.md", Restricted, pattern("docs/secret.md")),
        ("/w/docs/other.md", Public, pattern("docs/**")),
        ("/w/docs/a/b/c", Public, pattern("docs/**")),
        ("/w/docs", Public, pattern("docs/**")),
        ("/w/docs2/a", Internal, PathRule::Workspace),
        ("/w/restricted/open/a", Public, pattern("restricted/open/**")),
        ("/w/restricted/other", Restricted, PathRule::LevelFolder),
        ("/w/id.key", Restricted, pattern("**/*.key")),
        ("/w/public/deep/id.key", Restricted, pattern("**/*.key")),
        ("/w/docs/id.key", Public, pattern("docs/**")),
        ("/w/public/draft1.md", Confidential, pattern("public/draft?.md")),
        ("/w/public/draft12.md", Public, PathRule::LevelFolder),
        ("/other/id.key", Confidential, PathRule::Outside),
    ] {
        check(&rules, path, level, rule);
    }
}

#[test]
fn stars_and_classes_stay_within_one_name() {
    let rules = with_patterns(&[
        ("a*z", Restricted),
        ("b[!x]c", Restricted),
        ("d[.-0]e", Restricted),
        ("f?g", Restricted),
    ]);
    check(&rules, "/w/abcz", Restricted, pattern("a*z"));
    for path in ["/w/a/z", "/w/b/c", "/w/d/e", "/w/f/g", "/w/x/abcz"] {
        check(&rules, path, Internal, PathRule::Workspace);
    }
}

#[test]
fn a_pattern_for_everything_covers_the_workspace_itself_and_a_star_does_not() {
    let all = with_patterns(&[("**", Confidential)]);
    check(&all, "/w", Confidential, pattern("**"));
    check(&all, "/w/public/a", Confidential, pattern("**"));
    check(&all, "/x", Confidential, PathRule::Outside);
    let star = with_patterns(&[("*", Public)]);
    check(&star, "/w", Internal, PathRule::Workspace);
    check(&star, "/w/a", Public, pattern("*"));
}

#[test]
fn what_lies_in_a_matched_folder_is_never_lower_than_the_folder() {
    let rules = with_patterns(&[
        ("secret*", Restricted),
        ("finance", Confidential),
        ("open", Public),
        ("finance/press/*", Public),
        ("confidential/x", Internal),
        ("up*", Confidential),
        ("up*/up*", Restricted),
        ("down*", Restricted),
        ("down*/down*", Confidential),
    ]);
    for (path, level, rule) in [
        ("/w/secret-plans", Restricted, pattern("secret*")),
        ("/w/secret-plans/a/b.md", Restricted, pattern("secret*")),
        ("/w/finance/q3.md", Confidential, pattern("finance")),
        // A match of its own still decides, and a folder never lowers.
        ("/w/finance/press/a.md", Public, pattern("finance/press/*")),
        ("/w/finance/press", Confidential, pattern("finance")),
        ("/w/open", Public, pattern("open")),
        ("/w/open/a", Internal, PathRule::Workspace),
        ("/w/confidential/x", Internal, pattern("confidential/x")),
        ("/w/confidential/x/a", Confidential, PathRule::LevelFolder),
        // Of several folders above, the highest decides.
        ("/w/up1/up2/a", Restricted, pattern("up*/up*")),
        ("/w/down1/down2/a", Restricted, pattern("down*")),
    ] {
        check(&rules, path, level, rule);
    }
}

#[test]
fn the_case_of_a_pattern_counts() {
    let rules = with_patterns(&[("Docs/**", Public)]);
    check(&rules, "/w/Docs/a", Public, pattern("Docs/**"));
    check(&rules, "/w/docs/a", Internal, PathRule::Workspace);
}

#[test]
fn own_files_win_wherever_they_lie_and_are_never_a_sink() {
    // The workspace holds the configuration and the data folder; a pattern tries to open both.
    let rules = PathRules::builder("/w")
        .pattern("**", Public)
        .own("/w/tidegate.toml")
        .own("/w/.tidegate")
        .own("/home/ann/keys")
        .build()
        .unwrap();
    for path in [
        "/w/tidegate.toml",
        "/w/.tidegate",
        "/w/.tidegate/store.db",
        "/home/ann/keys",
        "/home/ann/keys/a/b",
    ] {
        check(&rules, path, Restricted, PathRule::OwnFile);
        assert_eq!(rules.sink(Path::new(path)), SinkLevel::OwnFile, "{path}");
    }
    for path in ["/w/tidegate.toml.md", "/w/.tidegate2", "/w/sub/tidegate.toml"] {
        check(&rules, path, Public, pattern("**"));
        assert_eq!(rules.sink(Path::new(path)), SinkLevel::Level(Public), "{path}");
    }
}

#[test]
fn a_session_workspace_in_the_data_folder_is_excepted_but_not_the_own_files_in_it() {
    let rules = PathRules::builder("/data/desk/s1")
        .own("/data")
        .session_workspace("/data/desk/s1")
        .own("/data/desk/s1/tidegate.toml")
        .build()
        .unwrap();
    check(&rules, "/data/desk/s1", Internal, PathRule::Workspace);
    check(&rules, "/data/desk/s1/a", Internal, PathRule::Workspace);
    check(&rules, "/data/desk/s1/public/a", Public, PathRule::LevelFolder);
    for own in [
        "/data/desk/s1/tidegate.toml",
        "/data/desk/s2/a",
        "/data/desk/s10",
        "/data/desk",
        "/data",
        "/data/store.db",
    ] {
        check(&rules, own, Restricted, PathRule::OwnFile);
    }
}

#[test]
fn a_workspace_in_an_own_folder_is_own_unless_excepted() {
    let rules = PathRules::builder("/data/desk").own("/data").build().unwrap();
    check(&rules, "/data/desk/a", Restricted, PathRule::OwnFile);
    let both = PathRules::builder("/data")
        .own("/data")
        .session_workspace("/data")
        .build()
        .unwrap();
    check(&both, "/data/a", Restricted, PathRule::OwnFile);
    let excepted_elsewhere = PathRules::builder("/w")
        .own("/data")
        .session_workspace("/data/desk/s2")
        .build()
        .unwrap();
    check(
        &excepted_elsewhere,
        "/data/desk/s2/a",
        Confidential,
        PathRule::Outside,
    );
}

#[test]
fn trust_is_for_marked_folders_and_never_for_own_files() {
    let rules = PathRules::builder("/w")
        .trusted("/w")
        .trusted("/srv/handbook")
        .own("/w/.tidegate")
        .build()
        .unwrap();
    let label = |path| rules.classify(Path::new(path)).unknown_file();
    assert_eq!(label("/w/a"), Label::trusted(Internal));
    assert_eq!(label("/srv/handbook/a"), Label::trusted(Confidential));
    assert_eq!(label("/srv/handbook2/a"), Label::untrusted(Confidential));
    assert_eq!(label("/w/.tidegate/transcript"), Label::untrusted(Restricted));
    assert_eq!(label("/w/../etc/a"), Label::untrusted(Restricted));
    assert_eq!(label("w/a"), Label::untrusted(Restricted));
}

#[test]
fn a_path_that_is_not_canonical_is_restricted_and_no_sink() {
    let rules = with_patterns(&[("**", Public)]);
    for path in [
        "",
        ".",
        "..",
        "a",
        "w/a",
        "./w/a",
        "/w/../etc/passwd",
        "/w/a/..",
        "/..",
        "/w/public/../../x",
        "~/a",
    ] {
        check(&rules, path, Restricted, PathRule::NotCanonical);
        assert_eq!(rules.sink(Path::new(path)), SinkLevel::OwnFile, "{path}");
    }
}

#[test]
fn other_spellings_of_the_same_path_have_the_same_level() {
    let rules = PathRules::builder("/w/")
        .pattern("docs/*", Restricted)
        .own("/w/own/")
        .build()
        .unwrap();
    for path in [
        "/w/docs/a",
        "/w/docs/a/",
        "//w//docs//a",
        "/w/./docs/./a",
        "/w/docs/a/.",
    ] {
        check(&rules, path, Restricted, pattern("docs/*"));
    }
    check(&rules, "/w/own", Restricted, PathRule::OwnFile);
    check(&rules, "/w//own/./a", Restricted, PathRule::OwnFile);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf_8_are_matched_by_their_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let rules = PathRules::builder("/w")
        .pattern("docs/**", Restricted)
        .pattern("*.key", Confidential)
        .own("/data")
        .own(path(b"/w/\xff"))
        .build()
        .unwrap();
    let level = |bytes: &[u8]| rules.classify(&path(bytes)).classification;
    assert_eq!(level(b"/w/docs/\xff\xfe"), Restricted);
    assert_eq!(level(b"/w/\xf0\x28.key"), Confidential);
    assert_eq!(level(b"/w/publi\xe7/a"), Internal);
    assert_eq!(level(b"/w/public/\xff"), Public);
    assert_eq!(level(b"/\xff"), Confidential);
    assert_eq!(rules.sink(&path(b"/data/\xff\n")), SinkLevel::OwnFile);
    assert_eq!(rules.sink(&path(b"/w/\xff/a")), SinkLevel::OwnFile);
    // A line break in a name does not end a match.
    assert_eq!(level(b"/w/docs/a\nb"), Restricted);
    assert_eq!(level(b"/w/a\nb.key"), Confidential);
}

#[test]
fn patterns_that_are_a_mistake_are_refused_with_what_is_valid() {
    for (glob, problem) in [
        ("", "is empty"),
        ("/w/public/**", "begins with /"),
        ("./public/**", "has a part that is empty, . or .."),
        ("../x", "has a part that is empty, . or .."),
        ("a/../b", "has a part that is empty, . or .."),
        ("a//b", "has a part that is empty, . or .."),
        ("public/", "ends with /; write folder/**"),
        ("~/notes/**", "begins with ~"),
        (" public/**", "white space"),
        ("public/**\n", "white space"),
        (r"public\**", r"holds a \"),
        ("a\0b", "NUL"),
    ] {
        let error = PathRules::builder("/w")
            .pattern(glob, Public)
            .build()
            .unwrap_err();
        assert!(matches!(error, PathRulesError::NeverMatches { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("[policy.paths] {glob:?}")) && text.contains(problem),
            "{text}"
        );
    }
    for glob in ["a[", "[z-a]", "{a,b", "a}", "[!]"] {
        let error = PathRules::builder("/w")
            .pattern("ok", Public)
            .pattern(glob, Public)
            .build()
            .unwrap_err();
        assert!(
            matches!(error, PathRulesError::NotAGlob { .. }),
            "{glob}: {error}"
        );
        assert!(std::error::Error::source(&error).is_some());
    }
    insta::assert_snapshot!(
        PathRules::builder("/w").pattern("a[", Public).build().unwrap_err(),
        @r#"[policy.paths] "a[" is not a glob: unclosed character class; missing ']'; write a path relative to the workspace, with * or ? for part of a name, ** for any folders, [ab] for a choice of characters and {a,b} for one of texts"#
    );
}

#[test]
fn paths_of_the_builder_have_to_be_canonical() {
    for (builder, what) in [
        (PathRules::builder("w"), "the workspace"),
        (PathRules::builder("/w/.."), "the workspace"),
        (
            PathRules::builder("/w").own("tidegate.toml"),
            "the program's own files",
        ),
        (
            PathRules::builder("/w").session_workspace("/data/../s"),
            "a session's workspace",
        ),
        (PathRules::builder("/w").trusted(""), "a trusted folder"),
    ] {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("absolute"), "{error}");
    }
}

proptest! {
    #[test]
    fn classifying_is_total_and_no_own_file_is_a_sink(
        text in r"/?(w|data|\.\.|public|\PC{0,4}|/){0,8}",
        level in proptest::sample::select(Classification::ALL.to_vec()),
    ) {
        let rules = PathRules::builder("/w")
            .workspace_level(level)
            .pattern("**/data", Public)
            .own("/data")
            .own("/w/data")
            .build()
            .unwrap();
        let path = Path::new(&text);
        let label = rules.classify(path);
        prop_assert_eq!(label.sink(), rules.sink(path));
        let own = path.starts_with("/data") || path.starts_with("/w/data");
        let unclear = !path.is_absolute() || path.components().any(|part| part.as_os_str() == "..");
        prop_assert_eq!(rules.sink(path) == SinkLevel::OwnFile, own || unclear);
        if own || unclear {
            prop_assert_eq!(label.classification, Restricted);
        }
    }
}
