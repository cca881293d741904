//! What planning a compaction and assembling a turn cost.
//!
//! Planning is all that compaction does before the auxiliary model answers: estimating every message, choosing what to
//! shorten, writing stubs, writing the request for a summary. Assembling is a turn from the user's text to its context,
//! with one recalled memory and one note; the transcript is handed over, since copying it is not what is measured.
#![expect(clippy::unwrap_used, reason = "a benchmark ends by panicking")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use tidegate_message::{
    Author, Content, FinishReason, Reply, ReplyPart, ResultStatus, ToolResult, Transcript, Usage, UserMessage,
};
use tidegate_policy::{Label, TurnId};
use tidegate_prompt::{
    Compaction, CompactionCause, CompactionInput, CompactionSettings, CompactionStep, Fixed, Need, Note,
    NoteKind, Prices, Recalled, SystemPrompt, Templates, TurnBuilder, TurnContext, TurnInput, Window,
};

/// How often each is measured; the median counts.
const REPEATS: usize = 51;
/// Messages in the transcript that is planned over.
const MANY: usize = 10_000;
/// Milliseconds that planning may take.
const PLANNING_LIMIT: f64 = 50.0;
/// How much longer a turn may take at 400 messages than at 10.
const RATIO_LIMIT: f64 = 2.0;

const TURN: TurnId = TurnId::from_bits(1);

fn main() {
    let templates = Templates::builtin().unwrap();
    println!("prompt, release build, median of {REPEATS}\n");
    let all_of_it = Window {
        tokens: 3_000_000,
        threshold: 1_000_000,
    };
    let plans = [
        ("a summary", talk(MANY, 1_024, "word "), Window::new(500_000)),
        ("a summary, Chinese", talk(MANY, 341, "潮"), Window::new(500_000)),
        ("a summary, results", results(MANY, 1_024), Window::new(100_000)),
        ("stubs for all results", results(MANY, 1_024), all_of_it),
    ];
    for (name, transcript, window) in plans {
        let time = median(
            || transcript.clone(),
            |transcript| plan(&templates, transcript, window),
        );
        let asks = matches!(
            plan(&templates, transcript.clone(), window).step(),
            CompactionStep::Summarise(_)
        );
        assert_eq!(asks, name.starts_with("a summary"), "{name} is something else");
        let milliseconds = time.as_secs_f64() * 1_000.0;
        let verdict = if milliseconds < PLANNING_LIMIT {
            "within"
        } else {
            "OVER"
        };
        println!(
            "planning over {MANY} messages of 1 KB, {name:<25} {milliseconds:>8.2} ms  {verdict} {PLANNING_LIMIT} ms"
        );
    }
    println!();
    let times = [10, 400].map(|messages| {
        let transcript = talk(messages, 1_024, "word ");
        let time = median(
            || transcript.clone(),
            |transcript| assemble(&templates, transcript),
        );
        println!(
            "assembling a turn after {messages:>3} messages {:>46.1} us",
            micros(time)
        );
        time
    });
    let [few, many] = times.map(|time| time.as_secs_f64());
    let ratio = many / few;
    let verdict = if ratio < RATIO_LIMIT { "within" } else { "OVER" };
    println!("ratio {ratio:>73.2} x   {verdict} {RATIO_LIMIT} x");
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000_000.0
}

fn median<T, R>(mut make: impl FnMut() -> T, mut measured: impl FnMut(T) -> R) -> Duration {
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let input = make();
            let start = Instant::now();
            let result = measured(input);
            let time = start.elapsed();
            drop(black_box(result));
            time
        })
        .collect();
    times.sort_unstable();
    times.get(REPEATS / 2).copied().unwrap_or_default()
}

fn reply(parts: Vec<ReplyPart>, usage: Usage) -> Reply {
    Reply {
        model: "local:small".parse().unwrap(),
        parts,
        verbatim: None,
        usage,
        finish: FinishReason::Stop,
    }
}

/// Persons and answers by turns, each of about `characters`. The last answer was counted.
fn talk(messages: usize, characters: usize, word: &str) -> Transcript {
    let mut transcript = Transcript::default();
    let text: String = word.chars().cycle().take(characters).collect();
    for number in 0..messages / 2 {
        transcript
            .push_user(
                TURN,
                Label::BOTTOM,
                UserMessage::person(format!("{number} {text}")),
            )
            .unwrap();
        let usage = Usage {
            uncached: 1_000 + number as u64,
            ..Usage::default()
        };
        let usage = if messages < MANY { usage } else { Usage::default() };
        transcript
            .push_reply(
                TURN,
                Label::BOTTOM,
                reply(vec![ReplyPart::Text(text.clone())], usage),
            )
            .unwrap();
    }
    transcript
}

/// Calls and results by turns.
fn results(messages: usize, characters: usize) -> Transcript {
    let mut entries = Transcript::default();
    entries
        .push_user(TURN, Label::BOTTOM, UserMessage::person("go"))
        .unwrap();
    for number in 0..messages / 2 {
        let call = ReplyPart::Call {
            provider_id: format!("p{number}"),
            name: "read_file".into(),
            arguments: format!("{{\"path\": \"notes/{number}.md\"}}"),
        };
        entries
            .push_reply(TURN, Label::BOTTOM, reply(vec![call], Usage::default()))
            .unwrap();
        let results = entries
            .open_calls()
            .map(|call| ToolResult::text(call, ResultStatus::Ok, Label::BOTTOM, "x".repeat(characters)))
            .collect();
        entries.push_results(TURN, results).unwrap();
    }
    entries
}

fn plan(templates: &Templates, transcript: Transcript, window: Window) -> Compaction {
    Compaction::begin(
        templates,
        CompactionInput {
            transcript,
            turn: TURN,
            current: None,
            fixed: Fixed {
                system: 1_000,
                tools: 2_000,
            },
            window,
            cause: CompactionCause::Threshold,
            settings: CompactionSettings::default(),
        },
    )
    .unwrap()
}

/// From the user's text to the whole context. It is given back, so that dropping the transcript is not measured.
fn assemble(templates: &Templates, transcript: Transcript) -> TurnContext {
    let input = TurnInput {
        author: Author::Person,
        turn: TURN,
        content: vec![Content::text("What is next?")],
        label: Label::BOTTOM,
        notes: vec![Note::plain(NoteKind::Introduction {
            channel: "web".to_owned(),
        })],
        reminders: Vec::new(),
        system_prompt: SystemPrompt {
            text: "You help. ".repeat(400),
            label: Label::BOTTOM,
            skills_left_out: Vec::new(),
        },
        tools_tokens: 2_000,
        window: Window::new(1_000_000),
        cooling_down: false,
        prices: Prices::default(),
    };
    let mut builder = TurnBuilder::begin(templates, transcript, input).unwrap();
    builder.hooked(Vec::new()).unwrap();
    let recalled = Recalled {
        memory: None,
        origin: "notes/plan.md".to_owned(),
        text: "The gate opens at six.".to_owned(),
        label: Label::BOTTOM,
    };
    builder.recalled(vec![recalled]).unwrap();
    assert!(matches!(builder.need(), Some(Need::Store { .. })));
    builder.stored().unwrap();
    builder.finish().unwrap()
}
