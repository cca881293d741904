//! The index: one process has it, the records have everything.

use crate::harness::{Home, Running};
use crate::{found, remembering};

/// A home whose chat, once it is there, holds the index.
fn chatting(home: &Home) -> (Running, crate::harness::Lines) {
    let mut command = home.command(["chat", "--session", "a"]);
    command.stdin(std::process::Stdio::piped());
    let mut running = Running::start(command);
    let input = running.child.stdin.as_mut().unwrap();
    std::io::Write::write_all(input, b"hello\n").unwrap();
    let mut out = running.out();
    out.until("done");
    (running, out)
}

#[test]
fn a_second_process_says_that_the_index_is_in_use_and_searches_the_records() {
    let home = remembering(&[("ferry", "PUBLIC", "The early ferry it is.")]);
    let (running, _out) = chatting(&home);
    let ended = home
        .run(["memory", "search", "ferry"])
        .code(0)
        .says(["in use by another process"]);
    assert!(ended.out.contains("The early ferry it is."), "{}", ended.out);
    home.run(["memory", "add", "The lamp is red.", "--id", "lamp"])
        .code(0);
    assert_eq!(found(&home, "lamp").first().unwrap(), "lamp");
    let report = home.json(["doctor", "--json"]);
    let components = report["components"].as_array().unwrap();
    let index = components
        .iter()
        .find(|component| component["component"] == "memory index")
        .unwrap();
    assert_eq!(index["state"], "warn", "{index:#}");
    assert!(
        index["about"]
            .as_str()
            .unwrap()
            .contains("in use by another process"),
        "{index:#}"
    );
    drop(running);
    let ended = home.run(["memory", "search", "lamp"]).code(0);
    assert!(!ended.err.contains("in use"), "{}", ended.err);
    assert!(ended.out.contains("The lamp is red."), "{}", ended.out);
}

#[test]
fn an_index_that_is_lost_is_built_anew_from_the_records() {
    let home = remembering(&[("ferry", "PUBLIC", "The early ferry it is.")]);
    std::fs::remove_dir_all(home.path("data/memory-index")).unwrap();
    assert_eq!(found(&home, "ferry"), ["ferry"]);
    let done = home.json(["memory", "reindex", "--json"]);
    assert!(done["index"].is_string(), "{done}");
    assert_eq!(found(&home, "ferry"), ["ferry"]);
}

#[test]
fn a_damaged_index_is_told_as_such_and_reads_go_on_from_the_records() {
    let home = remembering(&[("ferry", "PUBLIC", "The early ferry it is.")]);
    home.write("data/memory-index/position.json", "{torn");
    for arguments in [&["memory", "search", "ferry"][..], &["memory", "index"]] {
        let ended = crate::harness::ended(home.command(arguments)).code(0).says([
            "is damaged",
            "nothing is lost",
            "tidegate memory reindex",
        ]);
        assert!(!ended.err.contains("in use"), "{}", ended.err);
        assert!(ended.out.contains("The early ferry it is."), "{}", ended.out);
    }
    home.run(["memory", "reindex"]).code(0);
    let ended = home.run(["memory", "search", "ferry"]).code(0);
    assert!(!ended.err.contains("damaged"), "{}", ended.err);
}

#[test]
fn each_kind_of_index_finds_the_same_and_one_that_is_away_is_no_fault() {
    let home = remembering(&[("ferry", "PUBLIC", "The early ferry it is.")]);
    let before = home.read("config/tidegate/tidegate.toml");
    for (settings, says) in [
        ("kind = \"exact\"", ""),
        ("kind = \"embedded\"", ""),
        // Nobody listens at the discard port.
        (
            "kind = \"server\"\nurl = \"http://127.0.0.1:9\"",
            "searched exactly from the records",
        ),
    ] {
        home.configure(&format!("{before}\n[memory.index]\n{settings}\n"));
        let ended = home.run(["memory", "search", "ferry"]).code(0).says([says]);
        assert!(
            ended.out.contains("The early ferry it is."),
            "{settings}: {}",
            ended.out
        );
    }
}
