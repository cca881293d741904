//! Running a command by its launcher, and the end of it.

use super::CommandError;
use super::output::Output;
use crate::confine::{Ended, Launcher, Plan, Report, Stage};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::time::Duration;
use tidegate_tools::Cancel;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

/// How much a command may write before it is stopped, in bytes.
pub(crate) const MOST_OUTPUT: u64 = 256 << 20;

/// How long a launcher has to stop its command before it is killed itself, which kills a confined command.
const STOPPING: Duration = Duration::from_millis(600);

/// How long output is waited for after the launcher is gone: only of a process that outlived it.
const DRAINING: Duration = Duration::from_millis(100);

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Cancelled,
    TimedOut,
    TooMuchOutput,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) output: Output,
    /// What the launcher told last.
    pub(crate) report: Option<Report>,
    pub(crate) stopped: Option<Stopped>,
}

impl Finished {
    /// How the command ended, unless it never ran.
    pub(crate) fn ended(&self) -> Result<&Ended, CommandError> {
        match &self.report {
            Some(Report::Ended(ended)) => Ok(ended),
            Some(Report::Refused { step, cause }) => Err(CommandError::Refused {
                step: step.clone(),
                cause: cause.clone(),
            }),
            Some(Report::Started) | None => Err(CommandError::Lost),
        }
    }
}

/// Runs `plan` to its end, to the end of `time`, or until `cancel` says stop. In each case, and also when the future
/// is dropped, all processes of the command are stopped.
pub(crate) async fn run(
    launcher: &Launcher,
    plan: &Plan,
    time: Duration,
    cancel: &dyn Cancel,
) -> Result<Finished, CommandError> {
    let mut running = Running::start(launcher, plan)?;
    let mut order = line_of(plan)?;
    let deadline = Instant::now() + time;
    let mut finished = Finished {
        output: Output::default(),
        report: None,
        stopped: None,
    };
    let mut cancelled = cancel.cancelled();
    let mut chunk = vec![0; CHUNK];
    let mut line = String::new();
    let (mut output_ended, mut reports_ended) = (false, false);
    let (mut gone, mut kill_at) = (None, None);
    while !(output_ended && reports_ended && gone.is_some()) {
        let stop = tokio::select! {
            written = running.orders.write(&order), if !order.is_empty() => {
                match written {
                    Ok(length) if length > 0 => drop(order.drain(..length.min(order.len()))),
                    // A launcher that is no more says why, or is missed at the end.
                    Ok(_) | Err(_) => order.clear(),
                }
                None
            }
            read = running.output.read(&mut chunk), if !output_ended => {
                match read {
                    Ok(0) | Err(_) => output_ended = true,
                    Ok(length) => finished.output.take(chunk.get(..length).unwrap_or_default()),
                }
                (finished.output.total() > MOST_OUTPUT).then_some(Stopped::TooMuchOutput)
            }
            read = running.reports.read_line(&mut line), if !reports_ended => {
                match read {
                    Ok(0) | Err(_) => reports_ended = true,
                    Ok(_) => finished.take_report(&std::mem::take(&mut line)),
                }
                None
            }
            _ = running.child.wait(), if gone.is_none() => {
                gone = Some(Instant::now());
                None
            }
            () = &mut cancelled, if finished.stopped.is_none() && gone.is_none() => Some(Stopped::Cancelled),
            () = sleep_until(deadline), if finished.stopped.is_none() && gone.is_none() => Some(Stopped::TimedOut),
            () = until(kill_at), if kill_at.is_some() && gone.is_none() => {
                kill_at = None;
                // If it is gone, that is what was wanted.
                let _gone = running.child.start_kill();
                None
            }
            () = until(gone.map(|gone| gone + DRAINING)), if gone.is_some() => break,
        };
        if let Some(why) = stop.filter(|_| finished.stopped.is_none() && gone.is_none()) {
            finished.stopped = Some(why);
            // Half a plan is none.
            order.clear();
            kill_at = Some(Instant::now() + STOPPING);
            // Closing this side of the socket is how the launcher is told to stop.
            let _gone = running.orders.shutdown().await;
        }
    }
    Ok(finished)
}

impl Finished {
    /// The first refusal stands: it names the cause. Whatever else is told replaces what was told before.
    fn take_report(&mut self, line: &str) {
        if matches!(self.report, Some(Report::Refused { .. } | Report::Ended(_))) {
            return;
        }
        if let Ok(report) = serde_json::from_str(line) {
            self.report = Some(report);
        }
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The plan as the launcher reads it. It is sent while the launcher is listened to: one that does not read it must not
/// be waited for.
fn line_of(plan: &Plan) -> Result<Vec<u8>, CommandError> {
    let mut line = serde_json::to_vec(plan).map_err(|cause| CommandError::Pipe {
        action: "talked to",
        cause: cause.into(),
    })?;
    line.push(b'\n');
    Ok(line)
}

/// A launcher at work. Dropping it closes the socket, and so stops the command.
struct Running {
    child: Child,
    output: pipe::Receiver,
    reports: BufReader<tokio::net::unix::OwnedReadHalf>,
    orders: tokio::net::unix::OwnedWriteHalf,
}

impl Running {
    fn start(launcher: &Launcher, plan: &Plan) -> Result<Self, CommandError> {
        let failed = |action| move |cause| CommandError::Pipe { action, cause };
        let (ours, theirs) = StdUnixStream::pair().map_err(failed("connected"))?;
        let (output, writer) = io::pipe().map_err(failed("listened to"))?;
        let errors = writer.try_clone().map_err(failed("listened to"))?;
        let stage = Stage::of(plan);
        let mut command = Command::new(&launcher.program);
        command
            .args(&launcher.arguments)
            .arg(stage.name())
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(writer)
            .stderr(errors);
        let child = command.spawn().map_err(|cause| CommandError::Launcher {
            program: launcher.program.clone(),
            cause,
        })?;
        // It holds this process's copies of the other ends.
        drop(command);
        ours.set_nonblocking(true).map_err(failed("talked to"))?;
        let socket = UnixStream::from_std(ours).map_err(failed("talked to"))?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).map_err(failed("listened to"))?;
        let (reports, orders) = socket.into_split();
        Ok(Self {
            child,
            output,
            reports: BufReader::new(reports),
            orders,
        })
    }
}
