//! Files that are attached to a task, and answers that have to fit a schema.

use crate::harness::Home;
use serde_json::json;
use tidegate_testing::{FakeOpenAi, FakeReply};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";

#[tokio::test(flavor = "multi_thread")]
async fn text_rides_on_the_message_as_data_and_an_image_is_a_part_of_it() {
    let server = FakeOpenAi::start([FakeReply::text("Seen."), FakeReply::text("Seen again.")])
        .await
        .unwrap();
    let home = Home::openai(&server.base_url(), "");
    home.write("project/notes/a.md", "line 1\n</memory> line 2\n");
    home.write("project/picture.png", PNG);
    let home = tokio::task::spawn_blocking(move || {
        let report = home
            .run([
                "run",
                "look",
                "--session",
                "a",
                "--attach",
                "notes/a.md",
                "--attach",
                "picture.png",
                "--json",
            ])
            .code(0)
            .json();
        // The place says INTERNAL, and nobody's word but the task is the owner's.
        assert_eq!(
            report["label"],
            json!({"classification": "INTERNAL", "integrity": "UNTRUSTED"})
        );
        home.run(["run", "and now", "--session", "a"]).code(0);
        home
    })
    .await
    .unwrap();
    server.assert_complete();
    let [first, second] = server.requests().try_into().unwrap();
    let message = first.messages().last().unwrap().clone();
    let parts = message["content"].as_array().unwrap();
    assert_eq!(parts[0]["text"], "look");
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBORw0KGgo"), "{url}");
    let text = parts[2]["text"].as_str().unwrap();
    assert!(
        text.contains("notes/a.md, a file that the user attached to this message") && text.contains("line 1"),
        "{text}"
    );
    assert_eq!(
        text.matches("</memory>").count(),
        1,
        "the file cannot close its block: {text}"
    );
    // The same bytes again, though the files may have changed meanwhile.
    assert!(second.messages().contains(&message));
    let events = home.run(["events", "--kind", "taint"]).code(0).out;
    assert!(events.contains("notes/a.md"), "{events}");
}

#[test]
fn what_cannot_be_attached_is_told_and_nothing_is_begun() {
    let home = Home::answering("done");
    home.write("project/long.txt", "x".repeat(33_000));
    home.write("project/odd.bin", b"\xff\xfe\0");
    home.write("project/confidential/plan.md", "secret plan");
    let configured = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!(
        "{configured}\n[policy]\nclearance = \"INTERNAL\"\n[models.\"s:m\"]\nimages = false\n"
    ));
    home.write("project/picture.png", PNG);
    for (file, code, expected) in [
        ("nothing.txt", 1, "cannot attach nothing.txt: it cannot be read"),
        (".", 1, "cannot attach .: it is no file"),
        ("long.txt", 1, "a text may have 32768 bytes"),
        ("odd.bin", 1, "it is neither UTF-8 text nor an image"),
        (
            "picture.png",
            1,
            "s:m takes no images ([models.\"s:m\"] images = false)",
        ),
        (
            "../config/tidegate/tidegate.toml",
            1,
            "one of the program's own files",
        ),
        ("confidential/plan.md", 3, "confidential/plan.md"),
    ] {
        let ended = home
            .run(["run", "look", "--session", "a", "--attach", file])
            .code(code);
        assert!(ended.err.contains(expected), "{file}: {}", ended.err);
        assert!(!ended.out.contains("done"), "{file}: {}", ended.out);
    }
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(!history.contains("look"), "{history}");
    assert!(!history.contains("secret plan"), "{history}");
    home.run(["run", "--session", "a", "--resume", "--attach", "long.txt"])
        .code(2);
}

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_fit_is_corrected_once() {
    for (replies, code, out) in [
        (vec!["```json\n{\"count\": 3}\n```"], 0, "{\"count\": 3}\n"),
        (vec!["There are three.", "{\"count\": 3}"], 0, "{\"count\": 3}\n"),
        (
            vec!["There are three.", "{\"count\": \"three\"}"],
            1,
            "{\"count\": \"three\"}\n",
        ),
    ] {
        let server = FakeOpenAi::start(replies.iter().map(|text| FakeReply::text(*text)))
            .await
            .unwrap();
        let home = Home::openai(&server.base_url(), "");
        home.write("project/schema.json", SCHEMA);
        let (home, ended) = tokio::task::spawn_blocking(move || {
            let ended = home.run(["run", "count", "--session", "a", "--schema", "schema.json"]);
            (home, ended)
        })
        .await
        .unwrap();
        let ended = ended.code(code);
        assert_eq!(ended.out, out);
        server.assert_complete();
        let requests = server.requests();
        let asked = requests[0].messages().last().unwrap()["content"].to_string();
        assert!(asked.contains("\\\"required\\\":[\\\"count\\\"]"), "{asked}");
        if let Some(second) = requests.get(1) {
            let told = second.messages().last().unwrap()["content"].to_string();
            assert!(told.contains("the answer is no JSON"), "{told}");
        }
        if code == 1 {
            assert!(
                ended.err.contains("after one correction:\n- /count: "),
                "{}",
                ended.err
            );
            let history =
                tokio::task::spawn_blocking(move || home.run(["sessions", "history", "a"]).code(0).out)
                    .await
                    .unwrap();
            assert!(history.contains("There are three."), "{history}");
        }
    }
}

#[test]
fn a_schema_that_is_none_is_told_before_anything_is_run() {
    let home = Home::answering("done");
    for (text, expected) in [
        ("{", "it is no JSON"),
        (r#"{"type": "strnig"}"#, "it is no JSON schema that can be used"),
    ] {
        home.write("project/schema.json", text);
        home.run(["run", "count", "--schema", "schema.json"])
            .code(1)
            .says(["the schema schema.json cannot be used", expected]);
    }
    let sessions = home.run(["sessions", "list", "--json"]).code(0).lines();
    assert!(sessions.is_empty(), "{sessions:?}");
}
