//! A turn at hand, a model and tools that do what a test says, and a strict look at the transcript.

use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::{Advance, Profile, Routing, Run, RunError, Step, ToolFacts};
use tidegate_message::{
    Author, Body, FinishReason, ModelPolicy, Reply, ReplyPart, ResultStatus, ToolCall, ToolResult,
    Transcript, Usage, UserMessage, joined_text,
};
use tidegate_policy::{Label, ToolName, TurnId};

pub(crate) const TURN: TurnId = TurnId::from_bits(5);
pub(crate) const LABEL: Label = Label::untrusted(tidegate_policy::Classification::Internal);

/// Tools whose name begins with `write` are consequential.
pub(crate) struct Facts;

impl ToolFacts for Facts {
    fn is_consequential(&self, name: &ToolName) -> bool {
        name.as_str().starts_with("write")
    }
}

/// A part of a reply: `look`, `look {"a": 1}` is a call, `"text` a text, `~thought` reasoning.
fn part(text: &str, index: usize) -> ReplyPart {
    if let Some(text) = text.strip_prefix('"') {
        return ReplyPart::Text(text.into());
    }
    if let Some(text) = text.strip_prefix('~') {
        return ReplyPart::Reasoning(text.into());
    }
    let (name, arguments) = text.split_once(' ').unwrap_or((text, ""));
    ReplyPart::Call {
        provider_id: format!("p{index}"),
        name: name.into(),
        arguments: arguments.into(),
    }
}

pub(crate) fn reply(parts: &[&str], finish: FinishReason) -> Reply {
    Reply {
        model: tidegate_message::ModelId::new(tidegate_message::ProviderId::new("test"), "model"),
        parts: parts
            .iter()
            .enumerate()
            .map(|(index, text)| part(text, index))
            .collect(),
        verbatim: None,
        usage: Usage {
            uncached: 10,
            cache_read: 0,
            cache_write: 0,
            output: 1,
        },
        finish,
    }
}

/// The arguments of a tier switch as a part of a reply.
pub(crate) fn switch(target: &str) -> String {
    format!(r#"new_cognitive_level {{"target_model": "{target}", "transfer_plan": "plan for {target}"}}"#)
}

/// A result that no other call has.
pub(crate) fn done(call: &ToolCall) -> ToolResult {
    says(call, &format!("{} done by {}", call.name, call.id))
}

pub(crate) fn says(call: &ToolCall, text: &str) -> ToolResult {
    ToolResult::text(call, ResultStatus::Ok, LABEL, text)
}

pub(crate) struct Turn {
    pub(crate) transcript: Transcript,
    pub(crate) run: Run,
}

impl Turn {
    pub(crate) fn new(profile: Profile, policy: &str) -> Self {
        let policy: ModelPolicy = policy.parse().unwrap();
        let mut transcript = Transcript::default();
        transcript
            .push_user(TURN, LABEL, UserMessage::person("go"))
            .unwrap();
        Self {
            transcript,
            run: Run::start(profile, Routing::new(&policy), TURN),
        }
    }

    pub(crate) fn main() -> Self {
        Self::new(Profile::main(3), "auto")
    }

    pub(crate) fn delegate() -> Self {
        Self::new(Profile::delegate(5).unwrap(), "auto")
    }

    pub(crate) fn says(&mut self, parts: &[&str]) -> Advance {
        self.says_and_stops(parts, FinishReason::Stop)
    }

    pub(crate) fn says_and_stops(&mut self, parts: &[&str], finish: FinishReason) -> Advance {
        let advance = self
            .run
            .on_reply(&mut self.transcript, LABEL, reply(parts, finish), &Facts)
            .unwrap();
        self.checked(advance)
    }

    /// Runs every call the step asks for.
    pub(crate) fn runs_tools(&mut self) -> Advance {
        let results = self.to_run().iter().map(done).collect();
        let advance = self.run.on_results(&mut self.transcript, results).unwrap();
        self.checked(advance)
    }

    /// Runs every call the step asks for, and each says just this.
    pub(crate) fn runs_tools_that_say(&mut self, text: &str) -> Advance {
        let results = self.to_run().iter().map(|call| says(call, text)).collect();
        let advance = self.run.on_results(&mut self.transcript, results).unwrap();
        self.checked(advance)
    }

    pub(crate) fn to_run(&self) -> Vec<ToolCall> {
        match self.step() {
            Step::RunTools { batches } => batches.concat(),
            other => panic!("no tools are to be run but {other:?}"),
        }
    }

    pub(crate) fn cancelled(&mut self, known: Vec<ToolResult>, begun: &[&str]) -> Result<Advance, RunError> {
        let begun: BTreeSet<_> = begun.iter().map(|id| (*id).into()).collect();
        self.run.on_cancel(&mut self.transcript, LABEL, known, &begun)
    }

    pub(crate) fn step(&self) -> Step {
        self.run.step(&self.transcript, &Facts).unwrap()
    }

    /// After a tier switch the run is one step further; else it says again what it said.
    pub(crate) fn checked(&self, advance: Advance) -> Advance {
        assert_eq!(refusal(&self.transcript), None);
        match &advance.step {
            Step::SwitchTier { to, .. } => {
                let next = self.step();
                assert!(
                    matches!(next, Step::CallModel { tier: Some(tier), .. } if tier == *to),
                    "{next:?}"
                );
            }
            Step::Approve { calls } => assert_eq!(*calls, self.to_run()),
            step => assert_eq!(*step, self.step()),
        }
        let bytes = self.run.save().unwrap();
        assert_eq!(Run::load(Run::VERSION, &bytes).unwrap(), self.run);
        advance
    }

    /// The transcript, one line for each message and result.
    pub(crate) fn story(&self) -> String {
        let mut lines = Vec::new();
        for entry in self.transcript.entries() {
            match &entry.body {
                Body::User(message) => {
                    let who = if message.author == Author::Person {
                        "person"
                    } else {
                        "program"
                    };
                    lines.push(format!("{who}: {}", joined_text(&message.content)));
                }
                Body::Assistant(message) => {
                    let calls = message
                        .calls()
                        .map(|call| format!(" [{} {}]", call.id, call.name));
                    lines.push(format!("model: {}{}", message.text(), calls.collect::<String>()));
                }
                Body::Results(results) => lines.extend(results.results.iter().map(|result| {
                    format!(
                        "{} {:?}: {}",
                        result.call,
                        result.status,
                        joined_text(&result.content)
                    )
                })),
            }
        }
        lines.join("\n")
    }
}

/// Why a strict provider would not take the transcript; the last calls may be open.
pub(crate) fn refusal(transcript: &Transcript) -> Option<String> {
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    let mut open: Vec<String> = Vec::new();
    let mut before = "nothing";
    for entry in transcript.entries() {
        let seq = entry.seq;
        match &entry.body {
            Body::Results(results) => {
                let ids: Vec<String> = results
                    .results
                    .iter()
                    .map(|result| result.call.as_str().to_owned())
                    .collect();
                if ids != open || ids.is_empty() {
                    return Some(format!("entry {seq} answers {ids:?} and should answer {open:?}"));
                }
                open.clear();
                before = "results";
            }
            _ if !open.is_empty() => {
                return Some(format!("entry {seq} comes before the results of {open:?}"));
            }
            Body::User(message) => {
                if joined_text(&message.content).is_empty() {
                    return Some(format!("entry {seq} is empty"));
                }
                before = "user";
            }
            Body::Assistant(message) => {
                if before == "nothing" || before == "assistant" {
                    return Some(format!("entry {seq} is a model message after {before}"));
                }
                open = message.calls().map(|call| call.id.as_str().to_owned()).collect();
                for id in &open {
                    *answers.entry(id.clone()).or_default() += 1;
                }
                before = "assistant";
            }
        }
    }
    answers
        .into_iter()
        .find(|(_, times)| *times > 1)
        .map(|(id, _)| format!("two calls are {id}"))
}
