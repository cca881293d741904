//! The model that lets nothing pass unnoticed.

use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{
    AssistantMessage, AssistantPart, Body, Entry, EntrySeq, FinishReason, ModelId, ProviderId, ReplyPart,
    ResultStatus, ToolCall, ToolResult, ToolResults, ToolSpec, Usage, UserMessage,
};
use tidegate_policy::{Label, TurnId};
use tidegate_providers::{ModelRequest, ToolChoice, ToolSet};
use tidegate_testing::HashingModel;

/// A conversation with one call, in which a test can change one thing.
struct Said {
    system: &'static str,
    task: &'static str,
    arguments: &'static str,
    status: ResultStatus,
    result: &'static str,
    schema: serde_json::Value,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            system: "Be careful.",
            task: "Read it.",
            arguments: r#"{"path":"public/a.txt"}"#,
            status: ResultStatus::Ok,
            result: "one two three",
            schema: json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
                "required": ["path"],
            }),
        }
    }
}

impl Said {
    fn request(&self) -> ModelRequest {
        let turn = TurnId::from_bits(7);
        let call = ToolCall {
            id: "call_2_0".into(),
            provider_id: "id_0".into(),
            name: "read_file".into(),
            arguments: self.arguments.into(),
        };
        let message = AssistantMessage {
            model: ModelId::new(ProviderId::new("p"), "m"),
            parts: vec![AssistantPart::Call(call.clone())],
            verbatim: None,
            usage: Usage::default(),
            finish: FinishReason::ToolCalls,
        };
        let results = vec![ToolResult::text(&call, self.status, Label::BOTTOM, self.result)];
        let bodies = [
            Body::User(UserMessage::person(self.task)),
            Body::Assistant(message),
            Body::Results(ToolResults { results }),
        ];
        let entries = (1..)
            .zip(bodies)
            .map(|(seq, body)| Arc::new(Entry::new(EntrySeq(seq), turn, Label::BOTTOM, body)));
        ModelRequest {
            model: "m".into(),
            system: self.system.into(),
            tools: Arc::new(ToolSet::new(vec![ToolSpec {
                name: "read_file".into(),
                description: "Reads.".into(),
                input_schema: self.schema.clone(),
            }])),
            history: Arc::new(entries.collect()),
            tool_choice: ToolChoice::Auto,
        }
    }
}

#[test]
fn each_thing_it_is_told_is_in_the_hash() {
    let model = HashingModel::new("model", 1);
    let said = [
        Said::default(),
        Said {
            system: "Be careful!",
            ..Said::default()
        },
        Said {
            task: "Read it",
            ..Said::default()
        },
        Said {
            arguments: "{}",
            ..Said::default()
        },
        Said {
            status: ResultStatus::Error,
            ..Said::default()
        },
        Said {
            result: "one two three ",
            ..Said::default()
        },
        Said {
            schema: json!({"type": "object"}),
            ..Said::default()
        },
    ];
    let mut hashes: Vec<u64> = said.iter().map(|said| model.hash(&said.request())).collect();
    let mut must_answer = Said::default().request();
    must_answer.tool_choice = ToolChoice::None;
    hashes.push(model.hash(&must_answer));
    hashes.push(HashingModel::new("model", 2).hash(&Said::default().request()));
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len());
}

#[test]
fn the_hash_is_kept_over_versions() {
    let hash = HashingModel::new("any", 1).hash(&Said::default().request());
    assert_eq!(format!("{hash:016x}"), "e9369b4430738d43");
}

#[test]
fn over_the_seeds_it_answers_calls_alone_and_in_parallel_with_words_of_the_context_and_makes_mistakes() {
    let request = Said::default().request();
    let (mut answers, mut several, mut taken, mut broken, mut unknown) = (0, 0, 0, 0, 0);
    for seed in 0..2_000 {
        let model = HashingModel::new("model", seed)
            .values(["ann@example.com"])
            .paths(["public/"]);
        let parts = model.reply(&request);
        assert_eq!(parts, model.reply(&request), "the same to the same");
        let calls: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                ReplyPart::Call { name, arguments, .. } => Some((name.as_str(), arguments)),
                _ => None,
            })
            .collect();
        assert!(calls.len() <= 3);
        answers += usize::from(calls.is_empty());
        several += usize::from(calls.len() > 1);
        taken += usize::from(calls.iter().any(|(_, arguments)| arguments.contains("three")));
        unknown += usize::from(calls.iter().any(|(name, _)| *name != "read_file"));
        broken += usize::from(
            calls
                .iter()
                .any(|(_, arguments)| serde_json::from_str::<serde_json::Value>(arguments).is_err()),
        );
    }
    for (what, count) in [
        ("answers", answers),
        ("several calls", several),
        ("words of the result", taken),
        ("unknown tools", unknown),
        ("broken JSON", broken),
    ] {
        assert!(count > 0, "no {what}");
    }
}

#[test]
fn it_answers_when_it_has_to() {
    let mut must_answer = Said::default().request();
    must_answer.tool_choice = ToolChoice::None;
    for seed in 0..50 {
        for (model, request) in [
            (HashingModel::new("model", seed), &must_answer),
            (
                HashingModel::new("model", seed).rounds(2),
                &Said::default().request(),
            ),
            (
                HashingModel::new("model", seed).without(["read_file"]),
                &Said::default().request(),
            ),
        ] {
            assert!(matches!(&model.reply(request)[..], [ReplyPart::Text(_)]));
        }
    }
}
