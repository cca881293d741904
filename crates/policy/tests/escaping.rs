//! Escaping.

use proptest::prelude::*;
use std::borrow::Cow;
use tidegate_policy::escaped;

#[test]
fn what_is_not_seen_as_itself_is_escaped() {
    for (text, expected) in [
        ("", ""),
        ("notes/q3 plan.md", "notes/q3 plan.md"),
        ("Zürich 東京 привет 🌊", "Zürich 東京 привет 🌊"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\0\u{7f}\u{85}", r"\u{0}\u{7f}\u{85}"),
        ("\u{1b}[2J\u{9b}31m", r"\u{1b}[2J\u{9b}31m"),
        (
            "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{61c}",
            r"\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{61c}",
        ),
        (
            "a\u{200b}b\u{200d}c\u{2060}d\u{feff}",
            r"a\u{200b}b\u{200d}c\u{2060}d\u{feff}",
        ),
        (
            "a\u{ad}b\u{34f}\u{3164}\u{2800}",
            r"a\u{ad}b\u{34f}\u{3164}\u{2800}",
        ),
        ("a\u{13430}b", r"a\u{13430}b"),
        ("a\u{a0}b\u{2003}c\u{3000}d", r"a\u{a0}b\u{2003}c\u{3000}d"),
        ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
        ("tag\u{e0041}\u{fe0f}", r"tag\u{e0041}\u{fe0f}"),
        (
            "\u{ffff}\u{1fffe}\u{10ffff}\u{fdd0}",
            r"\u{ffff}\u{1fffe}\u{10ffff}\u{fdd0}",
        ),
        (r#"C:\new "x""#, r#"C:\new "x""#),
    ] {
        assert_eq!(escaped(text), expected, "{text:?}");
    }
}

#[test]
fn plain_text_is_not_copied() {
    assert!(matches!(escaped("plain/path.md"), Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn nothing_dangerous_is_left_and_escaping_again_changes_nothing(text in r"(\PC|\pC|\pZ)*") {
        let once = escaped(&text).into_owned();
        let dangerous = once.chars().find(|c| c.is_control() || (c.is_whitespace() && *c != ' '));
        prop_assert_eq!(dangerous, None);
        prop_assert_eq!(escaped(&once), once.as_str());
    }
}
