//! `ask_user`, `list_tools` and `get_tool_schema`.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate_builtins::{Answered, Asker, Catalogue, Question, ask_user, get_tool_schema, list_tools};
use tidegate_message::{ToolSpec, joined_text};
use tidegate_policy::{Classification, Label, SessionId, TurnId};
use tidegate_tools::{BoxFuture, CallContext, Cancel, NeverCancelled, OpenQuestion, Tool};

/// Answers always the same, or never.
struct Owner {
    answer: Option<Answered>,
    asked: Mutex<Vec<Question>>,
}

impl Asker for Owner {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answered> {
        self.asked.lock().unwrap().push(question);
        match self.answer.clone() {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn owner(answer: Option<Answered>) -> Arc<Owner> {
    Arc::new(Owner {
        answer,
        asked: Mutex::default(),
    })
}

fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(1),
        call: "call_1_0".into(),
        label: Label::untrusted(Classification::Internal),
        clearance: Classification::Confidential,
        cancel: Arc::new(NeverCancelled),
    }
}

async fn call(tool: &Arc<dyn Tool>, arguments: Value, context: CallContext) -> (bool, String, Label) {
    let arguments = arguments.as_object().unwrap().clone();
    let prepared = tool.prepare(arguments, &context).await.unwrap();
    assert_eq!(prepared.resources(), []);
    match prepared.run(context).await {
        Ok(output) => (true, joined_text(&output.content), output.label),
        Err(error) => (false, error.message, error.label),
    }
}

#[tokio::test]
async fn an_answer_is_the_owners_own_word_and_a_choice_is_the_models() {
    let arguments = json!({"question": "Which one?", "choices": ["the red", "the blue"]});
    let model = context().label;
    let table = [
        (
            Answered::Text("the green".into()),
            true,
            "the green",
            Label::BOTTOM,
        ),
        (
            Answered::Text(" ".into()),
            true,
            "(the user answered nothing)",
            Label::BOTTOM,
        ),
        (Answered::Choice(1), true, "the blue", model),
        (
            Answered::Choice(2),
            false,
            "the answer was none of the choices; ask again",
            Label::BOTTOM,
        ),
        (
            Answered::Expired,
            true,
            "(nobody answered within 600 s; go on without the answer if you can, else say what you need)",
            Label::BOTTOM,
        ),
        (
            Answered::NobodyThere,
            true,
            "(nobody is there to be asked; go on without the answer if you can, else say what you need)",
            Label::BOTTOM,
        ),
    ];
    for (answer, ok, text, label) in table {
        let owner = owner(Some(answer.clone()));
        let tool = ask_user(Arc::clone(&owner) as Arc<dyn Asker>);
        let ended = call(&tool, arguments.clone(), context()).await;
        assert_eq!(ended, (ok, text.to_owned(), label), "{answer:?}");
        let asked = owner.asked.lock().unwrap();
        let [question] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        assert_eq!(question.text, "Which one?");
        assert_eq!(question.choices, ["the red", "the blue"]);
        assert_eq!(question.expires, Duration::from_secs(600));
        assert_eq!((question.label, question.call.as_str()), (model, "call_1_0"));
    }
}

#[tokio::test]
async fn a_question_that_is_answered_later_waits_with_its_choices_and_its_time() {
    let tool = ask_user(owner(Some(Answered::Later)));
    for (expires, valid_for) in [(None, None), (Some(60), Some(Duration::from_secs(60)))] {
        let arguments = json!({"question": "Which?", "choices": ["red"], "expires_s": expires});
        let arguments = arguments.as_object().unwrap().clone();
        let prepared = tool.prepare(arguments, &context()).await.unwrap();
        let error = prepared.run(context()).await.unwrap_err();
        assert_eq!(
            error.question.as_deref(),
            Some(&OpenQuestion {
                text: "Which?".into(),
                choices: vec!["red".into()],
                valid_for,
            })
        );
        assert!(
            error.message.starts_with("(nobody is there to be asked;"),
            "{error}"
        );
    }
}

#[test]
fn a_choice_is_named_by_its_number_or_its_words() {
    let choices = ["red".to_owned(), "blue".to_owned()];
    for (answer, expected) in [
        ("1", Answered::Choice(0)),
        ("2", Answered::Choice(1)),
        ("blue", Answered::Choice(1)),
        (" 1 ", Answered::Choice(0)),
        ("0", Answered::Text("0".into())),
        ("3", Answered::Text("3".into())),
        ("Blue", Answered::Text("Blue".into())),
        ("", Answered::Text(String::new())),
    ] {
        assert_eq!(Answered::of(answer.to_owned(), &choices), expected, "{answer:?}");
    }
    assert_eq!(Answered::of("1".into(), &[]), Answered::Text("1".into()));
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_ends() {
    let tool = ask_user(owner(None));
    let (ok, text, _) = call(&tool, json!({"question": "Well?", "expires_s": 10}), context()).await;
    assert!(ok && text.starts_with("(nobody answered within 10 s;"), "{text}");
}

#[tokio::test]
async fn a_question_is_taken_back_when_the_call_is_cancelled() {
    struct Now;
    impl Cancel for Now {
        fn is_cancelled(&self) -> bool {
            true
        }
        fn cancelled(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }
    let tool = ask_user(owner(None));
    let cancelled = CallContext {
        cancel: Arc::new(Now),
        ..context()
    };
    let ended = call(&tool, json!({"question": "Well?"}), cancelled).await;
    assert_eq!(
        ended,
        (
            false,
            "cancelled; the question was taken back".into(),
            Label::BOTTOM
        )
    );
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_not_asked() {
    let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
    let table = [
        (json!({"question": " "}), "question is empty; write what to ask"),
        (
            json!({"question": "?", "choices": many}),
            "choices has 21 answers; offer at most 20",
        ),
        (
            json!({"question": "?", "choices": ["a", ""]}),
            "choices has an empty answer; leave it out",
        ),
        (
            json!({"question": "?", "expires_s": 9}),
            "expires_s is 9; write a number of seconds from 10 to 86400",
        ),
        (
            json!({"question": "?", "expires_s": 86_401}),
            "expires_s is 86401; write a number of seconds from 10 to 86400",
        ),
    ];
    for (arguments, expected) in table {
        let owner = owner(Some(Answered::NobodyThere));
        let tool = ask_user(Arc::clone(&owner) as Arc<dyn Asker>);
        let (ok, text, _) = call(&tool, arguments, context()).await;
        assert_eq!((ok, text.as_str()), (false, expected));
        assert!(owner.asked.lock().unwrap().is_empty());
    }
}

fn catalogue() -> Catalogue {
    let tool = |name: &str, description: &str| ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object", "properties": {}}),
    };
    Catalogue::new(vec![
        tool("write_file", "Writes a file."),
        tool("read_file", "Reads a file.\nOnly text."),
        tool("long", &"very ".repeat(100)),
    ])
}

#[tokio::test]
async fn tools_are_listed_by_name_and_found_by_words() {
    let tool = list_tools(catalogue());
    let long = format!("long: {} …", "very ".repeat(32).trim_end());
    let both = "read_file: Reads a file. …\nwrite_file: Writes a file.";
    let none = "No tool fits that query. There are: long, read_file, write_file.";
    let table = [
        (json!({}), format!("{long}\n{both}")),
        (json!({"query": "  "}), format!("{long}\n{both}")),
        (json!({"query": "FILE"}), both.into()),
        (json!({"query": "text file"}), "read_file: Reads a file. …".into()),
        (json!({"query": "submarine"}), none.into()),
    ];
    for (arguments, expected) in table {
        let ended = call(&tool, arguments.clone(), context()).await;
        assert_eq!(ended, (true, expected, Label::BOTTOM), "{arguments}");
    }
    let empty = list_tools(Catalogue::new(Vec::new()));
    assert_eq!(call(&empty, json!({}), context()).await.1, "There are no tools.");
}

#[tokio::test]
async fn a_tool_is_described_as_json_or_a_similar_one_is_named() {
    let tool = get_tool_schema(catalogue());
    let table = [
        (
            "read_file",
            true,
            "{\"name\":\"read_file\",\"description\":\"Reads a file.\\nOnly text.\",\
             \"input_schema\":{\"type\":\"object\",\"properties\":{}}}",
        ),
        (
            "raed_file",
            false,
            "there is no tool \"raed_file\"; did you mean read_file?",
        ),
        (
            "submarine",
            false,
            "there is no tool \"submarine\"; there are: long, read_file, write_file",
        ),
    ];
    for (name, ok, expected) in table {
        let ended = call(&tool, json!({ "name": name }), context()).await;
        assert_eq!((ended.0, ended.1.as_str()), (ok, expected));
    }
}

#[test]
fn what_is_told_of_untrusted_tools_is_untrusted() {
    let label = Label::untrusted(Classification::Public);
    for tool in [
        list_tools(catalogue().label(label)),
        get_tool_schema(catalogue().label(label)),
    ] {
        assert_eq!(tool.definition().policy.source, label);
    }
}
