use crate::made::{Auxiliary, PUBLIC, SECRET, TURN, Talk, compact, drive, image, input, summary, templates};
use crate::wire::refusal;
use tidegate_message::{Author, Body, Content, ReplyPart, Usage, UserMessage};
use tidegate_policy::Label;
use tidegate_prompt::{
    Compaction, CompactionCause, CompactionInput, CompactionOutcome, CompactionStep, Cooldown, LargestPart,
    Progress, PromptError, SummaryOrigin, TooLarge,
};

fn too_large(result: Result<CompactionOutcome, PromptError>) -> TooLarge {
    match result {
        Err(PromptError::TooLarge(too_large)) => *too_large,
        other => panic!("{other:?}"),
    }
}

fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

/// What stands in a transcript: p a person, n the program, S a summary, a an answer, c calls, r results.
fn shape(outcome: &CompactionOutcome) -> String {
    outcome
        .transcript
        .entries()
        .iter()
        .map(|entry| match &entry.body {
            Body::User(message) => match message.author {
                Author::Person => 'p',
                Author::Program => 'n',
                Author::Summary => 'S',
            },
            Body::Assistant(message) if message.calls().next().is_some() => 'c',
            Body::Assistant(_) => 'a',
            Body::Results(_) => 'r',
        })
        .collect()
}

#[test]
fn progress_is_fewer_messages_or_a_twentieth_of_the_tokens() {
    for (messages, tokens, is_made) in [
        ((220, 220), (288_000, 183_000), true),
        ((220, 220), (100_000, 95_000), true),
        ((220, 220), (100_000, 95_001), false),
        ((220, 219), (100_000, 100_000), true),
        ((220, 219), (100_000, 120_000), true),
        ((220, 220), (100_000, 100_000), false),
        ((220, 221), (100_000, 50_000), true),
        ((0, 0), (0, 0), false),
        ((1, 1), (u64::MAX, u64::MAX), false),
    ] {
        let progress = Progress {
            messages_before: messages.0,
            messages_after: messages.1,
            tokens_before: tokens.0,
            tokens_after: tokens.1,
        };
        assert_eq!(progress.is_made(), is_made, "{progress:?}");
    }
}

#[test]
fn failures_cool_down_ever_longer() {
    let mut cooldown = Cooldown::default();
    assert_eq!(cooldown.remaining_ms(0), 0);
    for (failures, seconds) in [(1, 60), (2, 300), (3, 900), (4, 900)] {
        cooldown = cooldown.failed(1_000_000);
        assert_eq!(cooldown.failures, failures);
        assert_eq!(cooldown.remaining_ms(1_000_000), seconds * 1_000);
        assert_eq!(cooldown.remaining_ms(1_001_000), (seconds - 1) * 1_000);
        assert_eq!(
            cooldown.remaining_ms(1_000_000 + i64::try_from(seconds).unwrap() * 1_000),
            0
        );
        // The clock was set back.
        assert_eq!(cooldown.remaining_ms(0), seconds * 1_000);
    }
    let stored = serde_json::to_string(&cooldown).unwrap();
    assert_eq!(serde_json::from_str::<Cooldown>(&stored).unwrap(), cooldown);
}

#[test]
fn as_many_messages_of_fewer_tokens_are_progress() {
    let mut talk = Talk::default();
    talk.person("go");
    for _ in 0..109 {
        talk.calls("read_file", "{}", &words(2_600));
    }
    talk.says("done");
    assert_eq!(talk.0.entries().len(), 220);
    let outcome = compact(input(&talk.0, 380_000), &summary()).unwrap();
    assert_eq!(outcome.progress.messages_after, 220);
    assert_eq!((outcome.summary.clone(), outcome.passes), (None, 1));
    assert!(
        outcome.stubs >= 97 && outcome.below_threshold,
        "{:?}",
        outcome.progress
    );
}

#[test]
fn the_first_three_the_last_twenty_and_the_last_message_of_a_person_stay() {
    let mut talk = Talk::default();
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    let outcome = compact(input(&talk.0, 10_000), &summary()).unwrap();
    assert_eq!(shape(&outcome), format!("papS{}", "pa".repeat(10)));
    assert_eq!(outcome.summary, Some(SummaryOrigin::Model));
    assert_eq!(outcome.transcript.entries()[..3], talk.0.entries()[..3]);
    assert_eq!(outcome.transcript.entries()[4..], talk.0.entries()[80..]);
    assert_eq!(outcome.removed, talk.0.entries()[3..80]);
    assert_eq!(outcome.progress.messages_before, 100);
    assert_eq!(outcome.progress.messages_after, 24);

    // Far from the end, too.
    let mut talk = Talk::default();
    for turn in 0..20 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says("answer");
    }
    talk.person("The last one.");
    for _ in 0..40 {
        talk.calls("read_file", &format!("{{\"x\": \"{}\"}}", words(100)), "short");
    }
    let outcome = compact(input(&talk.0, 6_000), &summary()).unwrap();
    assert!(
        outcome
            .transcript
            .entries()
            .iter()
            .any(|entry| entry.body == Body::User(UserMessage::person("The last one."))),
        "{}",
        shape(&outcome)
    );
    assert_eq!(refusal(outcome.transcript.entries(), false), None);
}

#[test]
fn nothing_of_the_current_turn_is_summed_up() {
    let mut talk = Talk::default();
    for turn in 0..20 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    let current = talk.person("Do it.").seq;
    for _ in 0..30 {
        talk.calls("read_file", &format!("{{\"x\": \"{}\"}}", words(50)), &words(100));
    }
    let mut input = input(&talk.0, 7_000);
    input.current = Some(current);
    let outcome = compact(input, &summary()).unwrap();
    let shape = shape(&outcome);
    assert!(shape.ends_with(&format!("p{}", "cr".repeat(30))), "{shape}");
    assert!(shape.contains('S') && outcome.stubs > 0, "{shape}");
    assert!(
        outcome
            .transcript
            .entries()
            .iter()
            .any(|entry| entry.seq == current)
    );
}

#[test]
fn a_few_huge_messages_are_enough_to_compact_and_images_are_not_huge() {
    let mut talk = Talk::default();
    talk.person("go");
    talk.calls("read_file", "{}", &words(60_000));
    talk.says("It is long.");
    talk.person("And now?");
    let outcome = compact(input(&talk.0, 64_000), &summary()).unwrap();
    assert!(
        outcome.below_threshold && outcome.progress.tokens_after < 2_000,
        "{:?}",
        outcome.progress
    );

    let mut talk = Talk::default();
    talk.0
        .push_user(
            TURN,
            PUBLIC,
            UserMessage::new(Author::Person, vec![image(5_000_000)]),
        )
        .unwrap();
    let size = tidegate_prompt::estimate_request(talk.0.entries(), Default::default(), &Default::default());
    assert!(size.tokens < 2_000, "{size:?}");
}

#[test]
fn what_is_too_large_by_itself_is_named() {
    let huge = |fill: &dyn Fn(&mut Talk)| {
        let mut talk = Talk::default();
        talk.person("go");
        fill(&mut talk);
        talk
    };
    let output = huge(&|talk| talk.calls("read_\u{1b}file", "{}", &words(200_000)));
    let arguments = huge(&|talk| talk.calls("write_file", &words(200_000), "ok"));
    let message = huge(&|talk| drop(talk.person(&words(200_000))));
    let mut errors = Vec::new();
    for (talk, fixed) in [
        (&output, (100, 50)),
        (&arguments, (100, 50)),
        (&message, (100, 50)),
        (&message, (900_000, 50)),
        (&message, (10, 900_000)),
    ] {
        for auxiliary in [summary(), Auxiliary::Fails] {
            let mut input = input(&talk.0, 64_000);
            (input.fixed.system, input.fixed.tools) = fixed;
            errors.push(too_large(compact(input, &auxiliary)).to_string());
        }
    }
    errors.dedup();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn compaction_without_progress_ends_with_what_is_largest() {
    let mut talk = Talk::default();
    talk.person(&words(900));
    let error = too_large(compact(input(&talk.0, 1_300), &summary()));
    assert_eq!(error.largest, LargestPart::UserMessage(talk.0.entries()[0].seq));
    assert!(error.fits() && error.passes == 0);
    insta::assert_snapshot!(error, @"compaction gained too little in 0 passes: the request has about 1054 tokens of the 1300 that the model takes, and the largest part is user message 1 with about 904; send less at once, or give it as a file; or use a model with a larger window");

    let empty = CompactionInput {
        transcript: Default::default(),
        ..input(&talk.0, 1_300)
    };
    assert_eq!(
        too_large(compact(empty, &summary())).largest,
        LargestPart::SystemPrompt
    );
}

#[test]
fn a_failing_or_silent_model_leads_to_a_summary_without_one_and_is_not_asked_twice() {
    let mut talk = Talk::default();
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    for (auxiliary, expected) in [
        (Auxiliary::Fails, "nobody answers"),
        (
            Auxiliary::Says(" \n".into()),
            "the auxiliary model gave an empty summary",
        ),
    ] {
        let outcome = compact(input(&talk.0, 10_000), &auxiliary).unwrap();
        assert_eq!(
            outcome.summary,
            Some(SummaryOrigin::Plain {
                reason: expected.into()
            })
        );
        assert!(outcome.below_threshold);
    }
    let mut compaction = Compaction::begin(&templates(), input(&talk.0, 1_200)).unwrap();
    compaction.summary_failed("nobody answers").unwrap();
    assert_eq!(compaction.step(), CompactionStep::Done);
}

#[test]
fn a_summary_without_end_is_cut() {
    let mut talk = Talk::default();
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    for text in [
        "word ".repeat(1_000_000),
        "你".repeat(1_000_000),
        "👩‍👩‍👧‍👦".repeat(100_000),
    ] {
        let outcome = compact(input(&talk.0, 10_000), &Auxiliary::Says(text)).unwrap();
        assert!(outcome.below_threshold, "{:?}", outcome.progress);
        assert_eq!(outcome.passes, 1);
    }
}

#[test]
fn a_request_for_a_summary_is_cut_down_until_it_fits() {
    for (messages, tokens) in [(60, 3_000), (3_000, 100), (9_000, 3)] {
        let mut talk = Talk::default();
        for turn in 0..messages / 2 {
            talk.person(&format!("question {turn} {}", words(tokens)));
            talk.says(&words(tokens));
        }
        let mut input = input(&talk.0, 30_000);
        input.cause = CompactionCause::Manual;
        let compaction = Compaction::begin(&templates(), input).unwrap();
        let CompactionStep::Summarise(request) = compaction.step() else {
            panic!("no summary is asked for");
        };
        let size = tidegate_prompt::estimate_text(&request.text);
        assert!(size < 40_000, "{messages} x {tokens}: {size}");
        assert_eq!(
            request.left_out > 0,
            messages > 60,
            "{messages} x {tokens}: {}",
            request.left_out
        );
        assert!(request.text.contains("question 10 "), "{messages} x {tokens}");
    }
}

#[test]
fn an_overflow_allows_one_pass_and_counts_as_a_full_window() {
    let mut talk = Talk::default();
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(40)));
        talk.says(&words(40));
    }
    // By our own estimate, the request has half of the window.
    let mut input = input(&talk.0, 9_000);
    input.cause = CompactionCause::Overflow;
    let outcome = compact(input, &summary()).unwrap();
    assert_eq!((outcome.passes, outcome.progress.tokens_before), (1, 9_000));
    assert!(outcome.progress.tokens_after < 4_500, "{:?}", outcome.progress);
}

#[test]
fn a_count_of_the_provider_corrects_the_estimate_before_and_after() {
    let mut talk = Talk::default();
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    talk.person("x");
    let usage = Usage {
        uncached: 40_000,
        ..Usage::default()
    };
    talk.reply(vec![ReplyPart::Text("y".into())], usage);
    let outcome = compact(input(&talk.0, 40_000), &summary()).unwrap();
    assert_eq!(outcome.progress.tokens_before, 40_000);
    // A quarter of the messages is left, so about a quarter of what was counted.
    assert!(
        (8_000..14_000).contains(&outcome.progress.tokens_after),
        "{:?}",
        outcome.progress
    );
}

#[test]
fn a_call_without_a_result_at_the_end_stays_open() {
    let mut talk = Talk::default();
    for turn in 0..30 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    talk.person("go");
    let call = ReplyPart::Call {
        provider_id: "p".into(),
        name: "read_file".into(),
        arguments: "{}".into(),
    };
    talk.reply(vec![call], Usage::default());
    let outcome = compact(input(&talk.0, 6_000), &summary()).unwrap();
    assert!(outcome.transcript.is_open());
    assert_eq!(refusal(outcome.transcript.entries(), true), None);
}

#[test]
fn a_stub_is_not_made_of_a_stub() {
    let mut talk = Talk::default();
    talk.person("go");
    for _ in 0..30 {
        talk.calls(
            "read_file",
            r#"{"path": "a very long path to some file that is not here any more.md"}"#,
            &words(500),
        );
    }
    let first = compact(input(&talk.0, 16_000), &summary()).unwrap();
    assert!(first.stubs > 10);
    let mut again = input(&first.transcript, 16_000);
    again.cause = CompactionCause::Manual;
    again.settings.max_passes = 1;
    let second = compact(again, &summary());
    if let Ok(second) = second {
        for entry in &second.added {
            if let Body::Results(results) = &entry.body {
                for result in &results.results {
                    let text = result.content[0].as_text().unwrap();
                    assert!(text.contains("2000 characters"), "{text}");
                }
            }
        }
    }
}

#[test]
fn labels_rise_over_chained_summaries_and_never_fall() {
    let mut talk = Talk::default();
    talk.person("go");
    talk.says("yes");
    talk.person("on");
    talk.says("yes");
    talk.0
        .push_user(TURN, SECRET, UserMessage::person("a secret"))
        .unwrap();
    talk.says("yes");
    for _ in 0..4 {
        for turn in 0..30 {
            talk.person(&format!("question {turn} {}", words(100)));
            talk.says(&words(100));
        }
        let outcome = compact(input(&talk.0, 7_000), &summary()).unwrap();
        let summaries: Vec<Label> = outcome
            .transcript
            .entries()
            .iter()
            .filter(|entry| matches!(&entry.body, Body::User(message) if message.author == Author::Summary))
            .map(|entry| entry.label)
            .collect();
        // One summary, brought up to date each time.
        assert_eq!(summaries, [SECRET]);
        assert_eq!(outcome.label, SECRET);
        talk = Talk(outcome.transcript);
    }
}

#[test]
fn answers_that_were_not_asked_are_refused() {
    let mut talk = Talk::default();
    talk.person("go");
    let mut compaction = Compaction::begin(&templates(), input(&talk.0, 7_000)).unwrap();
    assert!(matches!(
        compaction.summarised("x"),
        Err(PromptError::Misuse { .. })
    ));
    assert!(matches!(
        compaction.summary_failed("x"),
        Err(PromptError::Misuse { .. })
    ));
    for turn in 0..50 {
        talk.person(&format!("question {turn} {}", words(100)));
        talk.says(&words(100));
    }
    let waiting = Compaction::begin(&templates(), input(&talk.0, 7_000)).unwrap();
    assert!(matches!(waiting.finish(), Err(PromptError::Misuse { .. })));
}

#[test]
fn two_compactions_and_a_restart_between_them_stay_valid() {
    let mut talk = Talk::default();
    for turn in 0..40 {
        talk.person(&format!("question {turn}"));
        talk.calls_all(
            "read_file",
            &[("{}", vec![Content::text(words(200))]), ("{}", vec![image(10)])],
            PUBLIC,
        );
        talk.says("answer");
    }
    let first = compact(input(&talk.0, 20_000), &summary()).unwrap();
    // As a store would give it back.
    let entries: Vec<_> = first
        .transcript
        .entries()
        .iter()
        .map(|entry| {
            std::sync::Arc::new(serde_json::from_str(&serde_json::to_string(&**entry).unwrap()).unwrap())
        })
        .collect();
    let mut transcript = tidegate_message::Transcript::from_entries(entries).unwrap();
    transcript.reserve_through(first.transcript.next_seq());
    assert_eq!(transcript.entries(), first.transcript.entries());
    let mut talk = Talk(transcript);
    for _ in 0..20 {
        talk.person("more");
        talk.calls("read_file", "{}", &words(400));
        talk.says("answer");
    }
    let compaction = Compaction::begin(&templates(), input(&talk.0, 12_000)).unwrap();
    let second = drive(compaction, &summary()).unwrap();
    assert_eq!(refusal(second.transcript.entries(), false), None);
}
