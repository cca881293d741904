//! The tour's child process: this program again, run as a user would.

use anyhow::{Context as _, ensure};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// A line the child printed.
pub(super) enum Line {
    /// On standard error: what it does.
    Activity(String),
    /// On standard output: what it says.
    Text(String),
}

/// A `tidegate` process on the tour's folder.
pub(super) struct Child {
    process: std::process::Child,
    lines: mpsc::Receiver<Line>,
    text: String,
}

impl Child {
    /// Starts one with these arguments, with the tour's configuration and data and nothing of the user's.
    pub(super) fn start(
        folder: &Path,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEGATE_") {
                command.env_remove(name);
            }
        }
        let mut process = command
            .arg("--config")
            .arg(folder.join("tidegate.toml"))
            .arg("--data-dir")
            .arg(folder.join("data"))
            .args(arguments.into_iter().map(Into::into))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start this program again")?;
        let (sender, lines) = mpsc::channel();
        read_lines(process.stderr.take(), sender.clone(), Line::Activity);
        read_lines(process.stdout.take(), sender, Line::Text);
        Ok(Self {
            process,
            lines,
            text: String::new(),
        })
    }

    /// Prints what the child prints, indented, until a line is the wanted one (then true) or it has ended.
    pub(super) fn forward_until(
        &mut self,
        show: bool,
        wanted: impl Fn(&Line) -> bool,
    ) -> anyhow::Result<bool> {
        while let Ok(line) = self.lines.recv() {
            let text = match &line {
                Line::Activity(text) => text,
                Line::Text(text) => {
                    self.text.push_str(text);
                    self.text.push('\n');
                    text
                }
            };
            if show {
                crate::output::line(&format!("   {text}"))?;
            }
            if wanted(&line) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Kills it at once (SIGKILL on Unix): it gets no chance to store anything.
    pub(super) fn kill(mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Waits for its end. Gives its answer.
    pub(super) fn finish(mut self) -> anyhow::Result<String> {
        let status = self.process.wait()?;
        ensure!(status.success(), "the resumed run ended with {status}");
        Ok(self.text.trim().to_owned())
    }
}

impl Drop for Child {
    /// A tour that ends early takes its child with it.
    fn drop(&mut self) {
        // After `kill` and `finish` there is nothing left to kill, and that is no fault.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_lines(
    pipe: Option<impl Read + Send + 'static>,
    sender: mpsc::Sender<Line>,
    make: impl Fn(String) -> Line + Send + 'static,
) {
    let Some(pipe) = pipe else { return };
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(make(line)).is_err() {
                return;
            }
        }
    });
}
