use crate::made::{TURN, Talk, image};
use std::sync::Arc;
use tidegate_message::{Author, Content, ReplyPart, Transcript, Usage, UserMessage};
use tidegate_policy::Label;
use tidegate_prompt::{
    Fixed, Prices, RequestSize, Window, estimate_entry, estimate_request, estimate_text, estimate_transcript,
};

const FIXED: Fixed = Fixed {
    system: 1_000,
    tools: 500,
};

/// The size of a request, which is the same from its entries and from its transcript.
fn size_of(transcript: &Transcript) -> RequestSize {
    let size = estimate_request(transcript.entries(), FIXED, &Prices::default());
    assert_eq!(estimate_transcript(transcript, FIXED, &Prices::default()), size);
    size
}

#[test]
fn a_script_has_its_own_price() {
    for (text, tokens) in [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("Ærøskøbing!!", 3),
        ("привет", 3),
        ("你好世界", 4),
        ("こんにちは", 5),
        ("안녕", 2),
        ("🦀", 2),
        ("ab你", 2),
    ] {
        assert_eq!(estimate_text(text), tokens, "{text}");
    }
}

#[test]
fn the_threshold_depends_on_the_window() {
    for (window, threshold) in [
        (0, 0),
        (4, 3),
        (100_000, 75_000),
        (511_999, 256_000),
        (512_000, 256_000),
        (300_000, 225_000),
        (1_000_000, 256_000),
        (u64::MAX, 256_000),
    ] {
        assert_eq!(Window::new(window).threshold, threshold, "{window}");
    }
}

#[test]
fn attachments_have_a_flat_price() {
    let entry = |content: Vec<Content>| {
        let mut talk = Talk::default();
        talk.0
            .push_user(TURN, Label::BOTTOM, UserMessage::new(Author::Person, content))
            .unwrap()
    };
    let prices = Prices::default();
    let small = estimate_entry(&entry(vec![image(4)]), &prices);
    assert_eq!(small, 1_504);
    assert_eq!(estimate_entry(&entry(vec![image(4_000_000)]), &prices), small);
    assert_eq!(estimate_entry(&entry(vec![image(4), image(4)]), &prices), 3_004);
}

#[test]
fn what_is_sent_is_counted_and_not_what_it_was_made_of() {
    let mut talk = Talk::default();
    let seq = talk.person("abcd").seq;
    talk.0
        .set_sidecar(seq, Label::BOTTOM, vec![Content::text("abcd".repeat(100))])
        .unwrap();
    assert_eq!(estimate_entry(&talk.0.entries()[0], &Prices::default()), 104);
}

#[test]
fn the_providers_count_comes_first_and_the_rest_is_estimated() {
    let usage = |input, output| Usage {
        uncached: input,
        output,
        ..Usage::default()
    };
    let mut talk = Talk::default();
    talk.person("abcd");
    let size = |talk: &Talk| size_of(&talk.0);
    assert_eq!((size(&talk).tokens, size(&talk).counted), (1_505, 0));

    // A reply without a count changes nothing about that.
    talk.says("abcd");
    assert_eq!((size(&talk).tokens, size(&talk).counted), (1_510, 0));

    talk.person("abcd");
    talk.reply(vec![ReplyPart::Text("abcd".into())], usage(9_000, 10));
    assert_eq!((size(&talk).tokens, size(&talk).counted), (9_010, 9_010));
    talk.person("abcd");
    assert_eq!((size(&talk).tokens, size(&talk).counted), (9_015, 9_010));
}

#[test]
fn a_count_from_before_a_rewrite_counts_no_more() {
    let mut talk = Talk::default();
    talk.person("abcd");
    talk.says("abcd");
    talk.person("abcd");
    let usage = Usage {
        uncached: 288_000,
        ..Usage::default()
    };
    talk.reply(vec![ReplyPart::Text("abcd".into())], usage);
    talk.0
        .replace_units(0..2, TURN, Label::BOTTOM, UserMessage::summary("short"))
        .unwrap();
    let size = size_of(&talk.0);
    assert_eq!(size.counted, 0);
    assert!(size.tokens < 2_000, "{size:?}");
    // What is rewritten after it does not matter: it is counted anew anyway.
    let entries: Vec<_> = talk.0.entries()[1..].iter().map(Arc::clone).collect();
    assert_eq!(
        estimate_request(&entries, FIXED, &Prices::default()).counted,
        288_000
    );
}
