//! The shell a launcher starts, and the end of it.

use super::plan::{Ended, Plan, Report};
use super::stage::{Refusal, Step, tell};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long processes have between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(250);

/// How long it is tried to kill processes that are found one by one.
const KILLING: Duration = Duration::from_millis(300);

/// How often processes that ended are looked for while others are waited for.
const TICK: Duration = Duration::from_millis(5);

/// How often orphans are reaped, and processes counted, while the shell runs.
const REAPING: Duration = Duration::from_millis(25);

/// Which processes belong to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All in this process namespace, whose first process this is.
    #[cfg(target_os = "linux")]
    Namespace,
    /// The descendants of this process.
    Descendants,
}

/// A running shell.
pub(super) struct Shell {
    pid: Pid,
    reach: Reach,
    status: Option<WaitStatus>,
    /// How many processes there may be at once.
    processes: u64,
}

/// What a wait for the shell came to.
enum Event {
    /// The program wants the command to stop, or is gone.
    Stop,
    /// Some process ended, or it is time to look.
    Look,
}

impl Shell {
    /// Starts the command of `plan` and tells so.
    pub(super) fn start(plan: &Plan, reach: Reach) -> Result<Self, Refusal> {
        plan.limits.apply(reach != Reach::Descendants)?;
        let child = Command::new("/bin/sh")
            .arg("-c")
            .arg(&plan.command)
            .current_dir(&plan.folder)
            .env_clear()
            .envs(&plan.environment)
            .stdin(standard_input(plan).step(|| "prepare standard input".into())?)
            .process_group(0)
            .spawn()
            .step(|| format!("start /bin/sh in {}", plan.folder.display()))?;
        let pid = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| Refusal::new("start /bin/sh", "it has no process number"))?;
        tell(&Report::Started).step(|| "tell that the command runs".into())?;
        Ok(Self {
            pid,
            reach,
            status: None,
            processes: plan.limits.processes,
        })
    }

    /// Waits for its end, or until the program closes the socket; then sees to it that nothing is left.
    pub(super) fn supervise(mut self) -> Result<Ended, Refusal> {
        let step = || "wait for the command".to_owned();
        #[cfg(target_os = "linux")]
        let shell = rustix::process::pidfd_open(self.pid, rustix::process::PidfdFlags::empty()).step(step)?;
        #[cfg(target_os = "linux")]
        let shell = Some(rustix::fd::AsFd::as_fd(&shell));
        #[cfg(not(target_os = "linux"))]
        let shell = None;
        let mut others = self.reap().step(step)?;
        while self.status.is_none() {
            match next_event(shell).step(step)? {
                Event::Stop => break,
                Event::Look => others = self.reap().step(step)?,
            }
            if self.are_too_many() {
                // All are killed when this process ends. To ask them first would give them time to become more.
                return Ok(Ended {
                    code: None,
                    signal: None,
                    left_behind: false,
                    too_many_processes: true,
                });
            }
        }
        let stopped = self.status.is_none();
        if stopped || others {
            self.stop().step(|| "stop the command's processes".into())?;
        }
        Ok(Ended {
            code: self.status.and_then(WaitStatus::exit_status),
            signal: self.status.and_then(WaitStatus::terminating_signal),
            left_behind: !stopped && others,
            too_many_processes: false,
        })
    }

    /// Whether there are more processes than there may be.
    fn are_too_many(&self) -> bool {
        match self.reach {
            #[cfg(target_os = "linux")]
            Reach::Namespace => {
                let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
                let is_process = |name: std::ffi::OsString| {
                    name.to_str()
                        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
                };
                let count = entries.filter(|entry| is_process(entry.file_name())).count();
                // This process is no part of the command.
                count as u64 > self.processes.saturating_add(1)
            }
            Reach::Descendants => false,
        }
    }

    /// Takes note of all that ended. Whether others are still there.
    fn reap(&mut self) -> Result<bool, Errno> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.pid => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(true),
                Err(Errno::CHILD) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks all processes to end, and kills those that have not after the grace.
    fn stop(&mut self) -> Result<(), Errno> {
        self.signal(Signal::TERM);
        // A stopped process would not notice.
        self.signal(Signal::CONT);
        if self.all_ended_within(GRACE, None)? {
            return Ok(());
        }
        match self.reach {
            // They are killed one and all when this process, the first of the namespace, ends.
            #[cfg(target_os = "linux")]
            Reach::Namespace => Ok(()),
            Reach::Descendants => self.all_ended_within(KILLING, Some(Signal::KILL)).map(drop),
        }
    }

    fn all_ended_within(&mut self, time: Duration, signal: Option<Signal>) -> Result<bool, Errno> {
        let end = Instant::now() + time;
        loop {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            if !self.reap()? {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Sends a signal to every process of the command that is found. One that is gone needs none.
    fn signal(&self, signal: Signal) {
        match self.reach {
            #[cfg(target_os = "linux")]
            Reach::Namespace => {
                if let Ok(signal) = nix::sys::signal::Signal::try_from(signal.as_raw()) {
                    let all = nix::unistd::Pid::from_raw(-1);
                    let _gone = nix::sys::signal::kill(all, signal);
                }
            }
            Reach::Descendants => {
                let _gone = rustix::process::kill_process_group(self.pid, signal);
                for pid in descendants() {
                    let _gone = rustix::process::kill_process(pid, signal);
                }
            }
        }
    }
}

/// Standard input as a file without a name: it ends where the text ends, and nobody has to write it.
fn standard_input(plan: &Plan) -> io::Result<Stdio> {
    let Some(text) = &plan.stdin else {
        return Ok(Stdio::null());
    };
    #[cfg(target_os = "linux")]
    let mut file: std::fs::File = rustix::fs::memfd_create("stdin", rustix::fs::MemfdFlags::CLOEXEC)?.into();
    #[cfg(not(target_os = "linux"))]
    let mut file = unnamed_file()?;
    file.write_all(text.as_bytes())?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<std::fs::File> {
    let path = std::env::temp_dir().join(format!("tidegate-stdin-{}", std::process::id()));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn next_event(shell: Option<rustix::fd::BorrowedFd<'_>>) -> Result<Event, Errno> {
    let socket = io::stdin();
    let mut waited = vec![PollFd::new(&socket, PollFlags::IN)];
    let time = match &shell {
        Some(shell) => {
            waited.push(PollFd::from_borrowed_fd(*shell, PollFlags::IN));
            REAPING
        }
        // Without a descriptor for it the shell has to be looked after.
        None => TICK,
    };
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(1),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(&mut waited, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error),
    }
    // Nothing is ever said after the plan: what can be read is the end.
    let asked = waited.first().is_some_and(|socket| !socket.revents().is_empty());
    Ok(if asked { Event::Stop } else { Event::Look })
}

/// Every process below this one. Orphans are handed to this process, so none is lost from sight, but one that starts
/// others fast can have more than were seen.
#[cfg(target_os = "linux")]
fn descendants() -> Vec<Pid> {
    let mut children: std::collections::BTreeMap<i32, Vec<i32>> = std::collections::BTreeMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for process in processes {
        if let Some(parent) = parent_of(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(process) = next.pop() {
        for child in children.remove(&process).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            next.push(child);
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn descendants() -> Vec<Pid> {
    Vec::new()
}

/// The fourth field of `stat`; the second, the name, may hold anything, but is the last in parentheses.
#[cfg(target_os = "linux")]
fn parent_of(process: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}
