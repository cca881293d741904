//! A home of its own for a program under test, and running it there.

use regex::Regex;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tidegate_tests::tidegate_binary;

/// A user's home with a working folder in it; nothing of the real user's is seen by the program.
pub(crate) struct Home {
    folder: TempDir,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The configuration most tests use: one scripted model for every tier, beside its scenario.
const SCRIPTED: &str = r#"
[providers.s]
kind = "scripted"
scenario = "scenario.toml"
[tiers]
lite = ["s:m"]
flash = ["s:m"]
pro = ["s:m"]
"#;

impl Home {
    /// A home without a configuration.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("tidegate-cli-")
            .tempdir()
            .unwrap();
        for name in ["project", "config/tidegate", "data"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A home whose user configuration has a model that plays `scenario`.
    pub(crate) fn scripted(scenario: &str) -> Self {
        let home = Self::bare();
        home.configure(SCRIPTED);
        home.play(scenario);
        home
    }

    /// A home whose model gives `answer` to whatever it is asked, for a while.
    pub(crate) fn answering(answer: &str) -> Self {
        Self::scripted(&format!("[[reply]]\ntext = {answer:?}\n").repeat(10))
    }

    /// A home whose model is an OpenAI-compatible server at `base_url`.
    pub(crate) fn openai(base_url: &str, more: &str) -> Self {
        let home = Self::bare();
        home.configure(&format!(
            "[providers.o]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n{more}\n[tiers]\nlite = [\"o:m\"]\n"
        ));
        home
    }

    /// Writes the user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        self.write("config/tidegate/tidegate.toml", text);
    }

    /// Writes the scenario of the scripted model.
    pub(crate) fn play(&self, scenario: &str) {
        self.write("config/tidegate/scenario.toml", scenario);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Canonical, as the program shows it.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these arguments, in the working folder, with no variables but those it needs.
    pub(crate) fn command<I, A>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path(""))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("TIDEGATE_DATA_DIR", self.path("data"))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run<const N: usize>(&self, arguments: [&str; N]) -> Ended {
        ended(self.command(arguments))
    }

    /// Runs the program to its end with these variables.
    pub(crate) fn run_with<const N: usize>(&self, variables: &[(&str, &str)], arguments: [&str; N]) -> Ended {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        ended(command)
    }

    /// Runs the program, which has to succeed, and gives its one JSON object.
    pub(crate) fn json<const N: usize>(&self, arguments: [&str; N]) -> Value {
        self.run(arguments).code(0).json()
    }

    /// The text with what differs from run to run replaced: folders, ids, times.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let mut text = text.replace(&self.path("").display().to_string(), "~/");
        for (pattern, with) in [
            (r"\bs_[0-9a-f]{32}\b", "s_…"),
            (r"\bu_[0-9a-f]{32}\b", "u_…"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE TIME"),
            (r"\b\d+ ms\b", "N ms"),
            (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, with).into_owned();
        }
        text
    }

    /// All bytes of the files below `folder`, one after the other.
    pub(crate) fn bytes_below(&self, folder: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    bytes.extend(fs::read(entry.path()).unwrap());
                }
            }
        }
        bytes
    }
}

/// The program.
pub(crate) fn program() -> &'static Path {
    tidegate_binary().unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a program to its end. Nobody may ever see a panic or a Debug dump.
#[track_caller]
pub(crate) fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    let ended = Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
    };
    ended.is_fit_for_people();
    ended
}

impl Ended {
    #[track_caller]
    fn is_fit_for_people(&self) {
        for dump in [
            "panicked at",
            "RUST_BACKTRACE",
            "Os { code",
            "Error {",
            "Some(",
            "Err(",
        ] {
            let mut told = self.err.lines().filter(|line| !is_logged(line));
            assert!(
                !told.any(|line| line.contains(dump)),
                "{dump:?} is in:\n{}",
                self.err
            );
        }
    }

    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(
            self.code,
            Some(expected),
            "standard output:\n{}\nstandard error:\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Checks that standard error has each of these texts.
    #[track_caller]
    pub(crate) fn says<const N: usize>(self, texts: [&str; N]) -> Self {
        for text in texts {
            assert!(
                self.err.contains(text),
                "{text:?} is not in:\n{}\nstandard output:\n{}",
                self.err,
                self.out
            );
        }
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let [value] = self.lines().try_into().expect("one JSON object");
        value
    }

    /// Standard output as JSON objects, one a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        assert!(self.out.is_empty() || self.out.ends_with('\n'), "{:?}", self.out);
        self.out
            .lines()
            .map(|line| {
                let value: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
                assert!(value.is_object(), "{line}");
                value
            })
            .collect()
    }
}

/// Whether the line is one of the log, which is for those who know the program from inside.
fn is_logged(line: &str) -> bool {
    [" TRACE ", " DEBUG ", " INFO "]
        .iter()
        .any(|level| line.contains(level))
}

/// A program that runs, whose lines are read one by one.
pub(crate) struct Running {
    pub(crate) child: Child,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self {
            child: command.spawn().unwrap(),
        }
    }

    pub(crate) fn out(&mut self) -> Lines {
        Lines(Box::new(BufReader::new(self.child.stdout.take().unwrap())))
    }

    pub(crate) fn err(&mut self) -> Lines {
        Lines(Box::new(BufReader::new(self.child.stderr.take().unwrap())))
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits for its end. Gives its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves nothing running; one that succeeded has nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines as they come.
pub(crate) struct Lines(Box<dyn std::io::BufRead>);

impl Lines {
    /// Waits for a line with this text.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                panic!("the program ended without saying {text:?}; it said:\n{seen}");
            }
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
        }
    }

    /// All that still comes.
    pub(crate) fn rest(mut self) -> String {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.0, &mut rest).unwrap();
        rest
    }
}
