//! `tidegate config`, and what is wrong with configurations.

use crate::harness::{Ended, Home, ended};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Every key there is.
const COMPLETE: &str = include_str!("complete.toml");

fn check(home: &Home, text: &str) -> Ended {
    home.write("tried.toml", text);
    home.run(["config", "check", "../tried.toml"])
}

#[test]
fn a_wrong_file_is_told_with_its_place_and_what_is_valid() {
    let home = Home::bare();
    let mut all = String::new();
    for text in [
        "[agent\nmax_rounds = 3",
        "[agent]\nmax_rounds = ",
        "[agent]\nmax_rounds = 3\nmax_rounds = 4",
        "[agent]\n\nmax_round = 3",
        "[agnt]\nmax_rounds = 3",
        "[agent]\nmax_rounds = \"many\"",
        "[agent]\nmax_rounds = 0",
        "[agent]\nmax_rounds = -1",
        "[agent]\nmax_rounds = 5000000000",
        "agent = 3",
        "[agent]\nmodel_policy = \"fast\"",
        "[policy]\nclearance = \"SECRET\"",
        "[policy]\nclearance = 3",
        "[policy.paths]\n\"a\" = \"PUBLIC\"\n\"[\" = \"PUBLIC\"",
        "[policy.paths]\n\"/absolute\" = \"PUBLIC\"",
        "[policy.hosts]\n\"a.example\" = \"PUBLIC\"\n\"http://b.example\" = \"PUBLIC\"",
        "[policy.tools.read_file]\nsource = { level = \"X\" }",
        "[[policy.rules]]\nid = \"a\"\nhook = \"PRE_OUTPUT\"",
        "[tiers]\nlite = [\"local:small\"]",
        "[providers.a]\nkind = \"scripted\"\nscenario = \"s\"\n[tiers]\nlite = [\"b:small\"]",
        "[tiers]\nlite = [\"small\"]",
        "[tiers]\nlite = \"a:small\"",
        "[providers.a]\nkind = \"gemini\"",
        "[providers.a]\nkind = \"opnai\"",
        "[providers.a]\nbase_url = \"http://127.0.0.1/v1\"",
        "[providers.a]\nkind = \"openai\"",
        "[providers.a]\nkind = \"openai\"\nbase_url = \"127.0.0.1:80\"",
        "[providers.a]\nkind = \"openai\"\nbase_url = \"http://me:word@host/v1\"",
        "[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1/v1\"\napi_key = \"sk-verysecret\"",
        "[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1/v1\"\ntimeout_s = 0",
        "[providers.\"a:b\"]\nkind = \"scripted\"\nscenario = \"s\"",
        "[providers.a]\nkind = \"scripted\"",
        "[models.small]\ncontext_window = 3",
        "[users.local]\nrole = \"BOSS\"",
        "[store]\ndurability = \"forever\"",
        "[memory]\nembeder = \"hashed\"",
        "[memory]\nrecall = \"escalates\"",
        "[memory]\nlifetime_days = [1, 2]",
        "[memory]\nlifetime_days = [1, 2, 3, 0, 5]",
        "[memory]\nembedder = \"openai:small\"",
        "[memory.index]\nkind = \"servr\"",
        "[memory.index]\nurl = \"127.0.0.1:6334\"",
        "[memory.index]\nurl = \"http://me:word@host:6334\"",
        "[memory.remote]\nclearance = \"SECRET\"",
    ] {
        let ended = check(&home, text).code(1);
        assert_eq!(ended.out, "");
        assert!(
            !ended.err.contains("verysecret"),
            "a key in the wrong place is not shown:\n{}",
            ended.err
        );
        write!(all, "{text}\n--> {}\n", home.redacted(&ended.err)).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_file_that_is_no_text_is_told() {
    let home = Home::bare();
    home.write("tried.toml", b"[agent]\nmodel_policy = \"\xff\"");
    home.run(["config", "check", "../tried.toml"])
        .code(1)
        .says(["tried.toml:2:17: the file is not UTF-8 from here on"]);
    home.run(["config", "check", ".."])
        .code(1)
        .says(["cannot read the configuration file ..", "because: "]);
}

#[test]
fn a_wrong_variable_is_told_by_its_name_and_with_what_is_valid() {
    let home = Home::answering("done");
    let mut all = String::new();
    for (name, value) in [
        ("TIDEGATE__AGENT__MAX_ROUND", "5"),
        ("TIDEGATE__AGNT__MAX_ROUNDS", "5"),
        ("TIDEGATE__AGENT__MAX_ROUNDS", "many"),
        ("TIDEGATE__AGENT__MAX_ROUNDS", "true"),
        ("TIDEGATE__AGENT__MAX_ROUNDS", "-1"),
        ("TIDEGATE__AGENT__MAX_ROUNDS", "5000000000"),
        ("TIDEGATE__AGENT__MAX_ROUNDS", ""),
        ("TIDEGATE__AGENT__MAX_ROUNDS__X", "5"),
        ("TIDEGATE__AGENT", "5"),
        ("TIDEGATE__AGENT", "{\"max_round\": 5}"),
        ("TIDEGATE__POLICY__BUMPERS", "maybe"),
        ("TIDEGATE__POLICY__CLEARANCE", "SECRET"),
        ("TIDEGATE__POLICY__INTEGRITY", "value"),
        ("TIDEGATE__POLICY__PATHS", "{\"[\": \"PUBLIC\"}"),
        ("TIDEGATE__TIERS__LITE", "s:m"),
        ("TIDEGATE__TIERS__LITE", "[\"s:m\""),
        ("TIDEGATE__TIERS__LITE", "[\"t:m\"]"),
        ("TIDEGATE__TIERS__LITE", "[[]]"),
        ("TIDEGATE__PROVIDERS__S__TIMEOUT", "5"),
        ("TIDEGATE__PROVIDERS__S__KIND", "scriptd"),
        ("TIDEGATE__PROVIDERS__T__KIND", "openai"),
        ("TIDEGATE__PROVIDERS__T__BASE_URL", "http://127.0.0.1/v1"),
        ("TIDEGATE__", "5"),
        ("TIDEGATE____X", "5"),
    ] {
        let ended = home.run_with(&[(name, value)], ["config", "check"]).code(1);
        assert!(ended.err.contains(name), "{name} is not in {}", ended.err);
        write!(all, "{name}={value}\n--> {}\n", home.redacted(&ended.err)).unwrap();
    }
    insta::assert_snapshot!(all);
}

/// Each value with its origin.
fn shown(home: &Home, variables: &[(&str, &str)]) -> BTreeMap<String, (Value, String)> {
    let shown = home
        .run_with(variables, ["config", "show", "--json"])
        .code(0)
        .json();
    shown["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let origin = home.redacted(entry["origin"].as_str().unwrap());
            (
                entry["key"].as_str().unwrap().to_owned(),
                (entry["value"].clone(), origin),
            )
        })
        .collect()
}

#[test]
fn variables_come_before_the_file_and_the_file_before_defaults() {
    let home = Home::answering("done");
    home.configure(
        "[providers.s]\nkind = \"scripted\"\nscenario = \"scenario.toml\"\n\
         [agent]\nmax_rounds = 7\ntool_timeout_s = 8\n[policy.paths]\n\"z/**\" = \"PUBLIC\"\n",
    );
    let variables = [
        ("TIDEGATE__AGENT__MAX_ROUNDS", " 9 "),
        ("TIDEGATE__TIERS__LITE", "[\"s:one\", \"s:two\"]"),
        ("TIDEGATE__POLICY__BUMPERS", "False"),
        ("TIDEGATE__POLICY__CLEARANCE", "internal"),
        (
            "TIDEGATE__POLICY__PATHS",
            "{\"b/**\": \"PUBLIC\", \"a/**\": \"INTERNAL\"}",
        ),
        ("TIDEGATE__STORE__PATH", "007"),
        ("TIDEGATE__DELEGATE__MAX_CALLS", "5"),
        ("TIDEGATE_LOG", "off"),
    ];
    let shown = shown(&home, &variables);
    let file = |line: u32| format!("~/config/tidegate/tidegate.toml:{line}");
    for (key, value, origin) in [
        (
            "agent.max_rounds",
            Value::from(9),
            "TIDEGATE__AGENT__MAX_ROUNDS".to_owned(),
        ),
        ("agent.tool_timeout_s", Value::from(8), file(6)),
        ("agent.model_policy", Value::from("auto"), "default".to_owned()),
        (
            "tiers.lite",
            serde_json::json!(["s:one", "s:two"]),
            "TIDEGATE__TIERS__LITE".to_owned(),
        ),
        (
            "policy.bumpers",
            Value::from(false),
            "TIDEGATE__POLICY__BUMPERS".to_owned(),
        ),
        (
            "policy.clearance",
            Value::from("INTERNAL"),
            "TIDEGATE__POLICY__CLEARANCE".to_owned(),
        ),
        ("policy.paths.\"z/**\"", Value::from("PUBLIC"), file(8)),
        (
            "policy.paths.\"a/**\"",
            Value::from("INTERNAL"),
            "TIDEGATE__POLICY__PATHS".to_owned(),
        ),
        (
            "store.path",
            Value::from("007"),
            "TIDEGATE__STORE__PATH".to_owned(),
        ),
        (
            "providers.s.clearance",
            Value::from("RESTRICTED"),
            "default".to_owned(),
        ),
        ("users.local.role", Value::from("ADMIN"), "default".to_owned()),
    ] {
        assert_eq!(shown.get(key), Some(&(value, origin)), "{key}");
    }

    let text = home.run_with(&variables, ["config", "show"]).code(0).out;
    let order: Vec<usize> = ["\"z/**\"", "\"b/**\"", "\"a/**\""]
        .into_iter()
        .map(|pattern| text.find(pattern).unwrap())
        .collect();
    assert!(
        order.is_sorted(),
        "the first match wins, so the order is kept:\n{text}"
    );
}

#[test]
fn a_flag_comes_before_everything() {
    let home = Home::answering("done");
    let more = "\n[agent]\nmodel_policy = \"flash\"\n";
    let file = home.read("config/tidegate/tidegate.toml") + more;
    home.configure(&file);
    let policy = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.command(["run", "work", "--json"]);
        command.args(arguments).envs(variables.iter().copied());
        let session = ended(command).code(0).json()["session"].clone();
        home.json(["sessions", "show", session.as_str().unwrap(), "--json"])["model_policy"].clone()
    };
    let variable = ("TIDEGATE__AGENT__MODEL_POLICY", "pro");
    assert_eq!(policy(&[], &[]), "FLASH");
    assert_eq!(policy(&[], &[variable]), "PRO");
    assert_eq!(policy(&["--model-policy", "s:other"], &[variable]), "s:other");
}

#[test]
fn what_is_shown_is_a_configuration_again() {
    let home = Home::answering("done");
    home.write("complete.toml", COMPLETE);
    let shown = home
        .run(["--config", "../complete.toml", "config", "show"])
        .code(0)
        .out;
    assert!(
        shown.starts_with(&format!("# file: {}\n", home.path("complete.toml").display())),
        "{shown}"
    );
    let again = check(&home, &shown).code(0);
    assert!(again.out.contains(": ok\n"), "{}", again.out);
    let shown_again = home
        .run(["--config", "../tried.toml", "config", "show"])
        .code(0)
        .out;
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| Some(line.split_once("  # ")?.0.to_owned()))
            .collect()
    };
    assert_eq!(values(&shown), values(&shown_again));
}

#[test]
fn every_documented_key_is_accepted_and_what_has_no_effect_is_told() {
    let home = Home::bare();
    let ended = check(&home, COMPLETE).code(0);
    insta::assert_snapshot!(home.redacted(&ended.out));
    let json = home
        .run(["config", "check", "../tried.toml", "--json"])
        .code(0)
        .json();
    assert_eq!(json["ok"], true);
    assert_eq!(
        json["notes"].as_array().unwrap().len(),
        ended.out.lines().count() - 1
    );
}

#[test]
fn names_that_are_no_text_are_no_fault_where_they_can_be_used() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let no_text = OsStr::from_bytes(b"no\xfftext");
    let home = Home::answering("done");
    let folder = home.path("project").join(no_text);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(
        folder.join("tidegate.toml"),
        home.read("config/tidegate/tidegate.toml"),
    )
    .unwrap();
    for arguments in [
        ["config", "show", "--json"].as_slice(),
        &["config", "show"],
        &["run", "work", "--json"],
        &["sessions", "list", "--json"],
        &["demo", "--json"],
    ] {
        let mut command = home.command(arguments);
        command
            .arg("--data-dir")
            .arg(folder.join("data"))
            .current_dir(home.path("project"));
        command.env("TMPDIR", &folder);
        ended(command).code(0);
    }
    let mut trust = home.command(["config", "trust", "--json"]);
    trust.arg(folder.join("tidegate.toml"));
    ended(trust).code(0).json();

    let mut variable = home.command(["config", "show"]);
    variable.env("TIDEGATE__AGENT__MODEL_POLICY", no_text);
    ended(variable)
        .code(1)
        .says(["variable TIDEGATE__AGENT__MODEL_POLICY is not UTF-8 text"]);
    let mut task = home.command(["run"]);
    task.arg(no_text);
    ended(task).code(2).says(["invalid UTF-8"]);
}

#[test]
fn a_tool_that_is_configured_is_one_there_is() {
    let home = Home::answering("done");
    let session = home.json(["run", "work", "--json"])["session"].clone();
    let export = home.json(["sessions", "export", session.as_str().unwrap()]);
    let offered = export["tools"].as_array().unwrap();
    assert!(offered.len() > 3);
    let mut text = String::new();
    for tool in offered {
        writeln!(text, "[policy.tools.{}]", tool["name"].as_str().unwrap()).unwrap();
    }
    let checked = check(&home, &text).code(0);
    assert!(!checked.out.contains("policy.tools"), "{}", checked.out);
    let checked = check(&home, "[policy.tools.read_fil]\nfloor = \"INTERNAL\"\n").code(0);
    assert!(
        checked
            .out
            .contains("note: [policy.tools.read_fil] names a tool that is not in this version")
    );
    for tool in offered {
        let name = tool["name"].as_str().unwrap();
        assert!(
            checked.out.contains(&format!("`{name}`")),
            "{name} is not in {}",
            checked.out
        );
    }
}

#[test]
fn without_a_file_the_defaults_are_told() {
    let home = Home::bare();
    let checked = home.run(["config", "check"]).code(0);
    assert!(
        checked.out.starts_with("no tidegate.toml, defaults only: ok\n"),
        "{}",
        checked.out
    );
    let shown = home.run(["config", "show"]).code(0);
    assert!(
        shown.out.contains("agent.max_rounds = 30  # default\n"),
        "{}",
        shown.out
    );
}

#[test]
fn the_schema_accepts_what_the_program_accepts_and_refuses_what_it_refuses() {
    let home = Home::bare();
    let schema = home.json(["config", "schema", "--json"]);
    let pretty: Value = serde_json::from_str(&home.run(["config", "schema"]).code(0).out).unwrap();
    assert_eq!(schema, pretty);
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |text: &str| validator.is_valid(&toml::from_str::<Value>(text).unwrap());
    assert!(valid(COMPLETE));
    for wrong in [
        "[agent]\nmax_round = 3",
        "[agent]\nmax_rounds = 0",
        "[agnt]",
        "[policy]\nclearance = \"SECRET\"",
        "[providers.a]\nbase_url = \"x\"",
        "[providers.a]\nkind = \"opnai\"",
        "[tiers]\nlite = \"a:b\"",
    ] {
        assert!(!valid(wrong), "{wrong}");
        check(&home, wrong).code(1);
    }
}

#[test]
fn every_key_of_the_schema_says_what_it_is_and_whether_it_is_hot() {
    let schema = Home::bare().json(["config", "schema", "--json"]);
    let mut keys = 0;
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let Some(properties) = definition.get("properties").and_then(Value::as_object) else {
            continue;
        };
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{name}.{key}");
            // A section within a section: its own keys tell.
            let section = property["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            let is_section =
                section.is_some_and(|section| schema["$defs"][section].get("properties").is_some());
            assert!(is_section || property["x-hot"].is_boolean(), "{name}.{key}");
            keys += 1;
        }
    }
    assert!(keys > 40, "{keys}");
    assert_eq!(
        schema["$defs"]["AgentSettings"]["properties"]["max_rounds"]["default"],
        30
    );
}

#[test]
fn keys_that_are_not_there_are_errors_of_a_run() {
    let run = |more: &str, variables: &[(&str, &str)]| {
        let home = Home::openai("http://127.0.0.1:9/v1", more);
        home.write("config/tidegate/empty", "\n");
        home.write("config/tidegate/open", "sk-verysecret");
        home.write("config/tidegate/two-lines", "sk-verysecret\nsecond");
        for (name, mode) in [("empty", 0o600), ("open", 0o644), ("two-lines", 0o600)] {
            set_mode(&home, name, mode);
        }
        let ended = home.run_with(variables, ["run", "work"]).code(1);
        assert!(!ended.err.contains("verysecret"), "{}", ended.err);
        // Looking at the configuration needs no key, and tells of it.
        let checked = home.run_with(variables, ["config", "check"]).code(0);
        assert!(checked.out.contains("note: provider o: "), "{}", checked.out);
        home.run_with(variables, ["sessions", "list"]).code(0);
        home.redacted(&ended.err)
    };
    let by_variable = "api_key_env = \"THE_KEY\"";
    let mut all = String::new();
    for (more, variables) in [
        (by_variable, [].as_slice()),
        (by_variable, &[("THE_KEY", "")]),
        (by_variable, &[("THE_KEY", " \n")]),
        (by_variable, &[("THE_KEY", "two words")]),
        ("api_key_file = \"absent\"", &[]),
        ("api_key_file = \"empty\"", &[]),
        ("api_key_file = \"open\"", &[]),
        ("api_key_file = \"two-lines\"", &[]),
        ("api_key_file = \".\"", &[]),
    ] {
        write!(all, "{more} {variables:?}\n--> {}\n", run(more, variables)).unwrap();
    }
    insta::assert_snapshot!(all);
}

fn set_mode(home: &Home, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = home.path("config/tidegate").join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn no_tier_no_model_and_what_to_do() {
    let home = Home::bare();
    let ended = home.run(["run", "work"]).code(1);
    insta::assert_snapshot!(ended.err);
    home.configure("[providers.s]\nkind = \"scripted\"\nscenario = \"s.toml\"\n[tiers]\nlite = [\"s:m\"]\n");
    home.run(["run", "work"])
        .code(1)
        .says(["provider s: its scenario cannot be played", "s.toml"]);
    home.write("config/tidegate/s.toml", "[[reply]]\ntxt = \"a\"\n");
    home.run(["run", "work"]).code(1).says(["s.toml:2", "\"txt\""]);
    home.write("config/tidegate/s.toml", "[[reply]]\ntext = \"a\"\n");
    home.run(["run", "work", "--model-policy", "pro"])
        .code(1)
        .says(["no model is configured for tier PRO"]);
    home.run(["run", "work"]).code(0);
}

#[test]
fn the_data_folder_is_the_flag_else_the_variable_else_the_platforms() {
    let home = Home::bare();
    let folder = |variables: &[(&str, Option<&str>)], arguments: &[&str]| {
        let mut command = home.command(["config", "show", "--json"]);
        command.args(arguments).env_remove("TIDEGATE_DATA_DIR");
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let shown = ended(command).code(0).json();
        home.redacted(shown["data_folder"].as_str().unwrap())
    };
    let variable = ("TIDEGATE_DATA_DIR", Some("/from/variable"));
    assert_eq!(folder(&[variable], &["--data-dir", "/from/flag"]), "/from/flag");
    assert_eq!(folder(&[variable], &[]), "/from/variable");
    assert_eq!(
        folder(&[("TIDEGATE_DATA_DIR", Some(""))], &[]),
        "~/.local/share/tidegate"
    );
    assert_eq!(folder(&[("XDG_DATA_HOME", Some("/xdg"))], &[]), "/xdg/tidegate");
    // Without a home variable, the system still knows the user's home or none at all.
    let mut command = home.command(["config", "show"]);
    command
        .env_remove("HOME")
        .env_remove("TIDEGATE_DATA_DIR")
        .env_remove("XDG_CONFIG_HOME");
    let ended = ended(command);
    match ended.code {
        Some(0) => assert!(ended.out.contains("# data: /"), "{}", ended.out),
        _ => drop(
            ended
                .code(1)
                .says(["pass --data-dir DIR or set TIDEGATE_DATA_DIR"]),
        ),
    }
}
