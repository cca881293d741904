//! `search_files`.

use crate::common::{Space, cleared, context, run};
use serde_json::{Value, json};
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tidegate_policy::Classification::*;
use tidegate_policy::Label;
use tidegate_tools::{BoxFuture, CallContext, Cancel};

fn search(space: &Space, arguments: Value) -> String {
    let ended = run(space.call("search_files", arguments));
    if ended.how == "ok" {
        ended.text
    } else {
        format!("{}: {}", ended.how, ended.text)
    }
}

fn tree() -> Space {
    let space = Space::new();
    space
        .file("b.txt", "alpha\nbeta\nALPHA")
        .file("a/c.md", "gamma alpha\r\n")
        .file("a/d.txt", "")
        .file("e.bin", b"alpha\0");
    space
        .file("latin.txt", b"alpha caf\xe9")
        .file(".git/x", "alpha")
        .link("b.txt", "link")
        .link("a", "folder-link");
    space.link("../outside/secret.txt", "out");
    space.file(".tidegate-0123456789abcdef.tmp", "alpha");
    space
}

#[test]
fn lines_are_found_with_path_and_number() {
    let space = tree();
    let passed_over = "[2 files were passed over: binary]";
    let table = [
        (
            json!({"pattern": "alpha"}),
            format!("a/c.md:1: gamma alpha\nb.txt:1: alpha\n{passed_over}"),
        ),
        (
            json!({"pattern": "alpha", "case_insensitive": true, "glob": "*.txt"}),
            "b.txt:1: alpha\nb.txt:3: ALPHA\n[1 file was passed over: binary]".into(),
        ),
        (
            json!({"pattern": "^.*a$", "glob": "*.{txt,md}", "path": "a"}),
            "a/c.md:1: gamma alpha".into(),
        ),
        (json!({"pattern": "^$", "path": "a"}), "[no line matches]".into()),
        (
            json!({"pattern": "alpha", "glob": "a/**"}),
            "a/c.md:1: gamma alpha".into(),
        ),
        (
            json!({"pattern": "alpha", "path": "b.txt"}),
            "b.txt:1: alpha".into(),
        ),
        (
            json!({"pattern": "alpha", "path": "link"}),
            "b.txt:1: alpha".into(),
        ),
        (
            json!({"pattern": "alpha", "path": "folder-link"}),
            "a/c.md:1: gamma alpha".into(),
        ),
        (
            json!({"pattern": "alpha", "path": ".git"}),
            ".git/x:1: alpha".into(),
        ),
        (
            json!({"pattern": "OUTSIDE"}),
            format!("[no line matches]\n{passed_over}"),
        ),
        (
            json!({"pattern": "alpha", "path": "out"}),
            "error: out cannot be used: the link out leads out of the workspace".into(),
        ),
        (
            json!({"pattern": "alpha", "path": "b.tx"}),
            "error: there is no b.tx; did you mean b.txt?".into(),
        ),
        (
            json!({"pattern": "alpha", "limit": 1}),
            "a/c.md:1: gamma alpha\n[only the first 1 lines; narrow pattern, path or glob, or raise limit]"
                .into(),
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(search(&space, arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn a_wrong_expression_is_shown_where_it_is_wrong() {
    insta::assert_snapshot!(search(&tree(), json!({"pattern": "a(b"})), @r"
    error: the pattern is not a regular expression this tool can use: regex parse error:
        a(b
         ^
    error: unclosed group
    ");
    insta::assert_snapshot!(search(&tree(), json!({"pattern": "(?=a)"})), @r"
    error: the pattern is not a regular expression this tool can use: regex parse error:
        (?=a)
        ^^^
    error: look-around, including look-ahead and look-behind, is not supported
    ");
    insta::assert_snapshot!(
        search(&tree(), json!({"pattern": r"\w{1000}{1000}"})),
        @"error: the pattern is not a regular expression this tool can use: Compiled regex exceeds size limit of 1048576 bytes."
    );
}

#[test]
fn long_lines_are_shown_around_the_match_and_never_inside_a_character() {
    let space = Space::new();
    let family = "👩‍👩‍👧‍👦";
    space.file(
        "a.txt",
        format!("{}NEEDLE{}", family.repeat(100), family.repeat(100)),
    );
    let found = search(&space, json!({"pattern": "NEEDLE"}));
    let shown = found
        .strip_prefix("a.txt:1: ...")
        .unwrap()
        .strip_suffix("...")
        .unwrap();
    let (before, after) = shown.split_once("NEEDLE").unwrap();
    assert!(shown.chars().count() <= 300);
    for part in [before, after] {
        assert!(!part.is_empty());
        assert_eq!(part.replace(family, ""), "");
    }
}

#[test]
fn a_hundred_megabytes_are_searched_within_bounds() {
    let space = Space::new();
    let content = format!("{}\n", "x".repeat(65_535)).repeat(64);
    for index in 0..25 {
        space.file(&format!("{index:02}.txt"), &content);
    }
    space.file("zz.txt", "needle");
    File::create(space.path("hole.txt"))
        .unwrap()
        .set_len(17 << 20)
        .unwrap();
    let found = search(&space, json!({"pattern": "needle$"}));
    assert_eq!(found, "zz.txt:1: needle\n[1 file was passed over: over 16 MiB]");
    let found = search(&space, json!({"pattern": "x", "limit": 2000}));
    assert!(found.len() < 2000 * 350, "{} bytes", found.len());
}

#[test]
fn the_label_joins_every_file_looked_at_matched_or_not() {
    let space = Space::new();
    space
        .file("public/a.txt", "alpha")
        .file("confidential/b.txt", "beta")
        .file("restricted/c.txt", "alpha");
    let found = |pattern: &str, glob: &str, clearance| {
        let ended = run(space.call_in(
            "search_files",
            json!({"pattern": pattern, "glob": glob}),
            cleared(clearance),
        ));
        (ended.text, ended.label)
    };
    let line = "public/a.txt:1: alpha";
    assert_eq!(
        found("alpha", "*.txt", Confidential),
        (line.into(), Label::untrusted(Confidential))
    );
    assert_eq!(
        found("alpha", "*.txt", Internal),
        (line.into(), Label::untrusted(Internal))
    );
    assert_eq!(
        found("gamma", "*", Confidential),
        ("[no line matches]".into(), Label::untrusted(Confidential))
    );
}

/// Says stop when it has been asked often enough.
struct After(AtomicUsize);

impl Cancel for After {
    fn is_cancelled(&self) -> bool {
        self.0.fetch_sub(1, Ordering::SeqCst) <= 1
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_search_stops_in_the_middle_when_it_is_cancelled() {
    let space = Space::new();
    for index in 0..100 {
        space.file(&format!("{index:03}.txt"), "alpha");
    }
    let cancel = Arc::new(After(AtomicUsize::new(200)));
    let context = CallContext {
        cancel: Arc::clone(&cancel) as Arc<dyn Cancel>,
        ..context()
    };
    let ended = run(space.call_in("search_files", json!({"pattern": "alpha"}), context));
    assert_eq!(
        (ended.how.as_str(), ended.text.as_str()),
        ("error", "cancelled; nothing was changed")
    );
    // It was asked between the files, and not again after it had said so.
    assert_eq!(cancel.0.load(Ordering::SeqCst), 0);
}

/// Lets the work go on to its tenth question, says so, and waits there.
struct Barrier {
    asked: AtomicUsize,
    reached: mpsc::Sender<()>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Cancel for Barrier {
    fn is_cancelled(&self) -> bool {
        if self.asked.fetch_add(1, Ordering::SeqCst) + 1 == 10 {
            self.reached.send(()).unwrap();
            self.go_on.lock().unwrap().recv().unwrap();
        }
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_search_stops_when_nobody_waits_for_it_any_more() {
    let space = Space::new();
    for index in 0..100 {
        space.file(&format!("{index:03}.txt"), "alpha");
    }
    let (reached, is_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let barrier = Arc::new(Barrier {
        asked: AtomicUsize::new(0),
        reached,
        go_on: Mutex::new(may_go_on),
    });
    run(async {
        let prepared = space
            .prepare("search_files", json!({"pattern": "alpha"}), &context())
            .await
            .unwrap();
        let context = CallContext {
            cancel: Arc::clone(&barrier) as Arc<dyn Cancel>,
            ..context()
        };
        let call = tokio::spawn(prepared.run(context));
        tokio::task::spawn_blocking(move || is_reached.recv().unwrap())
            .await
            .unwrap();
        // As a timeout does.
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        go_on.send(()).unwrap();
    });
    // The runtime is gone, and with it the thread of the search, which asked no more.
    assert_eq!(barrier.asked.load(Ordering::SeqCst), 10);
}
