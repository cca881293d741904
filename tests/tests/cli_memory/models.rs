//! Models: listing, fetching, trying; evaluation; what doctor says.

use crate::harness::Home;
use crate::remembering;
use serde_json::Value;
use std::path::Path;

fn doctor(home: &Home, name: &str) -> Value {
    let ended = home.run(["doctor", "--json"]);
    let report = ended.json();
    let components = report["components"].as_array().unwrap();
    let found = components.iter().find(|component| component["component"] == name);
    found
        .unwrap_or_else(|| panic!("{name} is not in {report:#}"))
        .clone()
}

#[test]
fn without_a_model_hashed_words_are_used_and_that_is_told() {
    let home = remembering(&[("ferry", "PUBLIC", "The early ferry it is.")]);
    home.run(["memory", "search", "ferry"])
        .code(0)
        .says(["hashed", "tidegate models fetch minilm"]);
    let embedder = doctor(&home, "embedder");
    assert_eq!(embedder["state"], "warn");
    assert!(
        embedder["about"].as_str().unwrap().contains("hashed"),
        "{embedder:#}"
    );
    assert!(
        embedder["todo"].as_str().unwrap().contains("models fetch minilm"),
        "{embedder:#}"
    );
    assert_eq!(doctor(&home, "memory index")["state"], "ok");
    let tested = home.json(["models", "test", "--json"]);
    assert_eq!(tested["model"], "hashed-ngrams-1");
}

#[test]
fn models_that_can_be_fetched_are_listed() {
    let home = Home::answering("done");
    let report = home.json(["models", "list", "--json"]);
    let models = report["models"].as_array().unwrap();
    for (name, dimension) in [("minilm", 384), ("bge-m3", 1024)] {
        let model = models.iter().find(|model| model["name"] == name).unwrap();
        assert_eq!(model["state"], "can_be_fetched");
        assert_eq!(model["dimension"], dimension);
    }
    let text = home.run(["models", "list"]).code(0).out;
    assert!(text.contains("tidegate models fetch NAME"), "{text}");
    home.run(["models", "fetch", "no-such-model"])
        .code(1)
        .says(["no-such-model"]);
    home.run(["models", "test", "minilm"])
        .code(1)
        .says(["there is no model \"minilm\"", "tidegate models fetch minilm"]);
}

#[test]
fn a_configured_model_that_is_not_there_is_an_error_with_the_way_out() {
    let home = Home::answering("done");
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n[memory]\nembedder = \"minilm\"\n"));
    for arguments in [["memory", "stats"], ["run", "work"]] {
        home.run(arguments).code(1).says(["tidegate models fetch minilm"]);
    }
    let embedder = doctor(&home, "embedder");
    assert_eq!(embedder["state"], "fail", "{embedder:#}");
}

#[test]
fn a_model_is_fetched_from_the_hub_that_is_named_and_is_there_from_then_on() {
    let home = Home::answering("done");
    let hub = crate::hub::start();
    // Some file: where there is a library, none is fetched beside the model.
    let library = home
        .write("libonnxruntime.so", "no library")
        .display()
        .to_string();
    let variables = [("ORT_DYLIB_PATH", library.as_str())];
    let fetch = |arguments: &[&str]| {
        let mut command = home.command(["models", "fetch", "bge-m3", "--json"].iter().chain(arguments));
        command.envs(variables);
        crate::harness::ended(command).code(0).json()
    };
    let fetched = fetch(&["--hub", &hub]);
    assert_eq!(fetched["was_there"], false);
    assert!(
        fetched["folder"]
            .as_str()
            .unwrap()
            .ends_with("data/models/bge-m3"),
        "{fetched}"
    );
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n[memory]\nmodel_hub = \"{hub}\"\n"));
    assert_eq!(fetch(&[])["was_there"], true);

    let report = home.json(["models", "list", "--json"]);
    let first = &report["models"][0];
    assert_eq!(
        (&first["name"], &first["state"]),
        (&"bge-m3".into(), &"here".into())
    );
    // A library that is none is an error that says so.
    home.run_with(&variables, ["models", "test", "bge-m3"])
        .code(1)
        .says(["libonnxruntime.so"]);
    std::fs::write(home.path("data/models/bge-m3/model_quantized.onnx"), "cut").unwrap();
    let report = home.json(["models", "list", "--json"]);
    assert_eq!(report["models"][0]["state"], "damaged");
}

/// ONNX Runtime's library, where `cargo xtask models` puts it or `ORT_DYLIB_PATH` says; none, and a line that says so,
/// where it has not been fetched.
fn library() -> Option<String> {
    let models = match std::env::var_os("TIDEGATE_TEST_MODELS") {
        Some(models) => models.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    };
    let places = [
        std::env::var_os("ORT_DYLIB_PATH").map(Into::into),
        Some(models.join("onnxruntime")),
    ];
    let found = places.into_iter().flatten().find(|place| place.exists());
    if found.is_none() {
        println!("SKIPPED: ONNX Runtime is not there; `cargo xtask models` fetches it");
    }
    found.map(|place| place.display().to_string())
}

#[test]
fn a_folder_of_ones_own_is_used_and_another_of_the_same_dimension_is_refused_with_the_ways_out() {
    let Some(library) = library() else { return };
    let variables = [("ORT_DYLIB_PATH", library.as_str())];
    let home = Home::answering("done");
    let before = home.read("config/tidegate/tidegate.toml");
    let fixture = tidegate_tests::root().join("crates/embed/tests/fixtures/tiny-bge-m3");
    for name in ["one", "two"] {
        for entry in std::fs::read_dir(&fixture).unwrap() {
            let entry = entry.unwrap();
            let file = entry.file_name().to_string_lossy().into_owned();
            let mut content = std::fs::read(entry.path()).unwrap();
            if (name, file.as_str()) == ("two", "tokenizer.json") {
                content.push(b'\n');
            }
            home.write(&format!("config/tidegate/{name}/{file}"), content);
        }
    }
    let configured = |name: &str| home.configure(&format!("{before}\n[memory]\nmodel_dir = \"{name}\"\n"));
    configured("one");
    let add = [
        "memory",
        "add",
        "The ferry leaves at seven.",
        "--artifact",
        "rules",
        "--id",
        "ferry",
    ];
    home.run_with(&variables, add).code(0);
    let search = ["memory", "search", "when does the ferry leave", "--json"];
    let found = |ended: crate::harness::Ended| ended.code(0).json()["hits"][0]["memory_id"].clone();
    assert_eq!(found(home.run_with(&variables, search)), "ferry");

    configured("two");
    home.run_with(&variables, ["memory", "search", "ferry"])
        .code(1)
        .says(["tiny-bge-m3@", "tidegate memory reembed"]);
    configured("one");
    assert_eq!(found(home.run_with(&variables, search)), "ferry");
    configured("two");
    home.run_with(&variables, ["memory", "reembed"]).code(0);
    assert_eq!(found(home.run_with(&variables, search)), "ferry");

    // What is missing in a folder is told by its name, whatever is done.
    for file in ["model.onnx", "tokenizer.json", "config.json"] {
        let path = home.path(&format!("config/tidegate/two/{file}"));
        let content = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for arguments in [["memory", "stats"], ["models", "test"]] {
            home.run_with(&variables, arguments).code(1).says([file]);
        }
        std::fs::write(path, content).unwrap();
    }
}

/// Two conversations in which the answers share words with the questions.
fn conversations() -> String {
    let mut lines = Vec::new();
    for conversation in ["a", "b"] {
        lines.push(
            serde_json::json!({ "type": "conversation", "id": conversation, "speakers": ["Ann", "Bo"] }),
        );
        for turn in 0..40 {
            lines.push(serde_json::json!({
                "type": "turn", "conversation": conversation, "id": format!("{conversation}:{turn}"), "session": turn / 10,
                "time": "2026-01-01T12:00:00", "speaker": if turn % 2 == 0 { "Ann" } else { "Bo" },
                "text": format!("Object{turn} stands on shelf{} in the {conversation} room.", turn * 7),
            }));
        }
        for turn in [3, 17, 31] {
            lines.push(serde_json::json!({
                "type": "question", "conversation": conversation, "category": if turn == 31 { "5" } else { "1" },
                "text": format!("Where does Object{turn} stand?"), "evidence": [format!("{conversation}:{turn}")],
            }));
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_evaluation_reports_by_category_and_touches_nothing() {
    let home = Home::answering("done");
    home.write("project/talk.jsonl", conversations());
    for mode in ["hybrid", "lexical", "dense"] {
        let report = home.json(["eval", "memory", "talk.jsonl", "--mode", mode, "--json"]);
        assert_eq!(report["embedder"], "hashed-ngrams-1");
        assert_eq!(report["mode"], mode);
        assert_eq!((&report["turns"], &report["questions"]), (&80.into(), &6.into()));
        for key in ["seconds_store", "seconds_query"] {
            assert!(report[key].is_f64(), "{report:#}");
        }
        assert!(report["query_ms"]["p95"].is_f64(), "{report:#}");
        assert_eq!(report["categories"]["1"]["questions"], 4);
        assert_eq!(report["categories"]["5"]["questions"], 2);
        let together = &report["categories_1_4"];
        assert_eq!(together["questions"], 4);
        if mode != "dense" {
            for measure in [
                "recall_at_5",
                "recall_at_10",
                "recall_at_20",
                "hit_at_10",
                "ndcg_at_10",
                "mrr",
            ] {
                assert_eq!(together[measure], 100.0, "{mode} {measure}: {report:#}");
            }
        }
    }
    let text = home.run(["eval", "memory", "talk.jsonl"]).code(0).out;
    for part in ["80 turns", "recall@10", "1 to 4", "100.0"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert_eq!(home.json(["memory", "stats", "--json"])["chunks"], 0);
    home.write("project/bad.jsonl", "{\"type\":\"turn\"}\n");
    home.run(["eval", "memory", "bad.jsonl"]).code(1).says(["line 1"]);
    let begun = "{\"type\":\"conversation\",\"id\":\"c\",\"speakers\":[]}\n";
    let turn = "{\"type\":\"turn\",\"conversation\":\"c\",\"id\":\"t\",\"session\":1,\"time\":\"2026-01-01T12:00:00\",\
                \"speaker\":\"Ann\",\"text\":\"Hello.\"}\n";
    for (text, says) in [
        (
            String::new(),
            "line 1 of the evaluation file: the file ends here, and there is no question",
        ),
        (
            begun.to_owned() + turn,
            "line 2 of the evaluation file: the file ends here",
        ),
        (
            begun.to_owned() + turn + turn,
            "line 3 of the evaluation file: turn \"t\" is there twice",
        ),
        (
            begun.replace("\"c\"", "\" \""),
            "line 1 of the evaluation file: its id is empty",
        ),
        (
            begun.to_owned() + "\n{no json}\n",
            "line 3 of the evaluation file: key must be a string (column 2)",
        ),
    ] {
        home.write("project/bad.jsonl", &text);
        home.run(["eval", "memory", "bad.jsonl"]).code(1).says([says]);
    }
    home.run(["eval", "memory", "none.jsonl"])
        .code(1)
        .says(["cannot read none.jsonl"]);
}
