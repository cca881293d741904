//! Transcripts to test with.

use std::sync::Arc;
use tidegate_message::{
    Content, Data, Entry, FinishReason, Reply, ReplyPart, ResultStatus, ToolResult, Transcript, Usage,
    UserMessage,
};
use tidegate_policy::{Classification, Label, TurnId};
use tidegate_prompt::{
    Compaction, CompactionCause, CompactionInput, CompactionOutcome, CompactionSettings, CompactionStep,
    Fixed, PromptError, Templates, Window,
};

pub(crate) const TURN: TurnId = TurnId::from_bits(7);
pub(crate) const PUBLIC: Label = Label::BOTTOM;
pub(crate) const SECRET: Label = Label::untrusted(Classification::Confidential);

pub(crate) fn templates() -> Templates {
    Templates::builtin().unwrap()
}

pub(crate) fn image(base64: usize) -> Content {
    Content::Image {
        media_type: "image/png".into(),
        data: Data::from_base64("A".repeat(base64)),
    }
}

/// A transcript that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk(pub(crate) Transcript);

impl Talk {
    pub(crate) fn person(&mut self, text: &str) -> Arc<Entry> {
        self.0.push_user(TURN, PUBLIC, UserMessage::person(text)).unwrap()
    }

    pub(crate) fn says(&mut self, text: &str) -> Arc<Entry> {
        self.reply(vec![ReplyPart::Text(text.into())], Usage::default())
    }

    pub(crate) fn reply(&mut self, parts: Vec<ReplyPart>, usage: Usage) -> Arc<Entry> {
        let reply = Reply {
            model: "test:model".parse().unwrap(),
            parts,
            verbatim: None,
            usage,
            finish: FinishReason::Stop,
        };
        self.0.push_reply(TURN, PUBLIC, reply).unwrap()
    }

    /// One call of `tool` with `arguments`, and its result.
    pub(crate) fn calls(&mut self, tool: &str, arguments: &str, result: &str) {
        self.calls_all(tool, &[(arguments, vec![Content::text(result)])], PUBLIC);
    }

    pub(crate) fn calls_all(&mut self, tool: &str, calls: &[(&str, Vec<Content>)], label: Label) {
        let parts = calls
            .iter()
            .enumerate()
            .map(|(index, (arguments, _))| ReplyPart::Call {
                provider_id: format!("p{index}"),
                name: tool.into(),
                arguments: (*arguments).into(),
            });
        self.reply(parts.collect(), Usage::default());
        let results = self
            .0
            .open_calls()
            .zip(calls)
            .map(|(call, (_, content))| ToolResult {
                content: content.clone(),
                ..ToolResult::text(call, ResultStatus::Ok, label, "")
            })
            .collect();
        self.0.push_results(TURN, results).unwrap();
    }
}

/// How an auxiliary model behaves.
#[derive(Clone, Debug)]
pub(crate) enum Auxiliary {
    Says(String),
    Fails,
}

pub(crate) fn input(transcript: &Transcript, window: u64) -> CompactionInput {
    CompactionInput {
        transcript: transcript.clone(),
        turn: TURN,
        current: None,
        fixed: Fixed {
            system: 100,
            tools: 50,
        },
        window: Window::new(window),
        cause: CompactionCause::Threshold,
        settings: CompactionSettings::default(),
    }
}

/// Drives a compaction to its end. More than ten requests are a loop.
pub(crate) fn drive(
    mut compaction: Compaction,
    auxiliary: &Auxiliary,
) -> Result<CompactionOutcome, PromptError> {
    for _ in 0..10 {
        if compaction.step() == CompactionStep::Done {
            return compaction.finish();
        }
        match auxiliary {
            Auxiliary::Says(text) => compaction.summarised(text).unwrap(),
            Auxiliary::Fails => compaction.summary_failed("nobody answers").unwrap(),
        }
    }
    panic!("no end");
}

pub(crate) fn compact(
    input: CompactionInput,
    auxiliary: &Auxiliary,
) -> Result<CompactionOutcome, PromptError> {
    drive(Compaction::begin(&templates(), input).unwrap(), auxiliary)
}

pub(crate) fn summary() -> Auxiliary {
    Auxiliary::Says("## Goal\nTo mend the gate.".into())
}
