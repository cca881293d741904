//! What the model says in the runs that are killed, and the files it works on.

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tidegate_testing::{FakeReply, RecordedRequest, calls};

/// The task that is killed.
pub(crate) const TASK: &str = "Do everything there is to do.";

/// The model's last word on it.
pub(crate) const ANSWER: &str = "Everything is done.";

/// Another task in the same session.
pub(crate) const SECOND_TASK: &str = "Do something else.";

/// The model's last word on the other.
pub(crate) const SECOND_ANSWER: &str = "Something else is done.";

/// What is in the file that is longer than a result may be.
pub(crate) fn long_text() -> String {
    (1..=200)
        .map(|line| format!("line {line} of a long file\n"))
        .collect()
}

/// A data folder, a workspace and a ledger of their own.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder };
        let workspace = place.workspace();
        for folder in ["confidential", "public", "notes"] {
            fs::create_dir_all(workspace.join(folder)).unwrap();
        }
        for (file, content) in [
            ("a.txt", "alpha\nbeta\n"),
            ("b.txt", "gamma\n"),
            ("big.txt", &long_text()),
            ("confidential/plan.md", "buy the weir\n"),
            ("confidential/log.md", "third z\n"),
            ("notes/log.md", "first x\nsecond y\n"),
        ] {
            fs::write(workspace.join(file), content).unwrap();
        }
        place
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// The lines of the ledger: each the id of a call and its text.
    pub(crate) fn ledger_lines(&self) -> Vec<String> {
        let text = match fs::read_to_string(self.ledger()) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("the ledger cannot be read: {error}"),
        };
        text.lines().map(str::to_owned).collect()
    }
}

/// What the model says, chosen by what it has said already: the same for whichever process asks.
pub(crate) fn answer(request: &RecordedRequest) -> FakeReply {
    let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
    let messages = request.messages();
    let is_second = |message: &Value| role(message) == "user" && message.to_string().contains(SECOND_TASK);
    let said_since = |from: usize| {
        messages
            .iter()
            .skip(from)
            .filter(|message| role(message) == "assistant")
            .count()
    };
    match messages.iter().position(is_second) {
        Some(task) => second_reply(said_since(task)),
        None => reply(said_since(0)),
    }
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

fn append(text: &str) -> (&'static str, Value) {
    ("append", json!({ "text": text }))
}

fn write(path: &str) -> (&'static str, Value) {
    (
        "write_file",
        json!({ "path": path, "content": "written by the model\n" }),
    )
}

fn switch(to: &str) -> (&'static str, Value) {
    (
        "new_cognitive_level",
        json!({ "target_model": to, "transfer_plan": "Go on with the next step." }),
    )
}

/// The replies to the first task: 35 calls of tools that can be run or refused, and two tier switches.
fn reply(said: usize) -> FakeReply {
    let search = ("search_files", json!({ "pattern": "beta", "path": "a.txt" }));
    match said {
        // Read-only calls together.
        0 => calls([("list_files", json!({ "path": "notes" })), read("a.txt")]).into(),
        // One consequential call.
        1 => calls([append("one")]).into(),
        2 => calls([read("a.txt"), read("b.txt"), search, read("notes/missing.txt")]).into(),
        // Several consequential calls in one message.
        3 => calls([append("two"), append("three"), write("notes/new.md")]).into(),
        // Consequential calls between read-only ones. The edit would show if it were done twice.
        4 => {
            let edit = json!({ "path": "notes/log.md", "old_text": "first x", "new_text": "first xx" });
            calls([
                read("a.txt"),
                append("four"),
                read("b.txt"),
                ("edit_file", edit),
                read("a.txt"),
            ])
            .with_text("I read, append and edit.")
            .into()
        }
        // A tool that does not exist, arguments that do not fit, arguments that are no JSON.
        5 => calls([
            ("send_fax", json!({ "to": "nobody" })),
            ("append", json!({ "line": 5 })),
        ])
        .with_raw_call("append", "{\"text\": \"half")
        .with_raw_call("append", "{\"text\": \"five\"}")
        .into(),
        // The session becomes CONFIDENTIAL, by a call that is journalled. What stands in the same message is judged
        // by what the session held before, also when it is run by another process.
        6 => {
            let edit =
                json!({ "path": "confidential/log.md", "old_text": "third z", "new_text": "third zz" });
            calls([
                append("six"),
                ("edit_file", edit),
                append("seven"),
                write("notes/late.md"),
                read("confidential/plan.md"),
            ])
            .into()
        }
        // A write-down, which is refused, and a write that is not.
        7 => calls([
            write("public/leak.md"),
            write("confidential/out.md"),
            append("eight"),
        ])
        .into(),
        // A result that is cut, and a tier switch beside other calls.
        8 => calls([read("big.txt"), append("nine"), switch("FLASH")]).into(),
        // A tier switch alone.
        9 => calls([switch("LITE")]).into(),
        10 => calls([
            append("ten"),
            append("eleven"),
            read("confidential/plan.md"),
            append("twelve"),
        ])
        .into(),
        11 => calls([read("a.txt"), append("thirteen")]).into(),
        _ => FakeReply::text(ANSWER),
    }
}

fn second_reply(said: usize) -> FakeReply {
    match said {
        0 => calls([append("else"), read("a.txt")]).into(),
        _ => FakeReply::text(SECOND_ANSWER),
    }
}
