//! A turn from own data, without the runtime: own history, own memory, own wire.
//!
//! `cargo run -p tidegate-prompt --example turn`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use tidegate_message::{
    Author, Content, FinishReason, Reply, ReplyPart, Transcript, Usage, UserMessage, joined_text,
};
use tidegate_policy::{Classification, Label, TurnId};
use tidegate_prompt::{
    CompactionSettings, CompactionStep, Fact, Need, Note, NoteKind, Prices, ProjectFile, Recalled,
    SessionDate, SystemPrompt, SystemPromptInput, Templates, TurnBuilder, TurnInput, Window,
};

fn main() -> Result<(), Box<dyn Error>> {
    let templates = Templates::builtin()?;

    // Once a session: the system prompt, to be stored and replayed.
    let project = ProjectFile::new(
        &templates,
        "AGENTS.md",
        "---\nowner: harbour\n---\nMetric units, please.",
    )?;
    let owner = Label::trusted(Classification::Internal);
    let system_prompt = SystemPrompt::build(
        &templates,
        &SystemPromptInput {
            tool_guidance: &[],
            files: false,
            model_guidance: None,
            environment: &[Fact::new("system", "Linux")],
            system_message: Some(("You work for the harbour office.", owner)),
            project_file: project.as_ref().map(|file| (file, owner)),
            skills: &[],
            date: SessionDate::new(2026, 11, 29)?,
        },
    )?;

    // What was said before: from your own database, say. Long enough for a small window to be compacted.
    let history = history()?;

    // One turn: answer what the builder asks for.
    let mut builder = TurnBuilder::begin(
        &templates,
        history,
        TurnInput {
            author: Author::Person,
            turn: TurnId::from_bits(2),
            content: vec![Content::text("When is high water tomorrow?")],
            label: Label::BOTTOM,
            notes: vec![Note::plain(NoteKind::ChannelSwitch {
                from: "telegram".into(),
                to: "web".into(),
            })],
            reminders: Vec::new(),
            system_prompt,
            tools_tokens: 0,
            window: Window::new(4_000),
            cooling_down: false,
            prices: Prices::default(),
        },
    )?;
    while let Some(need) = builder.need() {
        match need {
            Need::Compact { size } => {
                println!("compact: the request has about {} tokens", size.tokens);
                let mut compaction = builder.compaction(CompactionSettings::default())?;
                while let CompactionStep::Summarise(request) = compaction.step() {
                    println!(
                        "summarise, label {}: {} characters",
                        request.label,
                        request.text.len()
                    );
                    // Here a small model would be asked.
                    compaction.summarised("## Goal\nWatch the tides at the gate.")?;
                }
                match compaction.finish() {
                    Ok(outcome) => builder.compacted(outcome, None)?,
                    Err(error) => builder.compaction_failed(error)?,
                }
            }
            Need::Hooks { .. } => builder.hooked(Vec::new())?,
            Need::Recall { query } => {
                println!("recall: {query}");
                builder.recalled(vec![Recalled {
                    memory: None,
                    origin: "tide table 2026".into(),
                    text: "High water at the gate: 2026-11-30 06:12 and 18:40.".into(),
                    label: Label::trusted(Classification::Internal),
                }])?;
            }
            Need::Store { entry } => {
                println!("store: {} bytes", serde_json::to_string(&**entry)?.len());
                builder.stored()?;
            }
        }
    }
    let context = builder.finish()?;

    println!(
        "\n== label {}, {} messages",
        context.label,
        context.messages().len()
    );
    println!("== system\n{}", context.active_system_prompt.text);
    for entry in context.messages() {
        if let tidegate_message::Body::User(message) = &entry.body {
            println!(
                "== user, entry {}\n{}",
                entry.seq,
                joined_text(message.api_content())
            );
        }
    }
    Ok(())
}

fn history() -> Result<Transcript, Box<dyn Error>> {
    let turn = TurnId::from_bits(1);
    let mut transcript = Transcript::default();
    for day in 1..=20 {
        let question = format!(
            "Log the water levels of day {day}. {}",
            "They rose and fell. ".repeat(20)
        );
        transcript.push_user(turn, Label::BOTTOM, UserMessage::person(question))?;
        let reply = Reply {
            model: "local:small".parse()?,
            parts: vec![ReplyPart::Text("Logged. ".repeat(50))],
            verbatim: None,
            usage: Usage::default(),
            finish: FinishReason::Stop,
        };
        transcript.push_reply(turn, Label::BOTTOM, reply)?;
    }
    Ok(transcript)
}
