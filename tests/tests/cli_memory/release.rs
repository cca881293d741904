//! The owner's release of a memory.

use crate::screen::Screen;
use crate::{all, remembering};
use serde_json::Value;

#[test]
fn the_owner_sees_the_bytes_and_releases_exactly_those() {
    let home = remembering(&[("gold", "CONFIDENTIAL", "The ferry carries gold\u{202e}.")]);
    let command = || home.command(["memory", "release", "gold", "--level", "PUBLIC"]);
    let mut screen = Screen::start(command());
    let shown = screen.until("[y/N]");
    for seen in [
        "The ferry carries gold\\u{202e}.",
        "CONFIDENTIAL",
        "PUBLIC",
        "from you",
    ] {
        assert!(shown.contains(seen), "{seen} is not in:\n{shown}");
    }
    screen.press("n\n");
    screen.until("nothing was released");
    assert_eq!(screen.end().0, Some(130));
    assert_eq!(all(&home).len(), 1);

    let mut screen = Screen::start(command());
    screen.until("[y/N]");
    screen.press("y\n");
    screen.until("released: gold");
    assert_eq!(screen.end().0, Some(0));
    // The highest of the name stands for both in the index; the one below is named with it.
    let index = home.json(["memory", "index", "--json"]);
    let item = &index["themes"][0]["items"][0];
    assert_eq!(item["label"]["classification"], "CONFIDENTIAL");
    assert_eq!(item["also_at"][0]["classification"], "PUBLIC");

    let events = home
        .run(["events", "--kind", "memory.released", "--json"])
        .code(0)
        .out;
    let event: Value = serde_json::from_str(events.trim()).unwrap();
    assert_eq!(event["memory"], "gold");
    assert_eq!(event["from"]["classification"], "CONFIDENTIAL");
    assert_eq!(event["to"]["classification"], "PUBLIC");
    let text = home.run(["events"]).code(0).out;
    assert!(
        text.contains("gold from CONFIDENTIAL, TRUSTED to PUBLIC, TRUSTED"),
        "{text}"
    );
}

#[test]
fn nothing_is_released_without_a_person_or_of_what_others_said() {
    let home = remembering(&[
        ("gold", "CONFIDENTIAL", "The ferry carries gold."),
        ("open", "PUBLIC", "It is blue."),
    ]);
    home.run(["memory", "release", "gold", "--level", "PUBLIC"])
        .code(1)
        .says(["only a person at a terminal"]);
    home.run(["memory", "release", "open", "--level", "PUBLIC"])
        .code(1)
        .says(["can be read at PUBLIC already"]);
    home.run(["memory", "release", "none", "--level", "PUBLIC"])
        .code(1)
        .says(["there is no memory none"]);

    let exported = home.run(["memory", "export"]).code(0).out;
    home.write(
        "project/all.jsonl",
        exported
            .replace("\"gold\"", "\"rumour\"")
            .replace("carries gold", "sinks"),
    );
    home.run(["memory", "import", "all.jsonl", "--untrusted"]).code(0);
    home.run(["memory", "release", "rumour", "--level", "PUBLIC"])
        .code(1)
        .says(["UNTRUSTED", "others had a say"]);
    assert!(
        home.run(["events", "--kind", "memory.released"])
            .code(0)
            .out
            .trim()
            .is_empty()
    );
}
