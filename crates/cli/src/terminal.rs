//! The terminal a person sits at: reading a line of it, its size, its state.

use crate::output::{self, printable};
use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal as _, Write as _};
use tokio::sync::{Mutex, MutexGuard};

/// How questions are shown.
pub(crate) const QUESTION: Style = AnsiColor::Yellow.on_default().bold();

/// Held while a question is put: there is one terminal.
static ASKING: Mutex<()> = Mutex::const_new(());

/// A question at the terminal. If it is dropped before it is answered, that is told: nobody shall answer what is
/// no longer asked.
pub(crate) struct Question {
    is_answered: bool,
    _alone: MutexGuard<'static, ()>,
}

impl Question {
    /// Waits until no other question is put.
    pub(crate) async fn put() -> Self {
        let _alone = ASKING.lock().await;
        Self {
            is_answered: false,
            _alone,
        }
    }

    /// It is over.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.is_answered {
            output::aside("\n(the question is taken back)");
        }
    }
}

/// Shows a question, with the cursor behind it. What was typed before it could be seen is no answer to it.
pub(crate) fn prompt(question: &str) {
    forget_typed();
    let mut out = anstream::stderr().lock();
    // Nobody is asked where nothing can be shown: reading then finds the end of the input.
    let _ = write!(out, "{QUESTION}{}{QUESTION:#}", printable(question)).and_then(|()| out.flush());
}

/// The answer to a question that was just put, without blanks around it; none at the end of the input.
pub(crate) async fn answer() -> io::Result<Option<String>> {
    let line = read_line().await?;
    if line.is_none() {
        output::tell("");
    }
    Ok(line.map(|line| line.trim().to_owned()))
}

/// Reads one line from standard input, which has to be a terminal in its usual line mode. None at the end of the
/// input. Dropping the future gives up reading; nothing of what is typed later is lost then.
#[cfg(unix)]
async fn read_line() -> io::Result<Option<String>> {
    // The thread ends when the other end of this pipe is gone, however this future ends.
    let (given_up, waits) = io::pipe()?;
    let (answer, answered) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("answer".into()).spawn(move || {
        // Nobody waits any more if it was given up.
        let _ = answer.send(read_unless(&given_up));
    })?;
    let line = answered.await.unwrap_or(Ok(None));
    drop(waits);
    line
}

/// Reads a line, unless the other end of `given_up` goes before it is complete.
#[cfg(unix)]
fn read_unless(given_up: &io::PipeReader) -> io::Result<Option<String>> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    // In line mode a terminal gives at most 4,096 bytes, and never more than a line.
    let mut buffer = [0; 8_192];
    let mut line = Vec::new();
    let input = io::stdin();
    while !line.ends_with(b"\n") {
        let mut watched = [
            PollFd::new(&input, PollFlags::IN),
            PollFd::new(given_up, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [typed, end] = watched.map(|watched| watched.revents());
        if !end.is_empty() {
            return Ok(None);
        }
        if typed.is_empty() {
            continue;
        }
        match rustix::io::read(&input, &mut buffer) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(length) => line.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let text = String::from_utf8_lossy(&line);
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Reads one line from standard input. None at the end of the input.
#[cfg(not(unix))]
async fn read_line() -> io::Result<Option<String>> {
    let read = || {
        let mut line = String::new();
        let length = io::stdin().read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
    };
    tokio::task::spawn_blocking(read).await?
}

/// Throws away what was typed and not read yet.
fn forget_typed() {
    #[cfg(unix)]
    if io::stdin().is_terminal() {
        // A terminal that cannot do this has typed nothing ahead.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The rows and columns of the terminal at standard error; none if it has none.
pub(crate) fn size() -> Option<(usize, usize)> {
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
    }
    #[cfg(not(unix))]
    None
}

/// How the terminal at standard input was when this was made, to be restored when the program has to leave while
/// a line is edited.
pub(crate) struct Saved {
    #[cfg(unix)]
    attributes: Option<rustix::termios::Termios>,
}

impl Saved {
    /// As it is now.
    pub(crate) fn now() -> Self {
        Self {
            #[cfg(unix)]
            attributes: io::stdin()
                .is_terminal()
                .then(|| rustix::termios::tcgetattr(io::stdin()).ok())
                .flatten(),
        }
    }

    /// Puts it back.
    pub(crate) fn restore(&self) {
        #[cfg(unix)]
        if let Some(attributes) = &self.attributes {
            // Pasted text is no longer to be marked, which line editing asked for.
            let _ = io::stdout().lock().write_all(b"\x1b[?2004l\r\n");
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(io::stdin(), now, attributes);
        }
    }
}
