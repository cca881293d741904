//! A terminal of its own for a program under test, and a person before it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long is waited for something to appear before a test fails: only a test that fails waits as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the line editor writes when it is ready for keys: from here on pasted text is to be marked.
const READY: &str = "\u{1b}[?2004h";

/// A program at a terminal.
pub(crate) struct Screen {
    keys: File,
    pieces: Receiver<Vec<u8>>,
    /// What came and was not waited for yet.
    ahead: Vec<u8>,
    /// Everything that came.
    seen: Vec<u8>,
    child: Child,
    // The terminal goes when its last holder does.
    _terminal: File,
}

impl Screen {
    /// Starts the program at a terminal of 24 rows and 100 columns, which is its controlling one.
    pub(crate) fn start(mut command: Command) -> Self {
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1");
        let (pty, line) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(24, 100)).unwrap();
        // A command whose streams were set keeps them: they are set to the terminal by hand.
        let copy = || File::from(pty.as_fd().try_clone_to_owned().unwrap());
        let (keys, mut output, terminal) = (copy(), copy(), copy());
        let mut at_terminal = Command::new(command.get_program());
        at_terminal.args(command.get_args()).env_clear();
        if let Some(folder) = command.get_current_dir() {
            at_terminal.current_dir(folder);
        }
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                at_terminal.env(name, value);
            }
        }
        let child = pty_process::blocking::Command::from(at_terminal)
            .spawn(line)
            .unwrap();
        drop(OwnedFd::from(pty));
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end of a terminal is an error on Linux.
            while let Ok(length @ 1..) = output.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            keys,
            pieces,
            ahead: Vec::new(),
            seen: Vec::new(),
            child,
            _terminal: terminal,
        }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for this text behind what was waited for before. Gives what came up to its end.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let place = self
                .ahead
                .windows(text.len())
                .position(|piece| piece == text.as_bytes());
            if let Some(place) = place {
                let came: Vec<u8> = self.ahead.drain(..place + text.len()).collect();
                return plain(&came);
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => {
                    self.seen.extend(&piece);
                    self.ahead.extend(piece);
                }
                Err(why) => panic!(
                    "{why}: {text:?} did not appear; there was:\n{}",
                    plain(&self.seen)
                ),
            }
        }
    }

    /// Waits until a line can be typed. Gives what came before.
    #[track_caller]
    pub(crate) fn ready(&mut self) -> String {
        self.until(READY)
    }

    /// Types a line when one can be typed, and presses Enter.
    #[track_caller]
    pub(crate) fn say(&mut self, line: &str) {
        self.ready();
        self.press(&format!("{line}\r"));
    }

    /// Waits for the program's end. Gives its exit code and all that was seen.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        while let Ok(piece) = self.pieces.try_recv() {
            self.seen.extend(piece);
        }
        let seen = plain(&self.seen);
        assert!(!seen.contains("panicked"), "{seen}");
        (code, seen)
    }

    pub(crate) fn process(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A test that failed leaves nothing running; one that succeeded has nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text without the sequences that move the cursor and the like.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let sequences = regex::Regex::new("\u{1b}\\[[0-9;?]*[a-zA-Z]").unwrap();
    sequences.replace_all(&text, "").into_owned()
}
