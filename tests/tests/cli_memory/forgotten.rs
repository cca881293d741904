//! What was deleted is in no file any more.

use crate::harness::Home;

/// Which of `texts` stand in any file of the data folder, in UTF-8.
fn left(home: &Home, texts: &[&str]) -> Vec<String> {
    let bytes = home.bytes_below("data");
    let is_there = |text: &&&str| {
        let text = text.as_bytes();
        bytes.windows(text.len()).any(|window| window == text)
    };
    texts.iter().filter(is_there).map(ToString::to_string).collect()
}

#[test]
fn no_byte_of_a_forgotten_memory_is_left_in_the_data_folder() {
    let home = Home::bare();
    // Enough beside it that pages are split and rows are moved.
    for number in 0..12 {
        let other = format!("Buoy {number} is {} fathoms from the pier.", number * 7);
        home.run(["memory", "add", &other, "--id", &format!("buoy-{number}")])
            .code(0);
    }
    let first = format!("The zebrafinch code is {}.", "quartz".repeat(100));
    let second = "The zebrafinch code is xylophone.";
    home.run(["memory", "add", &first, "--id", "secret-code"]).code(0);
    home.run([
        "memory",
        "add",
        second,
        "--id",
        "secret-code",
        "--tag",
        "kryptontag",
    ])
    .code(0);
    let texts = ["zebrafinch", "quartz", "xylophone", "kryptontag", "secret-code"];
    assert_eq!(left(&home, &["xylophone"]), ["xylophone"]);
    home.run(["memory", "forget", "secret-code"]).code(0);
    assert_eq!(left(&home, &texts), Vec::<String>::new());
    assert_eq!(left(&home, &["Buoy 3 is 21 fathoms"]), ["Buoy 3 is 21 fathoms"]);
}

#[test]
fn no_byte_of_deleted_and_purged_sources_is_left_in_the_data_folder() {
    let home = Home::bare();
    home.write("project/one.md", "The zebrafinch sings.\n".repeat(400));
    home.write("project/two.md", "The xylophone is silent.\n".repeat(400));
    home.run(["rag", "save", "one.md", "two.md", "--session", "a"])
        .code(0);
    assert_eq!(left(&home, &["zebrafinch", "xylophone"]).len(), 2);
    home.run(["rag", "delete", "one.md", "--session", "a"]).code(0);
    assert_eq!(left(&home, &["zebrafinch", "xylophone"]), ["xylophone"]);
    home.run(["rag", "purge", "--session", "a"]).code(0);
    assert_eq!(left(&home, &["zebrafinch", "xylophone"]), Vec::<String>::new());
}
