//! A whole session: what is sent stays a prefix of what is sent next, over notes, memory, images, tools, compaction and
//! restarts.

use crate::made::{PUBLIC, Talk, drive, image, summary, templates};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{AssistantPart, Author, Body, Content, Entry, Transcript};
use tidegate_policy::TurnId;
use tidegate_prompt::{
    CompactionReport, CompactionSettings, EncodedRequest, Need, Note, NoteKind, PrefixBreakCause, PrefixPart,
    Prices, RequestComparison, SystemPrompt, TurnBuilder, TurnContext, TurnInput, Window, compare_requests,
};

/// What a wire would make of an entry.
fn encode(entry: &Entry) -> Bytes {
    let text = match &entry.body {
        Body::User(message) => serde_json::to_string(message.api_content()),
        Body::Assistant(message) => serde_json::to_string(&message.parts as &Vec<AssistantPart>),
        Body::Results(results) => serde_json::to_string(&results.results),
    };
    Bytes::from(text.unwrap())
}

fn compare(previous: &[Bytes], next: &[Bytes], announced: &[PrefixBreakCause]) -> RequestComparison {
    let model = "test:model".parse().unwrap();
    let request = |messages| EncodedRequest {
        model: &model,
        tools: &[],
        system: b"You help.",
        messages,
    };
    compare_requests(&request(previous), &request(next), announced)
}

fn turn(transcript: Transcript, number: u32, window: u64) -> TurnContext {
    let mut content = vec![Content::text(format!(
        "question {number} {}",
        "word ".repeat(100)
    ))];
    content.extend(number.is_multiple_of(5).then(|| image(100)));
    let notes = match number % 4 {
        0 => vec![Note::plain(NoteKind::ChannelSwitch {
            from: "web".into(),
            to: format!("mail {number}"),
        })],
        _ => Vec::new(),
    };
    let input = TurnInput {
        author: Author::Person,
        turn: TurnId::from_bits(u128::from(number)),
        content,
        label: PUBLIC,
        notes,
        reminders: Vec::new(),
        system_prompt: SystemPrompt {
            text: "You help.".into(),
            label: PUBLIC,
            skills_left_out: Vec::new(),
        },
        tools_tokens: 0,
        window: Window::new(window),
        cooling_down: false,
        prices: Prices::default(),
    };
    let mut builder = TurnBuilder::begin(&templates(), transcript, input).unwrap();
    while let Some(need) = builder.need() {
        match need {
            Need::Compact { .. } => {
                let compaction = builder.compaction(CompactionSettings::default()).unwrap();
                builder
                    .compacted(drive(compaction, &summary()).unwrap(), None)
                    .unwrap();
            }
            Need::Hooks { .. } => builder.hooked(Vec::new()).unwrap(),
            Need::Recall { .. } if number.is_multiple_of(3) => {
                let item = crate::texts::memory("a.md", &format!("tide {number}"), PUBLIC);
                builder.recalled(vec![item]).unwrap();
            }
            Need::Recall { .. } => builder.recalled(Vec::new()).unwrap(),
            Need::Store { .. } => builder.stored().unwrap(),
        }
    }
    builder.finish().unwrap()
}

/// As a store would give it back.
fn restarted(transcript: &Transcript) -> Transcript {
    let entries = transcript
        .entries()
        .iter()
        .map(|entry| Arc::new(serde_json::from_str(&serde_json::to_string(&**entry).unwrap()).unwrap()))
        .collect();
    let mut again = Transcript::from_entries(entries).unwrap();
    again.reserve_through(tidegate_message::EntrySeq(transcript.next_seq().0 - 1));
    again
}

fn session(window: u64) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |what| *counts.entry(what).or_insert(0) += 1;
    let mut transcript = Transcript::default();
    let mut previous: Vec<Bytes> = Vec::new();
    for number in 1..=50 {
        if number % 7 == 0 {
            transcript = restarted(&transcript);
        }
        let context = turn(transcript, number, window);
        let compacted = matches!(context.compaction, CompactionReport::Done(_));
        let announced: &[PrefixBreakCause] = if compacted {
            &[PrefixBreakCause::Compaction]
        } else {
            &[]
        };
        let mut talk = Talk(context.transcript);
        for round in 0..3 {
            let next: Vec<Bytes> = talk.0.entries().iter().map(|entry| encode(entry)).collect();
            match compare(&previous, &next, if round == 0 { announced } else { &[] }) {
                RequestComparison::Extends { .. } => count("extends"),
                RequestComparison::Breaks(found) => {
                    assert!(compacted && round == 0, "turn {number}: {found:?}");
                    assert_eq!(found.cause, PrefixBreakCause::Compaction);
                    // The first messages stay.
                    assert!(found.part >= PrefixPart::Message(3), "{found:?}");
                    count("breaks");
                }
            }
            previous = next;
            match round {
                0 => talk.calls_all(
                    "look",
                    &[("{}", vec![Content::text("tide ".repeat(60))]), ("{}", vec![])],
                    PUBLIC,
                ),
                1 => talk.calls("read_file", "{}", "short"),
                _ => drop(talk.says("answer")),
            }
        }
        transcript = talk.0;
    }
    counts
}

#[test]
fn fifty_turns_are_extensions_except_at_announced_compactions() {
    assert_eq!(session(1_000_000), BTreeMap::from([("extends", 150)]));
    let small = session(8_000);
    assert_eq!(small["extends"] + small["breaks"], 150);
    assert!((2..25).contains(&small["breaks"]), "{small:?}");
}
