//! What logs may hold, and names that look like others.

use tidegate_policy::{Classification::*, KeyedHash, confusables, logged_url};

#[test]
fn content_above_internal_is_hashed_with_the_key() {
    let hash = KeyedHash::new([7; 32]);
    for (level, shown) in [(Public, "a\\nb"), (Internal, "a\\nb")] {
        assert_eq!(hash.logged("a\nb", level), shown);
    }
    for level in [Confidential, Restricted] {
        let shown = hash.logged("a\nb", level);
        assert!(!shown.contains('a') || shown.starts_with("[#"), "{shown}");
        assert_eq!(shown, hash.of("a\nb"));
    }
    let shown = hash.of("text");
    assert!(
        shown.starts_with("[#") && shown.ends_with(" ~64 B]") && shown.len() == "[#a1b2c3 ~64 B]".len(),
        "{shown}"
    );
    assert_eq!(
        shown,
        KeyedHash::new([7; 32]).of("text"),
        "the same key, the same hash"
    );
    assert_ne!(shown, KeyedHash::new([8; 32]).of("text"), "another key");
    assert_ne!(shown, hash.of("texts"), "another text");
    let mut last = [7; 32];
    last[31] = 8;
    assert_ne!(
        shown,
        KeyedHash::new(last).of("text"),
        "every byte of the key counts"
    );
    assert_eq!(format!("{hash:?}"), "KeyedHash(…)");
}

#[test]
fn the_hash_is_hmac_sha_256() {
    // RFC 4231 has no key of 32 bytes; this was computed with another implementation.
    assert_eq!(KeyedHash::new([0x0b; 32]).of("Hi There"), "[#198a60 ~64 B]");
}

#[test]
fn lengths_are_rounded_up_to_powers_of_two() {
    let hash = KeyedHash::new([0; 32]);
    for (length, shown) in [
        (0, "~64 B"),
        (64, "~64 B"),
        (65, "~128 B"),
        (1_000, "~1 KB"),
        (1_024, "~1 KB"),
        (1_025, "~2 KB"),
        (1_000_000, "~1 MB"),
        (1_048_577, "~2 MB"),
    ] {
        let shown_whole = hash.of(&"x".repeat(length));
        assert!(
            shown_whole.ends_with(&format!(" {shown}]")),
            "{length}: {shown_whole}"
        );
    }
}

#[test]
fn addresses_are_logged_without_user_query_and_fragment() {
    for (url, shown) in [
        ("https://example.com/a?key=1#part", "https://example.com/a"),
        ("https://me:pass@example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com", "https://example.com/"),
        ("not a url?key=1", "not a url"),
        ("/path#part?x", "/path"),
        ("data:text/plain,x?y", "data:text/plain,x"),
        ("a\nb?c", "a\\nb"),
    ] {
        assert_eq!(logged_url(url), shown, "{url}");
    }
}

#[test]
fn names_that_look_like_others_are_told() {
    for (value, told) in [
        ("alice@example.com", vec![]),
        ("Zoë Müller", vec![]),
        ("Москва", vec![]),
        ("東京", vec![]),
        (
            "p\u{430}ypal.com",
            vec!["\"p\u{430}ypal\" only looks like \"paypal\": it is p\\u{430}ypal"],
        ),
        (
            "x \u{440}\u{430}\u{443} y",
            vec!["\"\u{440}\u{430}\u{443}\" only looks like \"pay\": it is \\u{440}\\u{430}\\u{443}"],
        ),
        (
            "Bö\u{431}",
            vec!["\"Bö\u{431}\" mixes scripts: it is B\\u{f6}\\u{431}"],
        ),
        (
            "ｂｏｓｓ",
            vec!["\"ｂｏｓｓ\" only looks like \"boss\": it is \\u{ff42}\\u{ff4f}\\u{ff53}\\u{ff53}"],
        ),
        (
            "bo\u{200b}ss",
            vec!["\"bo\\u{200b}ss\" only looks like \"boss\": it is bo\\u{200b}ss"],
        ),
    ] {
        let found: Vec<String> = confusables(value).iter().map(ToString::to_string).collect();
        assert_eq!(found, told, "{value}");
    }
}
