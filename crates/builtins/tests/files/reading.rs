//! `read_file`.

use crate::common::{Space, run};
use serde_json::json;
use std::fs::File;

fn read(space: &Space, arguments: serde_json::Value) -> String {
    let ended = run(space.call("read_file", arguments));
    if ended.how == "ok" {
        ended.text
    } else {
        format!("{}: {}", ended.how, ended.text)
    }
}

#[test]
fn text_comes_back_as_it_is() {
    let space = Space::new();
    let texts = [
        "",
        "one line",
        "two\nlines\n",
        "\u{feff}bom",
        "dos\r\nlines\r\n",
        "你好🦀 e\u{301}",
        "{{ x }} {% for %}",
        "\u{1b}[31m\t",
    ];
    for text in texts {
        space.file("a.txt", text);
        assert_eq!(read(&space, json!({"path": "a.txt"})), text);
        assert_eq!(
            read(&space, json!({"path": "a.txt", "offset": null, "limit": null})),
            text
        );
    }
}

#[test]
fn parts_say_which_lines_they_are() {
    let space = Space::new();
    space
        .file("a.txt", "1\n2\n3\n4\n5")
        .file("empty.txt", "")
        .file("crlf.txt", "1\r\n2\r\n");
    let table = [
        (
            json!({"path": "a.txt", "offset": 2, "limit": 2}),
            "[lines 2 to 3 of 5 of a.txt]\n2\n3\n",
        ),
        (
            json!({"path": "a.txt", "offset": 4}),
            "[lines 4 to 5 of 5 of a.txt]\n4\n5",
        ),
        (
            json!({"path": "a.txt", "limit": 1}),
            "[lines 1 to 1 of 5 of a.txt]\n1\n",
        ),
        (json!({"path": "a.txt", "limit": 5}), "1\n2\n3\n4\n5"),
        (
            json!({"path": "a.txt", "limit": 4_000_000_000_u64}),
            "1\n2\n3\n4\n5",
        ),
        (
            json!({"path": "a.txt", "offset": 5, "limit": u64::MAX}),
            "[lines 5 to 5 of 5 of a.txt]\n5",
        ),
        (
            json!({"path": "a.txt", "offset": 6}),
            "error: a.txt has 5 lines; offset 6 is behind the last",
        ),
        (json!({"path": "empty.txt", "offset": 1, "limit": 10}), ""),
        (
            json!({"path": "empty.txt", "offset": 2}),
            "error: empty.txt has 0 lines; offset 2 is behind the last",
        ),
        (
            json!({"path": "crlf.txt", "offset": 2}),
            "[lines 2 to 2 of 2 of crlf.txt]\n2\r\n",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(read(&space, arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn binary_files_are_said_to_be_so_without_their_bytes() {
    let space = Space::new();
    space
        .file("zero.bin", b"PNG\0data")
        .file("latin.txt", b"caf\xe9")
        .file("cut.txt", b"\xe4\xbd");
    assert_eq!(
        read(&space, json!({"path": "zero.bin"})),
        "error: zero.bin is no UTF-8 text but binary (8 bytes)"
    );
    assert_eq!(
        read(&space, json!({"path": "latin.txt"})),
        "error: latin.txt is no UTF-8 text but binary (4 bytes)"
    );
    assert_eq!(
        read(&space, json!({"path": "cut.txt"})),
        "error: cut.txt is no UTF-8 text but binary (2 bytes)"
    );
}

#[test]
fn a_missing_file_is_answered_with_a_similar_name() {
    let space = Space::new();
    space
        .file("notes/today.md", "")
        .file("notes/zebra.md", "")
        .folder("reports");
    let table = [
        (
            "notes/tody.md",
            "error: there is no notes/tody.md; did you mean notes/today.md?",
        ),
        (
            "notes/TODAY.md",
            "error: there is no notes/TODAY.md; did you mean notes/today.md?",
        ),
        (
            "nots/today.md",
            "error: there is no nots/today.md; did you mean notes?",
        ),
        (
            "notes/entirely-else",
            "error: there is no notes/entirely-else; list_files shows what there is",
        ),
        (
            "reports/today.md",
            "error: there is no reports/today.md; list_files shows what there is",
        ),
        (
            "x/y/z",
            "error: there is no x/y/z; list_files shows what there is",
        ),
    ];
    for (path, expected) in table {
        assert_eq!(read(&space, json!({"path": path})), expected);
    }
}

#[test]
fn large_files_are_read_in_parts_and_their_end_is_found_without_holding_them() {
    let space = Space::new();
    let line = format!("{}\n", "x".repeat(1023));
    space.file("large.txt", line.repeat(17 * 1024));
    assert_eq!(
        read(&space, json!({"path": "large.txt"})),
        "error: large.txt has 17825792 bytes, more than the 16777216 that can be read at once; give offset and a \
         smaller limit to read a part"
    );
    let last = read(&space, json!({"path": "large.txt", "offset": 17 * 1024}));
    assert_eq!(
        last,
        format!("[lines 17408 to 17408 of 17408 of large.txt]\n{line}")
    );
    // A hole of 2 GiB costs nothing to make and must cost little to refuse.
    let hole = File::create(space.path("hole.bin")).unwrap();
    hole.set_len(2 << 30).unwrap();
    assert_eq!(
        read(&space, json!({"path": "hole.bin", "offset": 2})),
        "error: hole.bin has 2147483648 bytes, more than the 1073741824 that can be read"
    );
}

#[test]
fn a_cancelled_call_stops() {
    use crate::common::context;
    use std::sync::Arc;
    use tidegate_tools::{BoxFuture, CallContext, Cancel};
    struct Cancelled;
    impl Cancel for Cancelled {
        fn is_cancelled(&self) -> bool {
            true
        }
        fn cancelled(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }
    let space = Space::new();
    space.file("a.txt", "text");
    for (tool, arguments) in [
        ("read_file", json!({"path": "a.txt"})),
        ("list_files", json!({})),
        ("search_files", json!({"pattern": "text"})),
        (
            "edit_file",
            json!({"path": "a.txt", "old_text": "t", "new_text": "", "replace_all": true}),
        ),
        ("write_file", json!({"path": "a.txt", "content": ""})),
    ] {
        let context = CallContext {
            cancel: Arc::new(Cancelled),
            ..context()
        };
        let ended = run(space.call_in(tool, arguments, context));
        assert_eq!(
            (ended.how.as_str(), ended.text.as_str()),
            ("error", "cancelled; nothing was changed"),
            "{tool}"
        );
    }
    assert_eq!(space.content("a.txt").unwrap(), "text");
}
