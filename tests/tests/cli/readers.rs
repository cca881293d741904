//! Every command that reads, for a reader whose clearance was lowered after the data was made.

use crate::harness::{Home, Running, ended};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

/// What a command does with what is above its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Above {
    /// It is asked for by name: exit code 3 and the one error.
    Refused,
    /// It is left out, and nothing tells of it.
    LeftOut,
    /// The command reads nothing that sessions or memories hold.
    NotRead,
}
use Above::{LeftOut, NotRead, Refused};

/// Every command there is, with arguments that lead to what is above; `APPROVAL` and `EVENT` stand for ids. A new command
/// needs a row: see `every_command_has_a_row`.
const ROWS: [(&str, &str, Above); 71] = [
    ("demo", "", NotRead),
    ("run", "go-on --session vault", Refused),
    ("run", "--resume --session vault", Refused),
    ("run", "--resume --session vault --approve APPROVAL", Refused),
    ("chat", "--session vault", Refused),
    ("approvals list", "", LeftOut),
    ("approvals grant", "APPROVAL", Refused),
    ("approvals refuse", "APPROVAL", Refused),
    ("sessions list", "", LeftOut),
    ("sessions show", "vault", Refused),
    ("sessions history", "vault", Refused),
    ("sessions history", "vault --search ingot", Refused),
    ("sessions export", "vault", Refused),
    ("sessions delete", "vault --yes", Refused),
    ("memory add", "", NotRead),
    ("memory search", "heavy", LeftOut),
    ("memory index", "", LeftOut),
    ("memory forget", "mem1", LeftOut),
    ("memory consolidate", "", LeftOut),
    ("memory stats", "", LeftOut),
    ("memory export", "", LeftOut),
    ("memory import", "", NotRead),
    ("memory release", "mem1 --level PUBLIC", LeftOut),
    ("memory reembed", "", LeftOut),
    ("memory reindex", "", LeftOut),
    ("rag save", "open.md --session vault", Refused),
    ("rag search", "heavy --session vault", Refused),
    ("rag search", "heavy --session plain", LeftOut),
    ("rag search", "heavy --session plain --source hoard", LeftOut),
    ("rag search", "heavy --session plain --global", LeftOut),
    ("rag sources", "", LeftOut),
    ("rag sources", "--session plain", LeftOut),
    ("rag sources", "--session vault", Refused),
    ("rag delete", "hoard --session plain", LeftOut),
    ("rag delete", "hoard --session vault", Refused),
    ("rag purge", "--session plain", LeftOut),
    ("rag purge", "--session vault", Refused),
    ("models list", "", NotRead),
    ("models fetch", "", NotRead),
    ("models test", "", NotRead),
    ("events", "", LeftOut),
    ("events", "--kind turn", LeftOut),
    ("events", "--session vault", Refused),
    ("events", "--session vault --follow", Refused),
    ("prompt show", "--session vault", Refused),
    ("prompt show", "--session vault --turn 1", Refused),
    ("prompt show", "--session vault --turn 99", Refused),
    ("prompt diff", "1 2 --session vault", Refused),
    ("usage", "", LeftOut),
    ("usage", "--by session", LeftOut),
    ("usage", "--session vault", Refused),
    ("policy check", "", NotRead),
    ("policy fields", "", NotRead),
    ("policy simulate", "", NotRead),
    ("policy release", "EVENT", Refused),
    ("policy replay", "", NotRead),
    ("policy explain", "EVENT", Refused),
    ("eval policy", "", NotRead),
    ("eval memory", "", NotRead),
    ("config show", "", NotRead),
    ("config check", "", NotRead),
    ("config schema", "", NotRead),
    ("config trust", "", NotRead),
    ("init", "", NotRead),
    ("doctor", "", LeftOut),
    ("completions", "", NotRead),
    ("sessions show", "ID", Refused),
    ("sessions history", "ID", Refused),
    ("sessions export", "ID", Refused),
    ("events", "--session ID", Refused),
    ("usage", "--session ID", Refused),
];

/// All commands that have none below them.
fn commands(home: &Home, command: &[String], found: &mut BTreeSet<String>) {
    let mut arguments = command.to_vec();
    arguments.push("--help".into());
    let help = ended(home.command(&arguments)).code(0).out;
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = below
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .collect();
    if names.is_empty() {
        found.insert(command.join(" "));
    }
    for name in names {
        let mut below = command.to_vec();
        below.push(name.to_owned());
        commands(home, &below, found);
    }
}

#[test]
fn every_command_has_a_row() {
    let mut found = BTreeSet::new();
    commands(&Home::bare(), &[], &mut found);
    let known: BTreeSet<String> = ROWS.iter().map(|(command, ..)| (*command).to_owned()).collect();
    assert_eq!(
        known, found,
        "say in ROWS what the new command does with what is above its reader"
    );
}

/// Reads a confidential file, and asks to write another one.
const READS: &str = r#"
[[reply]]
calls = [{ tool = "read_file", arguments = { path = "confidential/ingot.md" } }]
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "confidential/ingot-2.md", content = "the ingot" } }]
[[reply]]
text = "The ingot is there."
"#;

/// A home with a session `plain` that holds nothing above INTERNAL, and CONFIDENTIAL data: the session `vault` with a
/// call that waits, the memory `mem1`, and the source `hoard` of both sessions.
struct Filled {
    home: Home,
    configuration: String,
    vault: String,
    approval: String,
    event: String,
}

impl Filled {
    fn new() -> Self {
        let home = Home::scripted(READS);
        home.configure(
            &[
                "[providers.s]\nkind = \"scripted\"\nscenario = \"scenario.toml\"",
                "[tiers]\nlite = [\"s:m\"]\nflash = [\"s:m\"]\npro = [\"s:m\"]",
                "[policy]\nunattended = \"wait\"",
                "[policy.tools.write_file]\napproval = true\n",
            ]
            .join("\n"),
        );
        home.write("project/confidential/ingot.md", "The ingot is heavy.\n");
        home.write("project/open.md", "The door is heavy.\n");
        home.run(["run", "look", "--session", "vault"]).code(5);
        home.play(&"[[reply]]\ntext = \"done\"\n".repeat(8));
        home.run(["run", "work", "--session", "plain"]).code(0);
        home.run([
            "memory",
            "add",
            "The ingot is heavy.",
            "--artifact",
            "rules",
            "--id",
            "mem1",
            "--level",
            "CONFIDENTIAL",
        ])
        .code(0);
        for session in ["vault", "plain"] {
            let file = "confidential/ingot.md";
            home.run(["rag", "save", file, "--session", session, "--source", "hoard"])
                .code(0);
        }
        let vault = home.json(["sessions", "show", "vault", "--json"])["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let approval = home.json(["approvals", "list", "--json"])["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let judged = home
            .run(["events", "--session", "vault", "--kind", "flow", "--json"])
            .code(0)
            .lines();
        let read = judged.iter().find(|event| event["tool"] == "read_file").unwrap();
        let event = format!("{vault}:{}", read["sequence"]);
        let configuration = home.read("config/tidegate/tidegate.toml");
        Self {
            home,
            configuration,
            vault,
            approval,
            event,
        }
    }

    fn lower(&self) {
        let lowered = format!(
            "{}\n[users.local]\nclearance = \"INTERNAL\"\n",
            self.configuration
        );
        self.home.configure(&lowered);
    }

    /// The arguments of a row.
    fn arguments(&self, command: &str, arguments: &str) -> Vec<String> {
        let words = command
            .split(' ')
            .chain(arguments.split(' '))
            .filter(|word| !word.is_empty());
        words
            .map(|word| match word {
                "APPROVAL" => self.approval.clone(),
                "EVENT" => self.event.clone(),
                "ID" => self.vault.clone(),
                word => word.to_owned(),
            })
            .collect()
    }

    /// What tells of the confidential data, but for what was said in the arguments.
    fn telling(&self, arguments: &[String]) -> Vec<&str> {
        ["ingot", "vault", "mem1", "hoard", &self.vault, &self.approval]
            .into_iter()
            .filter(|word| !arguments.iter().any(|argument| argument.contains(word)))
            .collect()
    }
}

#[test]
fn what_is_above_a_lowered_clearance_is_refused_by_name_and_left_out_of_lists() {
    let filled = Filled::new();
    // At first everything is shown: otherwise nothing below would prove anything.
    for (command, arguments) in [
        ("approvals list", ""),
        ("sessions list", ""),
        ("sessions history", "vault"),
        ("sessions export", "vault"),
        ("memory search", "heavy"),
        ("memory index", ""),
        ("memory export", ""),
        ("rag search", "heavy --session plain"),
        ("rag sources", ""),
        ("events", ""),
        ("prompt show", "--session vault --turn 1 --round 2"),
        ("usage", "--by session"),
        ("policy explain", "EVENT"),
    ] {
        let arguments = filled.arguments(command, arguments);
        let shown = ended(filled.home.command(&arguments)).code(0).out;
        let telling = ["ingot", "vault", "mem1", "hoard", &filled.vault];
        assert!(
            telling.iter().any(|word| shown.contains(word)),
            "{arguments:?}:\n{shown}"
        );
    }

    filled.lower();
    for (command, arguments, above) in ROWS.into_iter().filter(|(.., above)| *above != NotRead) {
        for json in [false, true] {
            let mut arguments = filled.arguments(command, arguments);
            if json {
                arguments.push("--json".to_owned());
            }
            let shown = ended(filled.home.command(&arguments));
            let all = format!("{}{}", shown.out, shown.err);
            for word in filled.telling(&arguments) {
                // The error names the session by its id.
                let is_named = above == Refused && word == filled.vault;
                assert!(
                    is_named || !all.contains(word),
                    "{word:?} is told by {arguments:?}:\n{all}"
                );
            }
            if above == Refused {
                assert_eq!(shown.code, Some(3), "{arguments:?}:\n{all}");
                let error = "holds CONFIDENTIAL data, and user local may read at most INTERNAL";
                assert!(all.contains(error), "{arguments:?}:\n{all}");
            }
        }
    }
    // What may be seen is there.
    let home = &filled.home;
    let listed = home.run(["sessions", "list"]).code(0).out;
    assert!(listed.contains("plain"), "{listed}");
    let plain = home.json(["sessions", "show", "plain", "--json"]);
    let events = home.run(["events", "--json"]).code(0).lines();
    assert!(!events.is_empty());
    assert!(
        events
            .iter()
            .all(|event| event["session"] == plain["id"] && event["position"].is_null())
    );
    assert_eq!(
        home.json(["rag", "purge", "--session", "plain", "--json"])["deleted"],
        0
    );
    let saved = home.json([
        "rag",
        "save",
        "open.md",
        "--session",
        "plain",
        "--source",
        "hoard",
        "--json",
    ]);
    assert_eq!(
        (
            &saved["replaced"],
            saved["also_saved_as"].as_array().unwrap().len()
        ),
        (&false.into(), 0)
    );
    assert_eq!(
        home.json(["rag", "purge", "--session", "plain", "--json"])["deleted"],
        1
    );

    // Nothing of what could not be seen was touched.
    home.configure(&filled.configuration);
    let history = home.run(["sessions", "history", "vault"]).code(0).out;
    assert!(history.contains("The ingot is heavy."), "{history}");
    assert_eq!(
        home.json(["approvals", "list", "--json"])["id"],
        filled.approval.as_str()
    );
    assert!(home.run(["memory", "export"]).code(0).out.contains("mem1"));
    let sources = home.json(["rag", "sources", "--json"]);
    assert_eq!(sources["sources"].as_array().unwrap().len(), 2, "{sources}");
}

#[test]
fn a_chat_that_is_open_shows_nothing_more_once_the_clearance_is_lowered() {
    let filled = Filled::new();
    let mut command = filled.home.command(["chat", "--session", "vault", "--json"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut input = running.child.stdin.take().unwrap();
    let mut output = running.out();
    writeln!(input, "/history").unwrap();
    output.until("ingot");
    filled.lower();
    for line in ["/history", "/taint", "/resume", "/compact", "what is there?"] {
        writeln!(input, "{line}").unwrap();
        let told = output.until("");
        let error = "holds CONFIDENTIAL data, and user local may read at most INTERNAL";
        assert!(told.contains(error) && !told.contains("ingot"), "{line}: {told}");
    }
    drop(input);
    assert_eq!(running.code(), Some(3));
}

#[test]
fn following_events_leaves_out_what_is_above() {
    let filled = Filled::new();
    filled.lower();
    let mut follow = Running::start(filled.home.command(["events", "--follow"]));
    let mut lines = follow.out();
    filled.home.run(["run", "work", "--session", "later"]).code(0);
    let later = filled.home.json(["sessions", "show", "later", "--json"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    loop {
        let line = lines.until("");
        assert!(!line.contains(&filled.vault), "{line}");
        if line.contains(&later) && line.contains("turn.finished") {
            break;
        }
    }
}
