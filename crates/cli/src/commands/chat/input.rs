//! What is typed: with line editing at a terminal, line by line elsewhere.
//!
//! Reading blocks, so it is done by a thread of its own; it reads only when a line is asked for, and leaves the
//! terminal to others in between.

use super::command::COMMANDS;
use crate::output;
use anyhow::Context as _;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use std::borrow::Cow;
use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Lines of the history that are kept.
const KEPT: usize = 1_000;

/// What came of asking for a line.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line, perhaps with line breaks in it.
    Line(String),
    /// Ctrl-C; whether something had been typed.
    Interrupted { with_text: bool },
    /// Ctrl-D, or the end of the input.
    End,
}

/// Asks for lines.
pub(super) struct Input {
    requests: mpsc::Sender<Request>,
}

struct Request {
    prompt: String,
    answer: oneshot::Sender<anyhow::Result<Typed>>,
}

impl Input {
    /// A line editor at the terminal, with its history in this file.
    pub(super) fn editor(history: PathBuf) -> anyhow::Result<Self> {
        Self::start(move |requests| match Session::new(history) {
            Ok(mut session) => serve(requests, |prompt| session.read(prompt)),
            Err(error) => {
                let mut failed = Some(error);
                serve(requests, |_| {
                    let error = failed.take();
                    Err(error.unwrap_or_else(|| anyhow::anyhow!("the line editor did not start")))
                });
            }
        })
    }

    /// Each line of standard input; a backslash at the end of a line joins it with the next.
    pub(super) fn lines() -> anyhow::Result<Self> {
        Self::start(|requests| serve(requests, |_| read_joined()))
    }

    fn start(run: impl FnOnce(mpsc::Receiver<Request>) + Send + 'static) -> anyhow::Result<Self> {
        let (requests, receiver) = mpsc::channel();
        // It is not waited for: at the end it may be in the middle of reading.
        std::thread::Builder::new()
            .name("input".into())
            .spawn(move || run(receiver))
            .context("cannot start the thread that reads the input")?;
        Ok(Self { requests })
    }

    /// Asks for a line. Giving up waiting leaves the line to be read all the same.
    pub(super) async fn read(&self, prompt: &str) -> anyhow::Result<Typed> {
        let (answer, answered) = oneshot::channel();
        let prompt = prompt.to_owned();
        // A thread that ended answers no more: that is the end of the input.
        if self.requests.send(Request { prompt, answer }).is_err() {
            return Ok(Typed::End);
        }
        answered.await.unwrap_or(Ok(Typed::End))
    }
}

fn serve(requests: mpsc::Receiver<Request>, mut read: impl FnMut(&str) -> anyhow::Result<Typed>) {
    for request in requests {
        let typed = read(&request.prompt);
        if request.answer.send(typed).is_err() {
            return;
        }
    }
}

fn read_joined() -> anyhow::Result<Typed> {
    let mut whole = String::new();
    loop {
        let mut bytes = Vec::new();
        let length = io::stdin()
            .lock()
            .read_until(b'\n', &mut bytes)
            .context("cannot read standard input")?;
        if length == 0 {
            return Ok(if whole.is_empty() {
                Typed::End
            } else {
                Typed::Line(whole)
            });
        }
        let line =
            String::from_utf8(bytes).context("a line of standard input is not UTF-8 text; convert it")?;
        let line = line.trim_end_matches('\n').trim_end_matches('\r');
        match line.strip_suffix('\\') {
            Some(line) => {
                whole.push_str(line);
                whole.push('\n');
            }
            None => {
                whole.push_str(line);
                return Ok(Typed::Line(whole));
            }
        }
    }
}

/// The line editor with its history.
struct Session {
    editor: Editor<Commands, DefaultHistory>,
    history: PathBuf,
    /// Whether there was text when Ctrl-C was pressed.
    with_text: Arc<AtomicBool>,
    joined_lines: JoinedLines,
}

impl Session {
    fn new(history: PathBuf) -> anyhow::Result<Self> {
        let config = Config::builder()
            .max_history_size(KEPT)?
            .history_ignore_space(true)
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config).context("the line editor cannot use this terminal")?;
        editor.set_helper(Some(Commands));
        let with_text = Arc::new(AtomicBool::new(true));
        let interrupt = Interrupt(Arc::clone(&with_text));
        editor.bind_sequence(
            KeyEvent::ctrl('C'),
            EventHandler::Conditional(Box::new(interrupt)),
        );
        let joined_lines = JoinedLines::default();
        let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
        editor.bind_sequence(enter, EventHandler::Conditional(Box::new(joined_lines.clone())));
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::ALT),
            EventHandler::Simple(Cmd::Newline),
        );
        match editor.load_history(&history) {
            Ok(()) => {}
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => output::tell(&format!(
                "note: the history of what was typed cannot be read ({error}): {}",
                history.display()
            )),
        }
        Ok(Self {
            editor,
            history,
            with_text,
            joined_lines,
        })
    }

    fn read(&mut self, prompt: &str) -> anyhow::Result<Typed> {
        self.with_text.store(true, Ordering::Relaxed);
        self.joined_lines.lines().clear();
        match self.editor.readline(prompt) {
            Ok(line) => {
                let line = self.joined_lines.joined(line);
                if !line.trim().is_empty() {
                    self.remember(&line);
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted {
                with_text: self.with_text.load(Ordering::Relaxed),
            }),
            Err(error) => Err(error).context("the line editor cannot read from the terminal"),
        }
    }

    fn remember(&mut self, line: &str) {
        let kept = self.editor.add_history_entry(line).and_then(|is_new| {
            if is_new {
                self.editor.append_history(&self.history)
            } else {
                Ok(())
            }
        });
        if let Err(error) = kept {
            output::aside(&format!(
                "note: what was typed is not kept in {} ({error})",
                self.history.display()
            ));
        }
    }
}

/// Ctrl-C, which first notes whether there is anything to clear.
struct Interrupt(Arc<AtomicBool>);

impl ConditionalEventHandler for Interrupt {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(!context.line().is_empty(), Ordering::Relaxed);
        Some(Cmd::Interrupt)
    }
}

/// Enter behind a backslash: the line goes on. What stood before each such Enter, backslash included.
#[derive(Clone, Default)]
struct JoinedLines(Arc<Mutex<Vec<String>>>);

impl ConditionalEventHandler for JoinedLines {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let line = context.line();
        let goes_on = context.pos() == line.len() && line.ends_with('\\');
        goes_on.then(|| {
            self.lines().push(line.to_owned());
            Cmd::Insert(1, "\n".into())
        })
    }
}

impl JoinedLines {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line without the backslashes that only said that it goes on. Those that were pasted stay.
    fn joined(&self, line: String) -> String {
        // The last first, so that the places of the others stay what they are.
        std::mem::take(&mut *self.lines())
            .into_iter()
            .rev()
            .fold(line, |line, before| {
                let parts = line.strip_prefix(&before).zip(before.strip_suffix('\\'));
                match parts {
                    Some((after, before)) if after.starts_with('\n') => format!("{before}{after}"),
                    Some(_) | None => line,
                }
            })
    }
}

/// Completes the names of commands.
struct Commands;

impl Helper for Commands {}

impl Hinter for Commands {
    type Hint = String;
}

impl Validator for Commands {}

impl Highlighter for Commands {
    /// Shows no control characters: pasted text could play with the terminal. They have no width.
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        let is_shown = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
        if line.chars().all(is_shown) {
            Cow::Borrowed(line)
        } else {
            Cow::Owned(line.chars().filter(|character| is_shown(*character)).collect())
        }
    }
}

impl Completer for Commands {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let begun = line.get(..pos).unwrap_or_default();
        let candidates = COMMANDS
            .iter()
            .filter(|(name, _, _)| begun.starts_with('/') && name.starts_with(begun))
            .map(|(name, takes, _)| Pair {
                display: format!("{name} {takes}").trim_end().to_owned(),
                replacement: (*name).to_owned(),
            });
        Ok((0, candidates.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backslashes_of_lines_that_go_on_are_taken_away() {
        for (befores, line, expected) in [
            (vec![], "a\\\nb", "a\\\nb"),
            (vec!["a\\"], "a\\\nb", "a\nb"),
            (vec!["a\\", "a\\\nb\\"], "a\\\nb\\\nc", "a\nb\nc"),
            (vec!["a\\"], "changed\\\nb", "changed\\\nb"),
            (vec!["a\\"], "a\\b", "a\\b"),
        ] {
            let lines = JoinedLines::default();
            lines.lines().extend(befores.into_iter().map(str::to_owned));
            assert_eq!(lines.joined(line.to_owned()), expected, "{line:?}");
        }
    }
}
