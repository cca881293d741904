//! Cutting text: never a broken character, whatever the text.

use proptest::prelude::*;
use tidegate_tools::{cut_text, graphemes_within};
use unicode_segmentation::UnicodeSegmentation;

#[test]
fn a_character_is_kept_whole_or_left_out_whole() {
    let family = "👩‍👩‍👧‍👦";
    let table = [
        ("", 0, ""),
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("✓✓✓", 2, "✓✓"),
        ("你好🦀", 2, "你好"),
        ("e\u{301}x", 1, ""),
        ("e\u{301}x", 2, "e\u{301}"),
        ("a\r\nb", 2, "a"),
        ("a\r\nb", 3, "a\r\n"),
        ("🇩🇪🇫🇷🇮🇹", 3, "🇩🇪"),
        ("🇩🇪🇫🇷🇮🇹", 4, "🇩🇪🇫🇷"),
        ("👩‍👩‍👧‍👦x", 6, ""),
        ("👩‍👩‍👧‍👦x", 7, family),
        ("क्षि", 3, ""),
        ("\u{1100}\u{1161}\u{11a8}", 2, ""),
    ];
    for (text, max, kept) in table {
        assert_eq!(graphemes_within(text, max), kept, "{text:?} cut at {max}");
    }
}

#[test]
fn the_mark_says_how_much_is_missing_and_where_the_rest_is() {
    let cut = cut_text(&"界".repeat(42_345), 30_000, "src_7").unwrap();
    assert_eq!(cut.omitted_chars, 12_345);
    let mark = "\n[cut: 12345 of 42345 characters left out; full text: source src_7]";
    assert_eq!(cut.text.strip_suffix(mark).unwrap().chars().count(), 30_000);
    assert_eq!(cut_text(&"界".repeat(30_000), 30_000, "src_7"), None);
}

#[test]
fn a_pile_of_combining_marks_cannot_swallow_the_text() {
    let pile = format!("a{}", "\u{301}".repeat(100_000));
    let cut = cut_text(&pile, 1000, "src").unwrap();
    assert_eq!(cut.omitted_chars, 99_001);
}

#[test]
fn cutting_a_hundred_megabytes_segments_only_the_place_of_the_cut() {
    // Segmenting all of it would take minutes in a test build.
    let text = "🇩🇪".repeat(12_500_000);
    assert_eq!(cut_text(&text, 1001, "src").unwrap().omitted_chars, 24_999_000);
}

/// Texts rich in what goes wrong: joiners, flags, accents, jamo, line ends.
fn text() -> impl Strategy<Value = String> {
    const PIECES: [&str; 17] = [
        "a", "é", "e\u{301}", "\u{200d}", "👩", "👧", "🏽", "🇩", "🇪", "\r", "\n", "✓", "你", "ᄀ", "ᅡ", "क",
        "्",
    ];
    proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(&PIECES[..]).prop_map(str::to_owned),
            ".{0,3}"
        ],
        0..40,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_kept_is_the_longest_beginning_of_whole_characters(text in text(), max in 0_usize..60) {
        let kept = graphemes_within(&text, max);
        prop_assert!(text.starts_with(kept));
        prop_assert!(kept.chars().count() <= max);
        let mut longest = 0;
        for (start, grapheme) in text.grapheme_indices(true) {
            let end = start + grapheme.len();
            if text.get(..end).unwrap().chars().count() <= max {
                longest = end;
            } else {
                break;
            }
        }
        prop_assert_eq!(kept.len(), longest);
    }

    #[test]
    fn a_cut_text_is_the_beginning_and_the_mark(text in text(), max in 0_usize..60) {
        match cut_text(&text, max, "src") {
            None => prop_assert!(text.chars().count() <= max),
            Some(cut) => {
                let kept = graphemes_within(&text, max);
                prop_assert!(text.chars().count() > max);
                prop_assert_eq!(text.chars().count() - kept.chars().count(), cut.omitted_chars);
                prop_assert!(cut.text.starts_with(kept));
                prop_assert_eq!(cut.text.chars().filter(|c| *c == '[').count(), kept.chars().filter(|c| *c == '[').count() + 1);
            }
        }
    }
}
