//! What a transcript accepts, and what it says when it does not.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use std::sync::Arc;
use tidegate_message::{
    Author, Body, Content, Entry, EntrySeq, FinishReason, INTERRUPTED_RESULT, Reply, ReplyPart, ResultStatus,
    ToolCall, ToolResult, ToolResults, Transcript, TranscriptError, Usage, UserMessage,
};
use tidegate_policy::{Classification, Label, TurnId};

const TURN: TurnId = TurnId::from_bits(1);
const LABEL: Label = Label::BOTTOM;

fn reply(texts: &[&str], calls: &[&str]) -> Reply {
    let texts = texts.iter().map(|text| ReplyPart::Text((*text).into()));
    let calls = calls.iter().map(|name| ReplyPart::Call {
        provider_id: format!("p_{name}"),
        name: (*name).into(),
        arguments: "{}".into(),
    });
    Reply {
        model: "test:model".parse().unwrap(),
        parts: texts.chain(calls).collect(),
        verbatim: None,
        usage: Usage::default(),
        finish: FinishReason::Stop,
    }
}

fn ok(call: &ToolCall) -> ToolResult {
    ToolResult::text(call, ResultStatus::Ok, LABEL, "done")
}

/// A transcript from a short script: `u` user, `t` text reply, `1` to `9` so many calls, `r` results.
fn transcript(script: &str) -> Transcript {
    let mut transcript = Transcript::default();
    for step in script.chars() {
        match step {
            'u' => drop(
                transcript
                    .push_user(TURN, LABEL, UserMessage::person("hello"))
                    .unwrap(),
            ),
            't' => drop(transcript.push_reply(TURN, LABEL, reply(&["yes"], &[])).unwrap()),
            'r' => {
                let results = transcript.open_calls().map(ok).collect();
                transcript.push_results(TURN, results).unwrap();
            }
            calls => {
                let names = vec!["look"; calls.to_digit(10).unwrap() as usize];
                transcript.push_reply(TURN, LABEL, reply(&[], &names)).unwrap();
            }
        }
    }
    transcript
}

/// The entries of a transcript as the letters of [`transcript`], with their numbers.
fn sketch(entries: &[Arc<Entry>]) -> String {
    let letter = |entry: &Entry| match &entry.body {
        Body::User(message) if message.author == Author::Program => "s".to_owned(),
        Body::User(_) => "u".to_owned(),
        Body::Assistant(message) if message.calls().next().is_none() => "t".to_owned(),
        Body::Assistant(message) => message.calls().count().to_string(),
        Body::Results(_) => "r".to_owned(),
    };
    entries
        .iter()
        .map(|entry| format!("{}:{}", entry.seq, letter(entry)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn wrong_pushes_are_refused_and_say_why() {
    let user = |transcript: &mut Transcript| {
        transcript
            .push_user(TURN, LABEL, UserMessage::person("x"))
            .map(drop)
    };
    let answer =
        |transcript: &mut Transcript| transcript.push_reply(TURN, LABEL, reply(&["x"], &[])).map(drop);
    let results = |transcript: &mut Transcript| transcript.push_results(TURN, vec![]).map(drop);
    let nothing = |transcript: &mut Transcript| {
        transcript
            .push_user(TURN, LABEL, UserMessage::person(""))
            .map(drop)
    };
    type Push = fn(&mut Transcript) -> Result<(), TranscriptError>;
    let cases: [(&str, Push, &str); 9] = [
        (
            "",
            answer,
            "entry 1 cannot be the first: a transcript begins with a user message, also after a cut",
        ),
        (
            "",
            results,
            "entry 1 holds results, but no calls stand right before it",
        ),
        (
            "u",
            results,
            "entry 2 holds results, but no calls stand right before it",
        ),
        (
            "u",
            nothing,
            "entry 2 is a user message that says nothing; it needs at least one part that is not empty text",
        ),
        (
            "ut",
            answer,
            "entry 3 is a model message right after model message 2; a user message or results have to stand \
             between them",
        ),
        (
            "u1r",
            results,
            "entry 4 holds results, but no calls stand right before it",
        ),
        (
            "u2",
            user,
            "entry 3 cannot follow entry 2 before its calls have results: call_2_0, call_2_1; push their results \
             first, or hand in a user message as steering",
        ),
        (
            "u1",
            answer,
            "entry 3 cannot follow entry 2 before its calls have results: call_2_0; push their results first, or \
             hand in a user message as steering",
        ),
        (
            "u2",
            results,
            "entry 3 does not answer the calls of entry 2: no result for call_2_0, call_2_1",
        ),
    ];
    for (script, push, expected) in cases {
        let mut transcript = transcript(script);
        let before = transcript.clone();
        assert_eq!(
            push(&mut transcript).unwrap_err().to_string(),
            expected,
            "after {script:?}"
        );
        assert_eq!(transcript, before, "after {script:?}");
    }
}

#[test]
fn wrong_results_are_named_one_by_one() {
    let mut transcript = transcript("u3");
    let mut results: Vec<ToolResult> = transcript.open_calls().map(ok).collect();
    results.remove(1);
    results.push(results[0].clone());
    results.push(ToolResult {
        call: "call_9_9".into(),
        ..results[0].clone()
    });
    let error = transcript.push_results(TURN, results).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry 3 does not answer the calls of entry 2: no result for call_2_1; more than one result for call_2_0; \
         no such open call: call_9_9"
    );
}

#[test]
fn a_result_under_another_tool_or_provider_id_is_refused() {
    let mut transcript = transcript("u1");
    let call = transcript.open_calls().next().unwrap().clone();
    let error = transcript
        .push_results(
            TURN,
            vec![ToolResult {
                name: "write".into(),
                ..ok(&call)
            }],
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry 3 answers call call_2_0 of look (p_look) as write (p_look); a result repeats its call's tool and \
         provider id"
    );
}

#[test]
fn results_come_in_call_order_whatever_the_order_they_are_handed_in() {
    let mut transcript = transcript("u3");
    let mut results: Vec<ToolResult> = transcript.open_calls().map(ok).collect();
    results.reverse();
    let appended = transcript.push_results(TURN, results).unwrap();
    let Body::Results(results) = &appended[0].body else {
        panic!("results come first")
    };
    let calls: Vec<&str> = results
        .results
        .iter()
        .map(|result| result.call.as_str())
        .collect();
    assert_eq!(calls, ["call_2_0", "call_2_1", "call_2_2"]);
}

#[test]
fn results_carry_the_join_of_their_labels() {
    let mut transcript = transcript("u2");
    let labels = [
        Label::trusted(Classification::Confidential),
        Label::untrusted(Classification::Internal),
    ];
    let results = transcript
        .open_calls()
        .zip(labels)
        .map(|(call, label)| ToolResult { label, ..ok(call) })
        .collect();
    let appended = transcript.push_results(TURN, results).unwrap();
    assert_eq!(appended[0].label, Label::untrusted(Classification::Confidential));
}

#[test]
fn steering_waits_for_the_results_of_open_calls() {
    let mut transcript = transcript("u2");
    let later = TurnId::from_bits(2);
    assert_eq!(
        transcript
            .steer(later, LABEL, UserMessage::person("first"))
            .unwrap(),
        None
    );
    assert_eq!(
        transcript
            .steer(later, LABEL, UserMessage::person("second"))
            .unwrap(),
        None
    );
    assert!(transcript.steer(later, LABEL, UserMessage::person("")).is_err());
    assert_eq!(transcript.waiting().len(), 2);

    let results = transcript.open_calls().map(ok).collect();
    let appended = transcript.push_results(TURN, results).unwrap();
    assert_eq!(sketch(&appended), "3:r 4:u 5:u");
    assert_eq!(
        appended.iter().map(|entry| entry.turn).collect::<Vec<_>>(),
        [TURN, later, later]
    );
    assert!(transcript.waiting().is_empty());

    let appended = transcript
        .steer(later, LABEL, UserMessage::person("third"))
        .unwrap();
    assert_eq!(appended.unwrap().seq, EntrySeq(6));
}

#[test]
fn waiting_messages_survive_a_restart_before_and_after_the_results() {
    let mut before = transcript("u1");
    before
        .steer(TURN, LABEL, UserMessage::person("and then?"))
        .unwrap();
    let stored = serde_json::to_string(before.waiting()).unwrap();

    let mut open = Transcript::from_entries(before.entries().to_vec()).unwrap();
    assert!(
        open.restore_waiting(serde_json::from_str(&stored).unwrap())
            .unwrap()
            .is_empty()
    );
    assert_eq!(open, before);

    let mut closed = transcript("u1r");
    let appended = closed
        .restore_waiting(serde_json::from_str(&stored).unwrap())
        .unwrap();
    assert_eq!(sketch(&appended), "4:u");
}

#[test]
fn empty_texts_are_left_out_and_what_remains_may_be_nothing() {
    let mut transcript = transcript("u");
    let parts = UserMessage::new(
        Author::Person,
        vec![Content::text(""), Content::text("x"), Content::text("")],
    );
    let entry = transcript.push_user(TURN, LABEL, parts).unwrap();
    assert_eq!(entry.body, Body::User(UserMessage::person("x")));

    let entry = transcript.push_reply(TURN, LABEL, reply(&["", ""], &[])).unwrap();
    let Body::Assistant(message) = &entry.body else {
        panic!("a reply")
    };
    assert!(message.parts.is_empty());
    transcript
        .push_user(TURN, LABEL, UserMessage::person("go on"))
        .unwrap();

    let mut thinking = reply(&[""], &["look"]);
    thinking.parts.insert(0, ReplyPart::Reasoning(String::new()));
    let entry = transcript.push_reply(TURN, LABEL, thinking).unwrap();
    let Body::Assistant(message) = &entry.body else {
        panic!("a reply")
    };
    assert_eq!(
        message.parts.len(),
        2,
        "reasoning without text may carry a signature"
    );
}

#[test]
fn an_empty_result_stays_empty() {
    let mut transcript = transcript("u1");
    let results = transcript
        .open_calls()
        .map(|call| ToolResult {
            content: vec![],
            ..ok(call)
        })
        .collect();
    let appended = transcript.push_results(TURN, results).unwrap();
    let Body::Results(ToolResults { results }) = &appended[0].body else {
        panic!("results")
    };
    assert!(results[0].content.is_empty());
}

#[test]
fn repair_answers_an_open_unit_once_and_keeps_known_results() {
    let mut transcript = transcript("u2");
    transcript
        .steer(TURN, LABEL, UserMessage::person("hurry"))
        .unwrap();
    let known = ok(transcript.open_calls().next().unwrap());
    let mut answer = |call: &ToolCall| {
        if call.id == known.call {
            known.clone()
        } else {
            ToolResult::interrupted(call, LABEL)
        }
    };
    let appended = transcript.repair(TURN, &mut answer);
    assert_eq!(sketch(&appended), "3:r 4:u");
    let Body::Results(ToolResults { results }) = &appended[0].body else {
        panic!("results")
    };
    assert_eq!(results[0].status, ResultStatus::Ok);
    assert_eq!(results[1].status, ResultStatus::Unknown);
    assert_eq!(results[1].content, [Content::text(INTERRUPTED_RESULT)]);
    assert_eq!(
        INTERRUPTED_RESULT,
        "the process ended before the result was recorded; it may have happened"
    );
    assert!(transcript.repair(TURN, answer).is_empty());
}

#[test]
fn a_repair_that_answers_the_wrong_call_still_closes_the_right_one() {
    let mut transcript = transcript("u2");
    let stray = ToolResult {
        call: "elsewhere".into(),
        name: "other".into(),
        ..ok(transcript.open_calls().next().unwrap())
    };
    transcript.repair(TURN, |_| stray.clone());
    assert!(!transcript.is_open());
    assert_eq!(common::refusal(transcript.entries(), false), None);
}

#[test]
fn stored_entries_that_break_a_rule_are_named() {
    let good = transcript("u2rtu");
    let with = |change: &dyn Fn(&mut Vec<Arc<Entry>>)| {
        let mut entries = good.entries().to_vec();
        change(&mut entries);
        Transcript::from_entries(entries)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let results = |change: &dyn Fn(&mut Vec<ToolResult>)| {
        let Body::Results(ToolResults { mut results }) = good.entries()[2].body.clone() else {
            panic!("results")
        };
        change(&mut results);
        let entry = Entry::new(EntrySeq(3), TURN, LABEL, Body::Results(ToolResults { results }));
        with(&|entries| entries[2] = Arc::new(Entry::new(entry.seq, TURN, LABEL, entry.body.clone())))
    };
    let renumbered = |seq: u64| {
        with(&|entries| {
            entries[4] = Arc::new(Entry::new(EntrySeq(seq), TURN, LABEL, entries[4].body.clone()))
        })
    };
    let err = |text: &str| Err(text.to_owned());
    assert_eq!(with(&|_| {}), Ok(()));
    assert_eq!(with(&|entries| entries.clear()), Ok(()));
    assert_eq!(
        with(&|entries| entries.truncate(2)),
        Ok(()),
        "the last unit may be open"
    );
    assert_eq!(
        with(&|entries| drop(entries.remove(0))),
        err("entry 2 cannot be the first: a transcript begins with a user message, also after a cut")
    );
    assert_eq!(
        with(&|entries| drop(entries.remove(1))),
        err("entry 3 holds results, but no calls stand right before it")
    );
    assert_eq!(
        with(&|entries| drop(entries.remove(2))),
        err(
            "entry 4 cannot follow entry 2 before its calls have results: call_2_0, call_2_1; push their results first, \
             or hand in a user message as steering"
        )
    );
    assert_eq!(
        with(&|entries| entries.insert(4, Arc::clone(&entries[3]))),
        err("there are two entries 4; numbers are unique in a transcript")
    );
    assert_eq!(
        renumbered(0),
        err("0 is no number of an entry; they go from 1 to 9223372036854775807")
    );
    assert_eq!(
        renumbered(u64::MAX),
        err("18446744073709551615 is no number of an entry; they go from 1 to 9223372036854775807")
    );
    assert_eq!(
        renumbered(1),
        err("there are two entries 1; numbers are unique in a transcript")
    );
    assert_eq!(renumbered(77), Ok(()));
    assert_eq!(
        results(&|results| results.reverse()),
        err(
            "entry 3 has the result of call_2_1 in the place of that of call_2_0; results stand in call order"
        )
    );
    assert_eq!(
        results(&|results| results.clear()),
        err("entry 3 does not answer the calls of entry 2: no result for call_2_0, call_2_1")
    );
    assert_eq!(
        results(&|results| results.extend(results.clone())),
        err("entry 3 does not answer the calls of entry 2: more than one result for call_2_0, call_2_1")
    );
    assert_eq!(
        with(&|entries| {
            entries.push(Arc::new(Entry::new(
                EntrySeq(9),
                TURN,
                LABEL,
                entries[1].body.clone(),
            )));
        }),
        err("entry 9 has a call call_2_0, and so has another one; call ids are unique in a transcript")
    );
}

#[test]
fn a_new_call_never_takes_the_id_of_a_stored_one() {
    let mut entries = transcript("u1r").entries().to_vec();
    for entry in &mut entries {
        let text = serde_json::to_string(entry)
            .unwrap()
            .replace("call_2_0", "call_4_0");
        *entry = Arc::new(serde_json::from_str(&text).unwrap());
    }
    let mut transcript = Transcript::from_entries(entries).unwrap();
    let error = transcript
        .push_reply(TURN, LABEL, reply(&[], &["look"]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry 4 has a call call_4_0, and so has another one; call ids are unique in a transcript"
    );
    transcript.reserve_through(EntrySeq(4));
    transcript.push_reply(TURN, LABEL, reply(&[], &["look"])).unwrap();
}

#[test]
fn cuts_and_replacements_take_whole_units() {
    let ok = |text: &str| Ok(text.to_owned());
    let err = |text: &str| Err(text.to_owned());
    let cut = |script: &str, unit: usize| {
        let mut transcript = transcript(script);
        transcript
            .cut_before(unit)
            .map(|_| sketch(transcript.entries()))
            .map_err(|error| error.to_string())
    };
    assert_eq!(cut("u1rtut", 0), ok("1:u 2:1 3:r 4:t 5:u 6:t"));
    assert_eq!(cut("u1rtut", 3), ok("5:u 6:t"));
    assert_eq!(cut("u1rtut", 5), ok(""));
    assert_eq!(
        cut("u1rtut", 1),
        err("entry 2 cannot be the first: a transcript begins with a user message, also after a cut")
    );
    assert_eq!(
        cut("u1rtut", 6),
        err("there are no units 0 to 6 (end excluded): the transcript has 5, counted from 0")
    );
    assert_eq!(cut("utu1", 2), ok("3:u 4:1"));
    assert_eq!(
        cut("utu1", 4),
        err("the calls of entry 4 are open: their unit can be cut or replaced once they have results")
    );

    let replace = |script: &str, units: std::ops::Range<usize>| {
        let mut transcript = transcript(script);
        let summary = UserMessage::program("what was said before, in short");
        transcript
            .replace_units(units, TURN, LABEL, summary)
            .map(|replacement| {
                format!(
                    "{} instead of {}",
                    sketch(transcript.entries()),
                    sketch(&replacement.removed)
                )
            })
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        replace("u2rtut", 0..3),
        ok("7:s 5:u 6:t instead of 1:u 2:2 3:r 4:t")
    );
    assert_eq!(
        replace("u2rtut", 1..2),
        ok("1:u 7:s 4:t 5:u 6:t instead of 2:2 3:r")
    );
    assert_eq!(
        replace("u2rtut", 0..5),
        ok("7:s instead of 1:u 2:2 3:r 4:t 5:u 6:t")
    );
    assert_eq!(
        replace("u2rtu1", 0..4),
        ok("7:s 6:1 instead of 1:u 2:2 3:r 4:t 5:u")
    );
    assert_eq!(
        replace("ut", 1..1),
        err("units 1 to 1 (end excluded) are none: name at least one to replace")
    );
    assert_eq!(
        replace("u1", 0..2),
        err("the calls of entry 2 are open: their unit can be cut or replaced once they have results")
    );
    assert_eq!(
        replace("ut", 1..3),
        err("there are no units 1 to 3 (end excluded): the transcript has 2, counted from 0")
    );
    let mut backwards = transcript("ut");
    let summary = UserMessage::program("x");
    let range = std::ops::Range { start: 2, end: 1 };
    assert!(matches!(
        backwards.replace_units(range, TURN, LABEL, summary),
        Err(TranscriptError::NoSuchUnits { .. })
    ));
    assert!(matches!(
        backwards.replace_units(0..1, TURN, LABEL, UserMessage::program("")),
        Err(TranscriptError::EmptyMessage { .. })
    ));
}

#[test]
fn a_number_is_not_given_again_after_its_entry_was_cut_away() {
    let mut transcript = transcript("utut");
    transcript
        .replace_units(0..2, TURN, LABEL, UserMessage::program("summary"))
        .unwrap();
    transcript.cut_before(1).unwrap();
    assert_eq!(sketch(transcript.entries()), "3:u 4:t");
    assert_eq!(transcript.next_seq(), EntrySeq(6));
}

#[test]
fn the_last_text_of_a_turn_is_found_behind_calls_and_silence() {
    let mut transcript = transcript("ut");
    let turn = TurnId::from_bits(2);
    transcript
        .push_user(turn, LABEL, UserMessage::person("next"))
        .unwrap();
    assert_eq!(
        transcript.last_text(turn),
        None,
        "the text of another turn does not count"
    );
    transcript
        .push_reply(turn, LABEL, reply(&["let me ", "look"], &["look"]))
        .unwrap();
    let results = transcript.open_calls().map(ok).collect();
    transcript.push_results(turn, results).unwrap();
    transcript.push_reply(turn, LABEL, reply(&[" \n"], &[])).unwrap();
    assert_eq!(transcript.last_text(turn).as_deref(), Some("let me look"));
    assert_eq!(transcript.last_assistant().unwrap().1.text(), " \n");
}

#[test]
fn a_new_call_never_meets_the_id_of_a_stored_one_of_another_form() {
    let stored = transcript("u1r");
    let renamed = |id: &str| {
        let entries = stored.entries().iter().map(|entry| {
            let mut body = entry.body.clone();
            match &mut body {
                Body::Assistant(message) => message.parts.iter_mut().for_each(|part| {
                    if let tidegate_message::AssistantPart::Call(call) = part {
                        call.id = id.into();
                    }
                }),
                Body::Results(results) => results
                    .results
                    .iter_mut()
                    .for_each(|result| result.call = id.into()),
                Body::User(_) => {}
            }
            Arc::new(Entry::new(entry.seq, entry.turn, entry.label, body))
        });
        Transcript::from_entries(entries.collect()).unwrap()
    };
    for (id, is_taken) in [
        ("call_2_0", false),
        ("call_4_0", true),
        ("call_04_0", false),
        ("x", false),
    ] {
        let pushed = renamed(id).push_reply(TURN, LABEL, reply(&[], &["look"]));
        assert_eq!(
            matches!(pushed, Err(TranscriptError::DuplicateCall { .. })),
            is_taken,
            "{id}"
        );
    }
}

#[test]
fn only_the_last_entry_is_taken_back_and_its_number_is_given_again() {
    for (script, seq, left) in [
        ("u", 1, ""),
        ("ut", 2, "1:u"),
        ("ut", 1, "1:u 2:t"),
        ("u1ru", 4, "1:u 2:1 3:r"),
        ("u1r", 3, "1:u 2:1"),
        ("", 1, ""),
    ] {
        let mut transcript = transcript(script);
        let before = transcript.clone();
        let is_last = before.next_seq() == EntrySeq(seq + 1);
        assert_eq!(transcript.take_back(EntrySeq(seq)), is_last, "{script} {seq}");
        assert_eq!(sketch(transcript.entries()), left);
        if is_last {
            assert_eq!(transcript.next_seq(), EntrySeq(seq));
            assert_eq!(
                transcript,
                Transcript::from_entries(transcript.entries().to_vec()).unwrap()
            );
        } else {
            assert_eq!(transcript, before);
        }
    }
}
