//! No sequence of operations makes a transcript that a provider would refuse.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod common;

use common::refusal;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{
    Body, Content, Entry, FinishReason, Reply, ReplyPart, ResultStatus, ToolCall, ToolResult, Transcript,
    Usage, UserMessage, Verbatim,
};
use tidegate_policy::{Classification, Label, TurnId};

const TURN: TurnId = TurnId::from_bits(7);

#[derive(Clone, Debug)]
enum Operation {
    User(String),
    Steer(String),
    Reply { texts: Vec<String>, calls: u8 },
    Results(Answers),
    Repair,
    Cut(usize),
    Replace(usize, usize, String),
    Restart,
    RestartForgetfully,
}

#[derive(Clone, Copy, Debug)]
enum Answers {
    InOrder,
    Reversed,
    AllButOne,
    OneTwice,
    OneForeign,
    None,
}

fn operation() -> impl Strategy<Value = Operation> {
    let text = prop_oneof![
        Just(String::new()),
        Just("hello".to_owned()),
        Just("你好🦀".to_owned())
    ];
    let answers = prop_oneof![
        6 => Just(Answers::InOrder),
        4 => Just(Answers::Reversed),
        1 => Just(Answers::AllButOne),
        1 => Just(Answers::OneTwice),
        1 => Just(Answers::OneForeign),
        1 => Just(Answers::None),
    ];
    prop_oneof![
        4 => text.clone().prop_map(Operation::User),
        3 => text.clone().prop_map(Operation::Steer),
        8 => (prop::collection::vec(text.clone(), 0..3), 0..4_u8)
            .prop_map(|(texts, calls)| Operation::Reply { texts, calls }),
        8 => answers.prop_map(Operation::Results),
        1 => Just(Operation::Repair),
        1 => (0..12_usize).prop_map(Operation::Cut),
        2 => (0..10_usize, 0..10_usize, text).prop_map(|(start, end, text)| Operation::Replace(start, end, text)),
        1 => Just(Operation::Restart),
        1 => Just(Operation::RestartForgetfully),
    ]
}

fn label(bits: usize) -> Label {
    Label::trusted(Classification::ALL[bits % 4])
}

fn result(call: &ToolCall, label: Label) -> ToolResult {
    ToolResult::text(call, ResultStatus::Ok, label, "done")
}

/// Stores and loads every entry as JSON text, as the store does.
fn reloaded(entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    entries
        .iter()
        .map(|entry| Arc::new(serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap()))
        .collect()
}

/// Does the operation; whether it was accepted.
fn apply(transcript: &mut Transcript, step: usize, operation: Operation) -> bool {
    match operation {
        Operation::User(text) => transcript
            .push_user(TURN, label(step), UserMessage::person(text))
            .is_ok(),
        Operation::Steer(text) => transcript
            .steer(TURN, label(step), UserMessage::person(text))
            .is_ok(),
        Operation::Reply { texts, calls } => {
            let call = |index| ReplyPart::Call {
                provider_id: format!("p{index}"),
                name: format!("tool_{index}").as_str().into(),
                arguments: String::new(),
            };
            let parts = texts
                .into_iter()
                .map(ReplyPart::Text)
                .chain((0..calls).map(call))
                .collect();
            let json = format!("{{\"z\": {step},  \"a\": \"\\u00e9\"}}");
            transcript
                .push_reply(
                    TURN,
                    label(step),
                    Reply {
                        model: "test:model".parse().unwrap(),
                        parts,
                        verbatim: Some(Verbatim {
                            provider: tidegate_message::ProviderId::new("test"),
                            json: serde_json::value::RawValue::from_string(json).unwrap(),
                        }),
                        usage: Usage::default(),
                        finish: FinishReason::Stop,
                    },
                )
                .is_ok()
        }
        Operation::Results(answers) => {
            let mut results: Vec<ToolResult> = transcript
                .open_calls()
                .enumerate()
                .map(|(index, call)| result(call, label(index)))
                .collect();
            match answers {
                Answers::InOrder => {}
                Answers::Reversed => results.reverse(),
                Answers::AllButOne => drop(results.pop()),
                Answers::OneTwice => results.extend(results.first().cloned()),
                Answers::OneForeign => {
                    results.extend(results.first().cloned());
                    if let Some(last) = results.last_mut() {
                        last.call = "call_of_another".into();
                    }
                }
                Answers::None => results.clear(),
            }
            transcript.push_results(TURN, results).is_ok()
        }
        Operation::Repair => {
            let was_open = transcript.is_open();
            let appended = transcript.repair(TURN, |call| ToolResult::interrupted(call, Label::BOTTOM));
            assert_eq!(was_open, !appended.is_empty());
            assert!(
                transcript
                    .repair(TURN, |call| ToolResult::interrupted(call, Label::BOTTOM))
                    .is_empty()
            );
            was_open
        }
        Operation::Cut(unit) => transcript.cut_before(unit).is_ok(),
        Operation::Replace(start, end, text) => transcript
            .replace_units(start..end, TURN, label(step), UserMessage::program(text))
            .is_ok(),
        Operation::Restart => {
            let highest = transcript.next_seq().0 - 1;
            let waiting = transcript.waiting().to_vec();
            let mut again = Transcript::from_entries(reloaded(transcript.entries())).unwrap();
            again.reserve_through(tidegate_message::EntrySeq(highest));
            assert!(again.restore_waiting(waiting).unwrap().is_empty());
            assert_eq!(again, *transcript);
            *transcript = again;
            true
        }
        Operation::RestartForgetfully => {
            *transcript = Transcript::from_entries(reloaded(transcript.entries())).unwrap();
            true
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_operations_makes_an_invalid_transcript(
        operations in prop::collection::vec(operation(), 1..60)
    ) {
        let mut transcript = Transcript::default();
        let mut released = BTreeSet::new();
        for (step, operation) in operations.into_iter().enumerate() {
            let before = transcript.clone();
            let forgetful = matches!(operation, Operation::RestartForgetfully);
            if !apply(&mut transcript, step, operation) {
                prop_assert_eq!(&transcript, &before, "a refused operation changed something");
            }
            prop_assert_eq!(refusal(transcript.entries(), true), None);
            prop_assert_eq!(refusal(transcript.entries(), false).is_some(), transcript.is_open());
            prop_assert!(transcript.is_open() || transcript.waiting().is_empty());
            // Every number is given once, also if its entry was cut away.
            if forgetful {
                released.clear();
            }
            for entry in transcript.entries() {
                if before.entries().iter().all(|old| old.seq != entry.seq) {
                    prop_assert!(released.insert(entry.seq), "number {} was given twice", entry.seq);
                }
            }
            // What is kept of the entries is what they say.
            let entries = transcript.entries();
            prop_assert_eq!(transcript.label(), Label::join_all(entries.iter().map(|entry| entry.label)));
            for (index, entry) in entries.iter().enumerate() {
                let rewritten = entries[..index].iter().any(|earlier| earlier.seq > entry.seq);
                prop_assert_eq!(transcript.is_rewritten_before(index), rewritten);
            }
            // Units are the entries, split.
            prop_assert_eq!(transcript.units().flatten().cloned().collect::<Vec<_>>(), transcript.entries());
            let reread = Transcript::from_entries(reloaded(transcript.entries())).unwrap();
            prop_assert_eq!(reread.entries(), transcript.entries());
        }
    }

    #[test]
    fn chained_compactions_keep_results_with_their_calls_and_never_lower_a_label(
        turns in prop::collection::vec((0..4_usize, 0..4_u8), 2..12),
        cuts in prop::collection::vec((0..20_usize, 1..6_usize), 1..10),
    ) {
        let mut transcript = Transcript::default();
        for (number, (rounds, calls)) in turns.into_iter().enumerate() {
            apply(&mut transcript, number, Operation::User("go".into()));
            for _ in 0..rounds {
                apply(&mut transcript, number, Operation::Reply { texts: vec!["hm".into()], calls });
                apply(&mut transcript, number, Operation::Results(Answers::InOrder));
            }
        }
        let everything = Label::join_all(transcript.entries().iter().map(|entry| entry.label));
        for (start, length) in cuts {
            let count = transcript.units().count();
            let start = start % count;
            let end = (start + length).min(count);
            // All units here are closed, unless a model message without answer came last.
            if let Ok(replacement) = transcript.replace_units(start..end, TURN, Label::BOTTOM, UserMessage::program("so far")) {
                let of_removed = Label::join_all(replacement.removed.iter().map(|entry| entry.label));
                prop_assert_eq!(replacement.entry.label, of_removed);
                prop_assert!(refusal(&replacement.removed, false).is_none_or(|why| why.contains("a model message after nothing")));
            }
            prop_assert_eq!(refusal(transcript.entries(), true), None);
            prop_assert_eq!(Label::join_all(transcript.entries().iter().map(|entry| entry.label)), everything);
        }
    }

    #[test]
    fn any_row_of_entries_is_accepted_exactly_if_a_provider_would_accept_it(
        picks in prop::collection::vec(0..8_usize, 0..8)
    ) {
        // Entries of a valid transcript in any order, some twice, some missing.
        let mut transcript = Transcript::default();
        for operation in [
            Operation::User("a".into()),
            Operation::Reply { texts: vec![], calls: 2 },
            Operation::Results(Answers::InOrder),
            Operation::Reply { texts: vec!["b".into()], calls: 1 },
            Operation::Results(Answers::InOrder),
            Operation::Reply { texts: vec!["c".into()], calls: 0 },
            Operation::User("d".into()),
            Operation::Reply { texts: vec!["e".into()], calls: 0 },
        ] {
            prop_assert!(apply(&mut transcript, 0, operation));
        }
        let row: Vec<Arc<Entry>> = picks.into_iter().map(|pick| Arc::clone(&transcript.entries()[pick])).collect();
        prop_assert_eq!(Transcript::from_entries(row.clone()).is_ok(), refusal(&row, true).is_none());
    }

    #[test]
    fn reading_arguments_never_panics_and_excerpts_come_from_the_text(text in "\\PC{0,60}|[{}\\[\\]\",:a0 \n🦀é]{0,80}") {
        if let Err(tidegate_message::ArgumentsProblem::NotJson { excerpt, .. }) = tidegate_message::parse_arguments(&text) {
            prop_assert!(text.contains(&excerpt));
        }
    }
}

#[test]
fn verbatim_json_and_foreign_text_survive_storing_byte_for_byte() {
    let mut transcript = Transcript::default();
    apply(&mut transcript, 0, Operation::User("a".into()));
    apply(
        &mut transcript,
        1,
        Operation::Reply {
            texts: vec!["你好🦀".into()],
            calls: 1,
        },
    );
    let again = reloaded(transcript.entries());
    let Body::Assistant(message) = &again[1].body else {
        panic!("entry 2 is the reply")
    };
    assert_eq!(
        message.verbatim.as_ref().unwrap().json.get(),
        "{\"z\": 1,  \"a\": \"\\u00e9\"}"
    );
    assert_eq!(message.text(), "你好🦀");
    assert_eq!(Content::text("x").as_text(), Some("x"));
}
