//! Histories no provider accepts.

use crate::common::Talk;
use tidegate_message::{
    Author, Body, FinishReason, ModelId, ProviderId, Reply, ReplyPart, ResultStatus, ToolCall, ToolResult,
    ToolResults, Usage, UserMessage,
};
use tidegate_policy::Label;
use tidegate_providers::validate_history;

fn said(calls: &[&str]) -> Reply {
    let call = |id: &&str| ReplyPart::Call {
        provider_id: (*id).into(),
        name: "f".into(),
        arguments: "".into(),
    };
    Reply {
        model: ModelId::new(ProviderId::new("p"), "m"),
        parts: calls.iter().map(call).collect(),
        verbatim: None,
        usage: Usage::default(),
        finish: FinishReason::Stop,
    }
}

fn results(talk: &mut Talk, calls: &[&ToolCall]) {
    let results = calls
        .iter()
        .map(|call| ToolResult::text(call, ResultStatus::Ok, Label::BOTTOM, "done"))
        .collect();
    talk.push(Body::Results(ToolResults { results }));
}

#[test]
fn what_a_provider_refuses_is_refused() {
    let mut told = String::new();
    let mut check = |name: &str, talk: &Talk| match validate_history(&talk.entries) {
        Ok(()) => panic!("{name} was accepted"),
        Err(error) => told.push_str(&format!("{name}: {error}\n")),
    };

    check("nothing", &Talk::default());

    let mut talk = Talk::asking("?");
    talk.reply(said(&[]));
    check("the model's word last", &talk);

    let mut talk = Talk::default();
    talk.user(UserMessage::new(Author::Person, Vec::new()));
    check("a user message of nothing", &talk);

    let mut talk = Talk::asking("?");
    talk.reply(said(&["a", "a"]));
    check("equal ids", &talk);

    let mut talk = Talk::asking("?");
    talk.reply(said(&["a"]));
    check("open calls at the end", &talk);
    talk.user(UserMessage::person("And?"));
    check("a user message before the results", &talk);

    let mut talk = Talk::asking("?");
    let calls = talk.reply(said(&["a"]));
    results(&mut talk, &[&calls[0]]);
    results(&mut talk, &[&calls[0]]);
    check("results twice", &talk);

    for (name, order) in [
        ("a result missing", vec![0]),
        ("another order", vec![1, 0]),
        ("one twice", vec![0, 1, 1]),
    ] {
        let mut talk = Talk::asking("?");
        let calls = talk.reply(said(&["a", "b"]));
        let order: Vec<&ToolCall> = order.into_iter().map(|index: usize| &calls[index]).collect();
        results(&mut talk, &order);
        check(name, &talk);
    }
    insta::assert_snapshot!(told, @r#"
    nothing: the history is empty; it has to end with a user message or with results
    the model's word last: the history ends with model message 2; it has to end with a user message or with results
    a user message of nothing: user message 1 has no content
    equal ids: model message 2 has two calls with the id "a"
    open calls at the end: model message 2 has calls, and no results follow at once; the first is call_2_0
    a user message before the results: model message 2 has calls, and no results follow at once; the first is call_2_0
    results twice: results 4 follow no model message with calls
    a result missing: results 3 answer call_2_0 (a), but the calls before them are call_2_0 (a), call_2_1 (b)
    another order: results 3 answer call_2_1 (b), call_2_0 (a), but the calls before them are call_2_0 (a), call_2_1 (b)
    one twice: results 3 answer call_2_0 (a), call_2_1 (b), call_2_1 (b), but the calls before them are call_2_0 (a), call_2_1 (b)
    "#);
}

#[test]
fn what_a_provider_accepts_is_accepted() {
    let mut talk = Talk::asking("?");
    validate_history(&talk.entries).unwrap();
    let calls = talk.reply(said(&["a", "b"]));
    talk.results(&calls, "");
    validate_history(&talk.entries).unwrap();
    talk.user(UserMessage::program("Stop soon."));
    talk.reply(said(&[]));
    talk.user(UserMessage::person("And?"));
    validate_history(&talk.entries).unwrap();
}
