//! What changes in a transcript that stands already: sidecars, stubs, summaries.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::refusal;
use std::sync::Arc;
use tidegate_message::{
    Author, Body, Content, EntrySeq, FinishReason, Reply, ReplyPart, ResultStatus, Rewrite, ToolResult,
    Transcript, TranscriptError, Usage, UserMessage,
};
use tidegate_policy::{Classification, Label, TurnId};

const TURN: TurnId = TurnId::from_bits(1);
const LATER: TurnId = TurnId::from_bits(2);
const LABEL: Label = Label::BOTTOM;
const INTERNAL: Label = Label::trusted(Classification::Internal);
const SECRET: Label = Label::untrusted(Classification::Confidential);

/// `u` a person, `t` a text reply, `1` to `9` so many calls, `r` their SECRET results.
fn transcript(script: &str) -> Transcript {
    let mut transcript = Transcript::default();
    for step in script.chars() {
        match step {
            'u' => drop(
                transcript
                    .push_user(TURN, LABEL, UserMessage::person("hello"))
                    .unwrap(),
            ),
            'r' => drop(
                transcript
                    .push_results(TURN, results(&transcript, SECRET, "long"))
                    .unwrap(),
            ),
            other => {
                let call = |index: u32| ReplyPart::Call {
                    provider_id: format!("p{index}"),
                    name: "look".into(),
                    arguments: "{}".into(),
                };
                let calls = other.to_digit(10).unwrap_or(0);
                let mut parts: Vec<ReplyPart> = (0..calls).map(call).collect();
                parts.push(ReplyPart::Text("yes".into()));
                let reply = Reply {
                    model: "test:model".parse().unwrap(),
                    parts,
                    verbatim: None,
                    usage: Usage::default(),
                    finish: FinishReason::Stop,
                };
                transcript.push_reply(TURN, LABEL, reply).unwrap();
            }
        }
    }
    transcript
}

fn results(transcript: &Transcript, label: Label, text: &str) -> Vec<ToolResult> {
    transcript
        .open_calls()
        .map(|call| ToolResult::text(call, ResultStatus::Ok, label, text))
        .collect()
}

/// Shorter results for the calls of `unit`, which claim to be PUBLIC.
fn stub(transcript: &Transcript, unit: usize) -> Rewrite {
    let entries = transcript.units().nth(unit).unwrap();
    let results = match &entries.last().unwrap().body {
        Body::Results(results) => results
            .results
            .iter()
            .map(|result| ToolResult {
                content: vec![Content::text("short")],
                label: LABEL,
                ..result.clone()
            })
            .collect(),
        Body::User(_) | Body::Assistant(_) => Vec::new(),
    };
    Rewrite::Results { unit, results }
}

fn summary(units: std::ops::Range<usize>) -> Rewrite {
    Rewrite::Summary {
        units,
        turn: LATER,
        label: INTERNAL,
        summary: UserMessage::summary("so far"),
    }
}

fn numbers(transcript: &Transcript) -> Vec<u64> {
    transcript.entries().iter().map(|entry| entry.seq.0).collect()
}

#[test]
fn a_sidecar_is_sent_and_the_content_stays() {
    let mut transcript = transcript("utu");
    let entry = transcript.set_sidecar(
        EntrySeq(3),
        SECRET,
        vec![Content::text("hello, and notes"), Content::text("")],
    );
    let entry = entry.unwrap();
    assert_eq!((entry.seq, entry.turn, entry.label), (EntrySeq(3), TURN, SECRET));
    assert_eq!(transcript.entries()[2], entry);
    assert_eq!(transcript.next_seq(), EntrySeq(4));
    let Body::User(message) = &entry.body else {
        panic!("{entry:?}")
    };
    assert_eq!(message.content, [Content::text("hello")]);
    assert_eq!(message.api_content(), [Content::text("hello, and notes")]);
    let again: tidegate_message::Entry =
        serde_json::from_str(&serde_json::to_string(&*entry).unwrap()).unwrap();
    assert_eq!(again, *entry);

    // Other content loses it.
    let rewritten = message.rewritten(vec![Content::text("[redacted]")]);
    assert_eq!(
        rewritten,
        UserMessage::new(Author::Person, vec![Content::text("[redacted]")])
    );
    assert_eq!(rewritten.api_content(), rewritten.content);
}

#[test]
fn messages_without_a_sidecar_are_stored_as_ever() {
    let json = serde_json::to_string(&UserMessage::person("x")).unwrap();
    assert_eq!(
        json,
        r#"{"author":"person","content":[{"type":"text","text":"x"}]}"#
    );
    assert_eq!(
        serde_json::from_str::<UserMessage>(&json).unwrap(),
        UserMessage::person("x")
    );
    assert!(
        serde_json::to_string(&UserMessage::summary("x"))
            .unwrap()
            .contains(r#""author":"summary""#)
    );
}

#[test]
fn a_sidecar_is_set_once_on_a_user_message_that_is_there() {
    let text = || vec![Content::text("x")];
    let mut transcript = transcript("ut");
    for seq in [0, 2, 3] {
        let error = transcript.set_sidecar(EntrySeq(seq), LABEL, text()).unwrap_err();
        assert_eq!(error, TranscriptError::NoSuchMessage { seq: EntrySeq(seq) });
    }
    let nothing = transcript
        .set_sidecar(EntrySeq(1), LABEL, vec![Content::text("")])
        .unwrap_err();
    assert_eq!(nothing, TranscriptError::EmptyMessage { seq: EntrySeq(1) });
    transcript.set_sidecar(EntrySeq(1), LABEL, text()).unwrap();
    let again = transcript.set_sidecar(EntrySeq(1), LABEL, text()).unwrap_err();
    assert_eq!(again, TranscriptError::SidecarSet { seq: EntrySeq(1) });
}

#[test]
fn stubs_and_summaries_are_made_at_once_and_no_label_falls() {
    // Units: 0 u1, 1 calls 2-3, 2 t4, 3 u5, 4 calls 6-7, 5 t8, 6 u9.
    let mut transcript = transcript("u2rtu1rtu");
    let rewrites = vec![stub(&transcript, 1), summary(2..4), stub(&transcript, 4)];
    let done = transcript.rewrite(rewrites).unwrap();
    assert_eq!(numbers(&transcript), [1, 2, 10, 11, 6, 12, 8, 9]);
    assert_eq!(transcript.next_seq(), EntrySeq(13));
    assert_eq!(refusal(transcript.entries(), false), None);
    let told: Vec<(u64, Label, TurnId, Vec<u64>)> = done
        .iter()
        .map(|done| {
            let removed = done.removed.iter().map(|entry| entry.seq.0).collect();
            (done.entry.seq.0, done.entry.label, done.entry.turn, removed)
        })
        .collect();
    assert_eq!(
        told,
        [
            (10, SECRET, TURN, vec![3]),
            (11, INTERNAL, LATER, vec![4, 5]),
            (12, SECRET, TURN, vec![7])
        ]
    );
    assert!(done.iter().all(|done| {
        transcript
            .entries()
            .iter()
            .any(|entry| Arc::ptr_eq(entry, &done.entry))
    }));
    assert_eq!(transcript.rewrite(Vec::new()).unwrap(), []);
}

#[test]
fn a_rewrite_that_cannot_be_is_refused_and_none_of_its_row_is_made() {
    let original = transcript("u1rtu1");
    let wrong = |rewrites: Vec<Rewrite>| {
        let mut transcript = original.clone();
        let error = transcript.rewrite(rewrites).unwrap_err();
        assert_eq!(transcript, original);
        error.to_string()
    };
    let Rewrite::Results { results, .. } = stub(&original, 1) else {
        panic!("no results")
    };
    let mut foreign = results.clone();
    foreign[0].call = "call_of_another".into();
    let errors = [
        wrong(vec![summary(2..3), stub(&original, 1)]),
        wrong(vec![stub(&original, 1), summary(1..2)]),
        wrong(vec![summary(0..1), stub(&original, 0)]),
        wrong(vec![
            summary(0..1),
            Rewrite::Results {
                unit: 2,
                results: results.clone(),
            },
        ]),
        wrong(vec![Rewrite::Results {
            unit: 1,
            results: Vec::new(),
        }]),
        wrong(vec![Rewrite::Results {
            unit: 1,
            results: foreign,
        }]),
        wrong(vec![Rewrite::Results {
            unit: 4,
            results: results.clone(),
        }]),
        wrong(vec![Rewrite::Results { unit: 9, results }]),
        wrong(vec![summary(3..5)]),
    ];
    assert_eq!(
        errors,
        [
            "unit 1 is rewritten after one that follows it, or twice; give rewrites in order, one a unit",
            "unit 1 is rewritten after one that follows it, or twice; give rewrites in order, one a unit",
            "unit 0 is rewritten after one that follows it, or twice; give rewrites in order, one a unit",
            "unit 2 has no results to rewrite; name a unit of calls with their results",
            "entry 7 does not answer the calls of entry 2: no result for call_2_0",
            "entry 7 does not answer the calls of entry 2: no result for call_2_0; no such open call: call_of_another",
            "the calls of entry 6 are open: their unit can be cut or replaced once they have results",
            "there are no units 9 to 10 (end excluded): the transcript has 5, counted from 0",
            "the calls of entry 6 are open: their unit can be cut or replaced once they have results",
        ]
    );
}
