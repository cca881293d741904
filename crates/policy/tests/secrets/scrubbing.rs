//! Taking values out of results, however they are encoded.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

const VALUE: &str = "pä$$ w/rd+\"1>?";

fn scrub(text: &str) -> String {
    values(&[("S", VALUE)]).scrubber().text(text).text
}

fn percent(text: &str, all: bool) -> String {
    let plain = |byte: u8| !all && byte.is_ascii_alphanumeric();
    let encode = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(encode).collect()
}

fn hex(text: &str, between: &str) -> String {
    text.bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(between)
}

#[test]
fn a_value_is_found_in_each_encoding() {
    let json_text = serde_json::to_string(VALUE).unwrap();
    let json_inside = json_text.trim_matches('"').to_owned();
    let in_json = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    let unicode: String = VALUE
        .encode_utf16()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect();
    for (encoding, encoded) in [
        ("as it is", VALUE.to_owned()),
        ("percent, in part", percent(VALUE, false)),
        ("percent, all of it", percent(VALUE, true)),
        ("percent, lower case", percent(VALUE, true).to_lowercase()),
        ("percent, some of it", VALUE.replace('$', "%24")),
        ("form", percent(VALUE, false).replace("%20", "+")),
        ("JSON", json_inside.clone()),
        ("JSON, all escaped", unicode.clone()),
        ("JSON, slashes escaped", json_inside.replace('/', "\\/")),
        ("JSON in JSON", in_json(&json_inside)),
        ("JSON, then percent", percent(&json_inside, false)),
        ("percent in JSON", in_json(&percent(VALUE, false))),
        ("hexadecimal", hex(VALUE, "")),
        ("hexadecimal, capitals", hex(VALUE, "").to_uppercase()),
        ("hexadecimal with blanks", hex(VALUE, " ")),
        ("hexadecimal with colons", hex(VALUE, ":")),
        ("hexadecimal in lines", hex(VALUE, "\n")),
    ] {
        for (before, after) in [
            ("", ""),
            ("x=", "&y"),
            ("ü", "ü"),
            ("\\", "\\"),
            ("%", "%"),
            ("\\u00", "\\u12"),
        ] {
            // A backslash before an escape makes it none, in JSON: that is another text.
            if before.starts_with('\\') && encoded.starts_with('\\') {
                continue;
            }
            let text = format!("{before}{encoded}{after}");
            let expected = format!("{before}[SECRET:S]{after}");
            let scrubbed = scrub(&text);
            assert_eq!(scrubbed, expected, "{encoding}: {text}");
        }
    }
}

#[test]
fn a_value_is_found_in_base64_at_every_place() {
    for value in [VALUE, "12345678", "123456789", "1234567890", "~~~~????>>>>"] {
        let scrubber = values(&[("S", value)]).scrubber();
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "zz", "zzz"] {
                let whole = format!("{before}{value}{after}");
                for encoded in [
                    STANDARD.encode(&whole),
                    STANDARD_NO_PAD.encode(&whole),
                    URL_SAFE.encode(&whole),
                    URL_SAFE_NO_PAD.encode(&whole),
                    STANDARD.encode(&whole).replace('/', "\\/"),
                    percent(&STANDARD.encode(&whole), false),
                    STANDARD
                        .encode(&whole)
                        .as_bytes()
                        .chunks(5)
                        .map(|line| format!("{}\r\n", std::str::from_utf8(line).unwrap()))
                        .collect(),
                ] {
                    let scrubbed = scrubber.text(&format!("Basic {encoded}!"));
                    assert!(
                        scrubbed.text.contains("[SECRET:S]"),
                        "{value:?} in {whole:?}: {encoded}"
                    );
                    assert_eq!(scrubbed.names, [name("S")]);
                    // What is left of it tells nothing: less than the digits of four bytes of each neighbour.
                    let left = scrubbed
                        .text
                        .replace("[SECRET:S]", "")
                        .replace(['\r', '\n', '='], "")
                        .replace("%3D", "");
                    let digits = left.len() - "Basic !".len();
                    assert!(digits <= (before.len() + after.len()) * 4 / 3 * 3 + 4, "{left}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_value_stays() {
    for text in [
        "",
        "plain",
        "100% sure \\o/ a+b",
        "{\"a\": \"\\u12\"}",
        "pä$$ w/rd",
        "%",
        "\\",
        "%zz%4",
        "\\ud83d",
        "\\ud83d\\u0041",
        "dGVzdA==",
    ] {
        assert_eq!(scrub(text), text);
        assert!(values(&[("S", VALUE)]).scrubber().text(text).names.is_empty());
    }
    assert_eq!(SecretValues::default().scrubber().text(VALUE).text, VALUE);
}

#[test]
fn several_values_are_told_apart_and_overlaps_are_one() {
    let scrubber = values(&[("A", "abcdefgh"), ("B", "efghijkl"), ("C", "abcdefghijklmnop")]).scrubber();
    for (text, expected, names) in [
        ("abcdefgh, efghijkl", "[SECRET:A], [SECRET:B]", vec!["A", "B"]),
        ("abcdefghabcdefgh", "[SECRET:A][SECRET:A]", vec!["A"]),
        ("xabcdefghijkly", "x[SECRET:A]y", vec!["A"]),
        ("xabcdefghijklmnopy", "x[SECRET:A]y", vec!["A"]),
        ("aaabcdefgh", "aa[SECRET:A]", vec!["A"]),
    ] {
        let scrubbed = scrubber.text(text);
        assert_eq!(scrubbed.text, expected);
        let found: Vec<_> = scrubbed.names.iter().map(SecretName::as_str).collect();
        assert_eq!(found, names, "{text}");
    }
    let repeating = values(&[("S", "aaaaaaaa")]).scrubber();
    assert_eq!(repeating.text("aaaaaaaaaaaa").text, "[SECRET:S]");
}

#[test]
fn the_lines_of_a_value_are_found_by_themselves() {
    let value = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nshort\n-----END KEY-----";
    let scrubber = values(&[("KEY", value)]).scrubber();
    assert_eq!(scrubber.text(value).text, "[SECRET:KEY]");
    assert_eq!(
        scrubber.text("  MIIEvQIBADANBgkqhkiG9w0B\n short").text,
        "  [SECRET:KEY]\n short"
    );
    assert_eq!(scrubber.text(&value.replace('\n', "\\n")).text, "[SECRET:KEY]");
}

#[test]
fn json_is_scrubbed_in_values_names_and_numbers() {
    let scrubber = values(&[("S", "12345678"), ("T", "other-one")]).scrubber();
    let scrubbed = scrubber.json(&json!({
        "a": ["x 12345678", 12_345_678, 1, null, true],
        "12345678": 1,
        "12345678 ": {"other-one": 2},
        "[SECRET:S]": 3,
    }));
    assert_eq!(
        scrubbed.text,
        json!({
            "a": ["x [SECRET:S]", "[SECRET:S]", 1, null, true],
            "[SECRET:S]": 1,
            "[SECRET:S] ": {"[SECRET:T]": 2},
            "[SECRET:S]'": 3,
        })
    );
    assert_eq!(scrubbed.names, [name("S"), name("T")]);
}

proptest! {
    #[test]
    fn no_value_is_left_in_any_text(
        value in "[a-c%+\\\\/é\"]{8,12}",
        before in "[a-c%+\\\\u0-9é]{0,6}",
        after in "[a-c%+\\\\u0-9é]{0,6}",
        repeat in 1_usize..3,
    ) {
        let scrubber = values(&[("S", &value)]).scrubber();
        let scrubbed = scrubber.text(&format!("{before}{}{after}", value.repeat(repeat)));
        prop_assert!(!scrubbed.text.contains(&value), "{}", scrubbed.text);
        prop_assert_eq!(scrubbed.names.len(), 1);
        prop_assert!(scrubbed.text.len() < before.len() + after.len() + 10 * repeat + 1);
    }

    #[test]
    fn any_text_is_scrubbed_without_panic_and_only_marks_are_new(text in ".{0,60}", value in "[^ ]{8,10}") {
        prop_assume!(value.trim() == value);
        let scrubbed = values(&[("S", &value)]).scrubber().text(&text);
        if scrubbed.names.is_empty() {
            prop_assert_eq!(scrubbed.text, text);
        }
    }
}
