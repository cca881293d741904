//! The owner's release of data that may not go down by itself.

use crate::harness::Home;
use crate::screen::Screen;
use crate::{calling, decisions, events};

const CALL: (&str, &str) = (
    "write_file",
    "{ path = \"public/a.txt\", content = \"the figures\" }",
);

/// The id of the last decision about a call of `write_file`.
fn last_decision(home: &Home) -> String {
    let judged = events(home, "flow.judged");
    let last = judged
        .iter()
        .rev()
        .find(|event| event["tool"] == "write_file")
        .unwrap();
    format!("{}:{}", last["session"].as_str().unwrap(), last["sequence"])
}

fn home() -> Home {
    let (tool, arguments) = CALL;
    let call = format!("[[reply]]\ncalls = [{{ tool = \"{tool}\", arguments = {arguments} }}]\n");
    let answer = "[[reply]]\ntext = \"Over.\"\n";
    let home = Home::scripted(&[call.as_str(), answer].concat().repeat(3));
    home.write("project/public/b.txt", "open\n");
    home
}

fn run(home: &Home, task: &str) {
    home.run(["run", task, "--session", "a", "--level", "CONFIDENTIAL"])
        .code(0);
}

#[test]
fn what_the_owner_releases_goes_exactly_there_and_once() {
    let home = home();
    run(&home, "write the figures to public/a.txt");
    assert!(!home.path("project/public/a.txt").exists());
    let refused = last_decision(&home);

    for no in ["n", ""] {
        let mut screen = Screen::start(home.command(["policy", "release", &refused]));
        let shown = screen.until("[y/N]");
        for seen in ["the figures", "public/a.txt"] {
            assert!(shown.contains(seen), "{seen} is not in:\n{shown}");
        }
        screen.press(&format!("{no}\n"));
        screen.until("nothing was released");
        assert_eq!(screen.end().0, Some(130));
    }
    let mut screen = Screen::start(home.command(["policy", "release", &refused]));
    screen.until("[y/N]");
    screen.press("y\n");
    screen.until("released, once");
    assert_eq!(screen.end().0, Some(0));

    run(&home, "write the figures to public/a.txt again");
    assert_eq!(home.read("project/public/a.txt"), "the figures");
    std::fs::remove_file(home.path("project/public/a.txt")).unwrap();
    run(&home, "write the figures to public/a.txt once more");
    assert!(
        !home.path("project/public/a.txt").exists(),
        "a release is good once"
    );
    let seen: Vec<String> = decisions(&home, "write_file")
        .into_iter()
        .map(|(decision, _)| decision)
        .collect();
    assert_eq!(seen, ["BLOCK", "ALLOW", "BLOCK"]);
}

#[test]
fn nothing_is_released_without_a_person_or_from_an_untrusted_session() {
    let home = home();
    run(&home, "write the figures to public/a.txt");
    let refused = last_decision(&home);
    home.run(["policy", "release", &refused])
        .code(1)
        .says(["only a person at a terminal"]);

    let home = calling(&[("read_file", "{ path = \"confidential/a.txt\" }"), CALL]);
    home.write("project/confidential/a.txt", "the figures\n");
    home.write("project/public/b.txt", "open\n");
    home.run(["run", "copy it to public/a.txt", "--session", "a"])
        .code(0);
    let refused = last_decision(&home);
    home.run(["policy", "release", &refused])
        .code(1)
        .says(["cannot be released", "has read what nobody vouches for"]);

    // What is no refusal by no-write-down is nothing to release.
    let started = &events(&home, "tool.started")[0];
    let id = format!("{}:{}", started["session"].as_str().unwrap(), started["sequence"]);
    home.run(["policy", "release", &id])
        .code(1)
        .says(["no decision about a call"]);
}
