//! Whatever was said and however small the window: what compaction makes is valid and keeps the request.

use crate::made::{Auxiliary, PUBLIC, TURN, Talk, drive, image, templates};
use crate::wire::refusal;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tidegate_message::{Author, Body, Content, EntrySeq, UserMessage};
use tidegate_policy::{Classification, Label};
use tidegate_prompt::{
    Compaction, CompactionCause, CompactionInput, CompactionSettings, CurrentMessage, Fixed, PromptError,
    Window, compose_user_api_content, escape_block, reanchor_current_turn_user_idx,
};

#[derive(Clone, Debug)]
enum Said {
    Person(String, u8),
    Image,
    Program(String),
    Answer(String),
    Calls(Vec<(String, usize, bool)>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("hello".to_owned()),
        Just("你好🦀 </summary> {{ x }}".to_owned()),
        (1..400_usize).prop_map(|times| "word ".repeat(times)),
        (1..400_usize).prop_map(|times| "潮汐".repeat(times)),
        ".{1,40}".prop_map(|text: String| format!("x{text}")),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let size = prop_oneof![4 => 0..50_usize, 3 => 100..400_usize, 1 => 2_000..20_000_usize];
    let call = (text(), size, prop::bool::weighted(0.1));
    prop_oneof![
        4 => (text(), 0..4_u8).prop_map(|(text, level)| Said::Person(text, level)),
        1 => Just(Said::Image),
        1 => text().prop_map(Said::Program),
        4 => text().prop_map(Said::Answer),
        5 => prop::collection::vec(call, 1..4).prop_map(Said::Calls),
    ]
}

fn say(talk: &mut Talk, said: &Said) {
    let last = talk.0.entries().last().map(|entry| entry.body.clone());
    match said {
        Said::Person(text, level) => {
            let label = Label::trusted(Classification::ALL[usize::from(*level)]);
            talk.0.push_user(TURN, label, UserMessage::person(text)).unwrap();
        }
        Said::Image => {
            let message = UserMessage::new(Author::Person, vec![Content::text("look"), image(9_000)]);
            talk.0.push_user(TURN, PUBLIC, message).unwrap();
        }
        Said::Program(text) => drop(
            talk.0
                .push_user(TURN, PUBLIC, UserMessage::program(text))
                .unwrap(),
        ),
        Said::Answer(_) | Said::Calls(_) if matches!(last, None | Some(Body::Assistant(_))) => {}
        Said::Answer(text) => drop(talk.says(text)),
        Said::Calls(calls) => {
            let calls: Vec<(&str, Vec<Content>)> = calls
                .iter()
                .map(|(arguments, size, has_image)| {
                    let mut content = vec![Content::text("潮x ".repeat(*size))];
                    content.extend(has_image.then(|| image(1_000)));
                    (arguments.as_str(), content)
                })
                .collect();
            talk.calls_all("read_file", &calls, PUBLIC);
        }
    }
}

fn settings() -> impl Strategy<Value = CompactionSettings> {
    (0..5_usize, 0..25_usize, 0..4_u32).prop_map(|(protect_first, protect_last, max_passes)| {
        CompactionSettings {
            protect_first,
            protect_last,
            max_passes,
            ..CompactionSettings::default()
        }
    })
}

fn auxiliary() -> impl Strategy<Value = Auxiliary> {
    prop_oneof![
        Just(Auxiliary::Fails),
        text().prop_map(Auxiliary::Says),
        Just(Auxiliary::Says("潮".repeat(90_000)))
    ]
}

fn cause() -> impl Strategy<Value = CompactionCause> {
    prop_oneof![
        3 => Just(CompactionCause::Threshold),
        1 => Just(CompactionCause::Overflow),
        1 => Just(CompactionCause::Manual)
    ]
}

fn seqs(talk: &Talk) -> BTreeSet<EntrySeq> {
    talk.0.entries().iter().map(|entry| entry.seq).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chained_compactions_stay_valid_keep_the_request_and_end(
        rounds in prop::collection::vec((prop::collection::vec(said(), 1..40), cause(), auxiliary()), 1..5),
        window in prop_oneof![0..500_u64, 500..20_000_u64, Just(1_000_000)],
        settings in settings(),
        system in prop_oneof![Just(10_u64), 0..2_000_u64],
    ) {
        let mut talk = Talk::default();
        talk.person("first");
        for (number, (all, cause, auxiliary)) in rounds.iter().enumerate() {
            all.iter().for_each(|said| say(&mut talk, said));
            let request = format!("current request {number}");
            let current = talk.person(&request);
            // What the turn has done so far.
            if number % 2 == 1 {
                talk.calls("read_file", "{}", &"tide ".repeat(200));
            }
            let before = Label::join_all(talk.0.entries().iter().map(|entry| entry.label));
            let input = CompactionInput {
                transcript: talk.0.clone(),
                turn: TURN,
                current: Some(current.seq),
                fixed: Fixed { system, tools: 10 },
                window: Window::new(window),
                cause: *cause,
                settings,
            };
            let compaction = Compaction::begin(&templates(), input.clone()).unwrap();
            let outcome = match drive(compaction, auxiliary) {
                Ok(outcome) => outcome,
                Err(PromptError::TooLarge(too_large)) => {
                    prop_assert!(too_large.passes <= settings.max_passes.max(1));
                    continue;
                }
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            };
            let entries = outcome.transcript.entries();
            prop_assert_eq!(refusal(entries, false), None);
            prop_assert!(outcome.progress.is_made());
            prop_assert!(outcome.progress.tokens_after < window);
            prop_assert!(outcome.passes <= settings.max_passes.max(1));
            prop_assert_eq!(outcome.progress.messages_after, entries.len());

            // The current request is there as it was, is found, and is the last that a person wrote.
            let raw = [Content::text(&request)];
            let anchor = CurrentMessage { turn: TURN, raw: &raw, composed: None };
            let found = reanchor_current_turn_user_idx(entries, None, anchor);
            prop_assert_eq!(found.map(|index| &entries[index]), Some(&current));
            let last = entries.iter().rev().find(|entry| {
                matches!(&entry.body, Body::User(message) if message.author == Author::Person)
            });
            prop_assert_eq!(last, Some(&current));

            // Nothing became less secret, and what is told as removed and added is so.
            prop_assert_eq!(Label::join_all(entries.iter().map(|entry| entry.label)), before);
            let (old, new) = (seqs(&talk), seqs(&Talk(outcome.transcript.clone())));
            let told: BTreeSet<EntrySeq> = outcome.removed.iter().map(|entry| entry.seq).collect();
            prop_assert_eq!(old.difference(&new).copied().collect::<BTreeSet<_>>(), told);
            let told: BTreeSet<EntrySeq> = outcome.added.iter().map(|entry| entry.seq).collect();
            prop_assert_eq!(new.difference(&old).copied().collect::<BTreeSet<_>>(), told);

            // The same again gives the same.
            let again = drive(Compaction::begin(&templates(), input).unwrap(), auxiliary).unwrap();
            prop_assert_eq!(&again, &outcome);
            talk = Talk(outcome.transcript);
        }
    }

    #[test]
    fn what_a_user_wrote_comes_first_and_no_block_is_closed_by_what_is_in_it(
        message in ".{1,60}",
        recalled in "(<|/|memory|>|&|;|\\{\\{|.){0,40}",
    ) {
        let item = crate::texts::memory("a.md", &recalled, PUBLIC);
        let content = [Content::text(&message)];
        let composed = compose_user_api_content(&templates(), &content, &[item], &[], &[]).unwrap();
        let sidecar = composed.sidecar.unwrap();
        let text = sidecar[0].as_text().unwrap();
        let blocks = text.strip_prefix(&format!("{message}\n\n")).unwrap();
        prop_assert_eq!(blocks.matches('<').count(), 4);
        prop_assert!(blocks.contains(&*escape_block(recalled.trim())));
    }
}
