//! The program's own files, in a workspace that holds them all.

use std::fs;
use std::path::Path;
use tidegate_message::{Body, ResultStatus, ToolResult, TurnStatus, joined_text};
use tidegate_runtime::config::{self, LoadOptions};
use tidegate_runtime::{DataFolder, Runtime, Session, SessionRequest, TurnOptions, Which};

const CONFIG: &str = r#"
[providers.demo]
kind = "scripted"
scenario = "demo/scenario.toml"

[tiers]
lite = ["demo:m"]

[policy]
clearance = "CLEARANCE"
integrity = "off"
"#;

/// Every own file, and one that is none.
const FILES: [&str; 6] = [
    "tidegate.toml",
    "demo/scenario.toml",
    "data/tidegate.db",
    "data/tidegate.db-wal",
    "data/locks/more.lock",
    "note.md",
];

/// A scenario that reads every file, and then writes and edits every file.
fn scenario() -> String {
    let mut scenario = String::new();
    let mut reply = |calls: Vec<(&str, String)>| {
        scenario += "[[reply]]\n";
        for (tool, arguments) in calls {
            scenario += &format!("[[reply.calls]]\ntool = \"{tool}\"\narguments = {arguments}\n");
        }
    };
    let all = |tool: &'static str, rest: &str| -> Vec<(&'static str, String)> {
        FILES
            .iter()
            .map(|file| (tool, format!("{{ path = \"{file}\"{rest} }}")))
            .collect()
    };
    reply(all("read_file", ""));
    reply(all("write_file", ", content = \"overwritten\""));
    reply(all(
        "edit_file",
        ", old_text = \"t\", new_text = \"TT\", replace_all = true",
    ));
    reply(vec![(
        "write_file",
        "{ path = \"data/new.md\", content = \"new\" }".into(),
    )]);
    scenario + "[[reply]]\ntext = \"done\"\n"
}

async fn run(workspace: &Path, clearance: &str) -> Session {
    fs::create_dir_all(workspace.join("demo")).unwrap();
    fs::create_dir_all(workspace.join("data/locks")).unwrap();
    fs::write(
        workspace.join("tidegate.toml"),
        CONFIG.replace("CLEARANCE", clearance),
    )
    .unwrap();
    fs::write(workspace.join("demo/scenario.toml"), scenario()).unwrap();
    fs::write(workspace.join("data/locks/more.lock"), "a lock\n").unwrap();
    fs::write(workspace.join("note.md"), "a note\n").unwrap();
    let options = LoadOptions {
        file: Some(workspace.join("tidegate.toml")),
        data_folder: workspace.join("data"),
        ..LoadOptions::default()
    };
    let loaded = config::load(&options).unwrap();
    let runtime = Runtime::open(&loaded, &DataFolder::new(workspace.join("data")), &[]).unwrap();
    let request = SessionRequest::new(Which::New).workspace(workspace);
    let mut session = runtime.session(request).await.unwrap();
    let report = session
        .run("Have a look, and change everything.", TurnOptions::default())
        .await
        .unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done"),
        "{:?}",
        report.error
    );
    session
}

fn rounds(session: &Session) -> Vec<Vec<ToolResult>> {
    let entries = session.transcript().entries().iter();
    entries
        .filter_map(|entry| match &entry.body {
            Body::Results(results) => Some(results.results.clone()),
            Body::User(_) | Body::Assistant(_) => None,
        })
        .collect()
}

#[tokio::test]
async fn a_session_cannot_read_or_write_the_programs_own_files_though_its_workspace_holds_them() {
    for (clearance, may_read) in [("CONFIDENTIAL", false), ("RESTRICTED", true)] {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        let session = run(&workspace, clearance).await;
        let rounds = rounds(&session);
        let [reads, writes, edits, new] = &rounds[..] else {
            panic!("four rounds")
        };
        for (index, file) in FILES.iter().enumerate() {
            let own = *file != "note.md";
            let told = |results: &[ToolResult]| joined_text(&results[index].content);
            if own && !may_read {
                assert_ne!(reads[index].status, ResultStatus::Ok, "{file}: {}", told(reads));
            }
            if own {
                for results in [writes, edits] {
                    assert_ne!(
                        results[index].status,
                        ResultStatus::Ok,
                        "{file}: {}",
                        told(results)
                    );
                    assert!(!told(results).contains("TT"), "{file}: {}", told(results));
                }
            } else {
                assert_eq!(reads[index].status, ResultStatus::Ok, "{}", told(reads));
            }
        }
        assert_ne!(new[0].status, ResultStatus::Ok, "a new file in the data folder");
        assert!(!workspace.join("data/new.md").exists());

        // Whatever was told, this is what counts.
        let content = |file: &str| fs::read_to_string(workspace.join(file)).unwrap();
        assert_eq!(content("tidegate.toml"), CONFIG.replace("CLEARANCE", clearance));
        assert_eq!(content("demo/scenario.toml"), scenario());
        assert_eq!(content("data/locks/more.lock"), "a lock\n");
        if may_read {
            // Having read a RESTRICTED file, it cannot write to one that may hold less.
            assert_eq!(content("note.md"), "a note\n");
        } else {
            assert_eq!(content("note.md"), "overwriTTTTen");
        }
    }
}
