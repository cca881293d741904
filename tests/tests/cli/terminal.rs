//! What a person sees at a terminal, and what a pipe gets.

use crate::harness::{Ended, Home, Running, ended};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// A terminal, and the other end of it.
struct Terminal {
    screen: File,
    line: File,
}

impl Terminal {
    fn open() -> Self {
        let screen: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        Self {
            screen: File::from(screen),
            line,
        }
    }

    fn stdio(&self) -> Stdio {
        Stdio::from(self.line.try_clone().unwrap())
    }

    /// Runs the program wholly at this terminal, on which `typed` is typed. Gives its exit code and the screen.
    fn run(mut self, mut command: Command, typed: &str) -> (Option<i32>, String) {
        command.env("TERM", "xterm-256color");
        command
            .stdin(self.stdio())
            .stdout(self.stdio())
            .stderr(self.stdio());
        let mut child = Running::start(command);
        self.screen.write_all(typed.as_bytes()).unwrap();
        let code = child.code();
        (code, self.seen())
    }

    /// Everything on the screen, once nobody holds the terminal any more.
    fn seen(self) -> String {
        let Self { mut screen, line } = self;
        drop(line);
        let mut seen = Vec::new();
        let mut piece = [0; 4096];
        // The end of a terminal is an error on Linux.
        while let Ok(length @ 1..) = screen.read(&mut piece) {
            seen.extend(&piece[..length]);
        }
        String::from_utf8(seen).unwrap().replace("\r\n", "\n")
    }
}

/// Text and names that would play with a terminal.
const NASTY: &str = r#"
[[reply]]
text = "\u001b[2J\u001b]0;title\u0007 back\u0008\rover \u202egnp.exe \u009b31m"
calls = [{ tool = "read_file", arguments = { path = "a\u001b[31mb\u202e.txt\rc" } }, { tool = "x\u001b[2J", arguments = {} }]
[[reply]]
text = "\u001b[31mdone\u202e\r\n"
"#;

fn nasty_home() -> Home {
    let home = Home::scripted(NASTY);
    home.write("project/\u{1b}[31mname\u{202e}", "x");
    home
}

fn is_harmless(text: &str) -> bool {
    !text.contains([
        '\u{1b}', '\u{7}', '\u{8}', '\r', '\u{9b}', '\u{202e}', '\u{7f}', '\u{200b}',
    ])
}

#[test]
fn nothing_a_model_or_file_says_plays_with_the_terminal() {
    let home = nasty_home();
    home.run(["run", "look \u{1b}[2J\u{202e}", "--session", "a"])
        .code(0);
    for arguments in [
        ["run", "more", "--session", "b"].as_slice(),
        &["run", "more", "--session", "c", "--json"],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["sessions", "show", "a"],
        &["sessions", "history", "a"],
        &["sessions", "history", "a", "--json"],
        &["sessions", "export", "a"],
        &["events"],
        &["events", "--json"],
    ] {
        let ended = ended(home.command(arguments)).code(0);
        assert!(is_harmless(&ended.out), "{arguments:?}: {:?}", ended.out);
        assert!(is_harmless(&ended.err), "{arguments:?}: {:?}", ended.err);
    }
}

#[test]
fn a_configuration_does_not_play_with_the_terminal_either() {
    let home = Home::bare();
    for text in [
        "[agent]\n\"\\u001b[2J\" = 3",
        "[agent]\nmodel_policy = \"\\u001b[2J\\r\\u202e\"",
        "[policy.paths]\n\"\\u001b[\" = \"PUBLIC\"",
        "[council]\nx = \"\\u001b[2J\\u202e\"",
    ] {
        home.write("tried.toml", text);
        for command in ["check", "show"] {
            let ended = home.run(["config", command, "--config", "../tried.toml"]);
            assert!(is_harmless(&ended.out), "{text}: {:?}", ended.out);
            assert!(is_harmless(&ended.err), "{text}: {:?}", ended.err);
        }
    }
}

#[test]
fn there_are_colours_at_a_terminal_alone() {
    let home = Home::scripted("[[reply]]\ncalls = [{ tool = \"nope\" }]\n[[reply]]\ntext = \"done\"\n");
    let (code, seen) = Terminal::open().run(home.command(["run", "work"]), "");
    assert_eq!(code, Some(0));
    assert!(
        seen.contains("\u{1b}[33m") && seen.contains("\u{1b}[2m"),
        "{seen:?}"
    );
    let piped = home.run(["run", "work"]).code(0);
    assert!(
        !piped.err.contains('\u{1b}') && !piped.out.contains('\u{1b}'),
        "{piped:?}"
    );
    let mut plain = home.command(["run", "work"]);
    plain.env("NO_COLOR", "1");
    let (_, seen) = Terminal::open().run(plain, "");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn at_a_terminal_the_text_is_shown_while_it_arrives() {
    let home = Home::scripted(
        "[[reply]]\ntext = \"I look.\"\nchunk_chars = 2\ncalls = [{ tool = \"list_files\", arguments = { path = \".\" } }]\n\
         [[reply]]\ntext = \"Nothing is there.\"\nchunk_chars = 3\n",
    );
    let mut command = home.command(["run", "work", "--session", "a"]);
    command.env("NO_COLOR", "1");
    let (code, seen) = Terminal::open().run(command, "");
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(home.redacted(&seen), @r"
    I look.
    ✓ list_files .  N ms
    ▲ this session is INTERNAL now, by list_files of .
    Nothing is there.
    session a · INTERNAL · 1 tool call · 0 tokens in, 0 out
    ");
}

#[test]
fn what_the_reader_may_not_read_is_not_shown_while_it_arrives_either() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"read_file\", arguments = { path = \"confidential/a\" } }]\n\
         [[reply]]\ntext = \"done\"\n\
         [[reply]]\ntext = \"FORTY-TWO\"\ncalls = [{ tool = \"current_time\" }]\n\
         [[reply]]\ntext = \"FORTY-TWO\"\n",
    );
    home.write("project/confidential/a", "42");
    home.run(["run", "read", "--session", "a"]).code(0);
    let lowered = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("TIDEGATE__USERS__LOCAL__CLEARANCE", "INTERNAL");
        command
    };
    let (code, seen) = Terminal::open().run(lowered(&["run", "tell", "--session", "a"]), "");
    assert_eq!(code, Some(3), "{seen}");
    assert!(!seen.contains("FORTY-TWO"), "{seen}");
    home.play("[[reply]]\ntext = \"FORTY-TWO\"\n".repeat(10).as_str());
    let piped = ended(lowered(&["run", "tell", "--session", "a"])).code(3);
    assert!(
        !piped.out.contains("FORTY-TWO") && !piped.err.contains("FORTY-TWO"),
        "{piped:?}"
    );
}

#[test]
fn a_file_of_the_working_folder_is_asked_about() {
    let project =
        "# \u{202e}\n[providers.s]\nkind = \"scripted\"\nscenario = \"s.toml\"\n[tiers]\nlite = [\"s:m\"]\n";
    let home = Home::bare();
    home.write("project/tidegate.toml", project);
    home.write("project/s.toml", "[[reply]]\ntext = \"done\"\n");
    for no in ["n\n", "\n", "\u{4}", "maybe\n"] {
        let (code, seen) = Terminal::open().run(home.command(["run", "work"]), no);
        assert_eq!(code, Some(1), "{seen}");
        assert!(
            seen.contains("is not used; pass another file with --config"),
            "{seen}"
        );
        assert!(
            seen.contains("    # \\u{202e}\n"),
            "the file is shown, escaped: {seen}"
        );
        assert!(seen.contains("    scenario = \"s.toml\"\n"), "{seen}");
    }
    // The scenario came with it, and is shown and asked about, too.
    let (code, seen) = Terminal::open().run(home.command(["run", "work"]), "y\ny\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("    text = \"done\"\n"), "{seen}");
    assert!(seen.contains("done"), "{seen}");
    // It is not asked again, also not elsewhere.
    assert_eq!(home.run(["run", "work"]).code(0).out, "done\n");
    home.write("project/tidegate.toml", format!("{project}# more\n"));
    let mut json = home.command(["run", "work", "--json"]);
    json.env("NO_COLOR", "1");
    let (code, seen) = Terminal::open().run(json, "y\n");
    assert_eq!(code, Some(1), "a program that reads JSON is not asked: {seen}");
}

#[test]
fn deleting_is_asked_about() {
    let home = Home::answering("done");
    home.run(["run", "work", "--session", "a"]).code(0);
    for no in ["n\n", "\n", "\u{4}"] {
        let (code, seen) = Terminal::open().run(home.command(["sessions", "delete", "a"]), no);
        assert_eq!(code, Some(130), "{seen}");
        assert!(
            seen.contains("Erase the content of session a (work) for good? [y/N]"),
            "{seen}"
        );
        assert!(seen.contains("nothing was deleted"), "{seen}");
    }
    home.run(["sessions", "show", "a"]).code(0);
    let (code, seen) = Terminal::open().run(home.command(["sessions", "delete", "a"]), "YES\n");
    assert_eq!(code, Some(0), "{seen}");
    home.run(["sessions", "show", "a"]).code(1);
}

/// Runs the program with a pipe for standard output of which somebody reads one byte and goes away; then
/// `meanwhile` happens.
fn read_a_little(mut command: Command, meanwhile: impl FnOnce()) -> Ended {
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut child = Running::start(command);
    reader.read_exact(&mut [0]).unwrap();
    drop(reader);
    meanwhile();
    let err = child.err().rest();
    Ended {
        code: child.code(),
        out: String::new(),
        err,
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    // More than a pipe holds.
    let home = Home::answering(&"a long answer, ".repeat(20_000));
    home.run(["run", "work", "--session", "a"]).code(0);
    for arguments in [
        ["sessions", "history", "a"].as_slice(),
        &["sessions", "history", "a", "--json"],
        &["sessions", "export", "a"],
        &["run", "--session", "a", "--resume"],
        &["run", "--session", "a", "--resume", "--json"],
    ] {
        let ended = read_a_little(home.command(arguments), || {});
        assert_eq!(ended.code, Some(0), "{arguments:?}");
        assert!(!ended.err.contains("error"), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn a_reader_of_events_to_come_may_go_away_too() {
    let home = Home::answering("done");
    home.run(["run", "work"]).code(0);
    let ended = read_a_little(home.command(["events", "--follow"]), || {
        drop(home.run(["run", "more"]))
    });
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn an_output_that_is_closed_from_the_start_does_not_stop_the_work() {
    let home = Home::answering("done");
    let closed = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.command(arguments);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        command.status().unwrap().code()
    };
    assert_eq!(closed(&["run", "work", "--session", "a"]), Some(0));
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "done\n"
    );
    assert_eq!(closed(&["events"]), Some(0));
    assert_eq!(closed(&["sessions", "list", "--json"]), Some(0));
    assert_eq!(closed(&["sessions", "show", "nobody"]), Some(1));
    assert_eq!(closed(&["sessions", "show", "nobody", "--json"]), Some(1));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let home = Home::answering("done");
    home.run(["run", "work", "--session", "a"]).code(0);
    for arguments in [
        ["events"].as_slice(),
        &["sessions", "show", "a", "--json"],
        &["config", "show"],
    ] {
        let mut command = home.command(arguments);
        command.stdout(File::create("/dev/full").unwrap());
        let ended = ended(command).code(1);
        assert!(
            ended.err.contains("cannot write to standard output"),
            "{}",
            ended.err
        );
    }
}
