//! How a command's end is told.

use super::output::Output;
use crate::confine::{CommandLimits, Ended};
use rustix::process::Signal;
use std::fmt::Write as _;

const SIGNALS: [(Signal, &str); 16] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::SYS, "SIGSYS"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
];

/// A shell adds this to the signal that killed what it ran.
const BY_SIGNAL: i32 = 128;

/// A first line on how it ended, then what it said.
pub(super) fn told(ended: &Ended, output: &Output, limits: &CommandLimits) -> String {
    if ended.too_many_processes {
        return format!(
            "stopped: it had more than {} processes at once\n{}",
            limits.processes,
            output.text()
        );
    }
    let mut text = match (ended.code, ended.signal) {
        (Some(code), _) => match code.checked_sub(BY_SIGNAL).and_then(name) {
            Some(name) => format!("exit code {code} (what sh ran was killed by {name})"),
            None => format!("exit code {code}"),
        },
        (None, Some(signal)) => match name(signal) {
            Some(name) => format!("killed by {name}"),
            None => format!("killed by signal {signal}"),
        },
        (None, None) => "ended without an exit code".to_owned(),
    };
    if ended.left_behind {
        text.push_str("; processes it left in the background were stopped");
    }
    let said = output.text();
    if let Some(limit) = limit_of(ended, &said, limits) {
        let _infallible = write!(text, "; {limit}");
    }
    let _infallible = write!(text, "\n{said}");
    text
}

/// What programs say, in lower case, that get no more memory, and that can start no more processes.
const NO_MEMORY: [&str; 6] = [
    "cannot allocate memory",
    "can't allocate",
    "failed to allocate",
    "memoryerror",
    "memory exhausted",
    "out of memory",
];
const NO_PROCESSES: [&str; 2] = ["cannot fork", "resource temporarily unavailable"];

/// The limit that it seems to have run into. Two the system tells by a signal or to the program as an error, which the
/// program tells in its own words, if at all.
fn limit_of(ended: &Ended, said: &str, limits: &CommandLimits) -> Option<String> {
    let signal = ended
        .signal
        .or(ended.code.and_then(|code| code.checked_sub(BY_SIGNAL)));
    if signal == Some(Signal::XCPU.as_raw()) {
        return Some(format!(
            "a process may use {} s of processor time",
            limits.processor_s
        ));
    }
    if signal == Some(Signal::XFSZ.as_raw()) {
        return Some(format!("a file may become {} MiB long", limits.file_mib));
    }
    if ended.code == Some(0) {
        return None;
    }
    let said = said.to_lowercase();
    let tells = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if said.contains("file too large") {
        Some(format!("a file may become {} MiB long", limits.file_mib))
    } else if tells(&NO_MEMORY) {
        Some(format!("a process may use {} MiB of memory", limits.memory_mib))
    } else if tells(&NO_PROCESSES) {
        Some(format!(
            "a command may have {} processes at once",
            limits.processes
        ))
    } else {
        None
    }
}

fn name(signal: i32) -> Option<&'static str> {
    SIGNALS
        .iter()
        .find(|(known, _)| known.as_raw() == signal)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::told;
    use crate::command::output::Output;
    use crate::confine::{CommandLimits, Ended};

    #[test]
    fn the_first_line_says_how_a_command_ended() {
        let table = [
            (Some(0), None, false, "exit code 0"),
            (
                Some(3),
                None,
                true,
                "exit code 3; processes it left in the background were stopped",
            ),
            (
                Some(137),
                None,
                false,
                "exit code 137 (what sh ran was killed by SIGKILL)",
            ),
            (Some(255), None, false, "exit code 255"),
            (None, Some(11), false, "killed by SIGSEGV"),
            (None, Some(40), false, "killed by signal 40"),
            (
                Some(152),
                None,
                false,
                "exit code 152 (what sh ran was killed by SIGXCPU); a process may use 1800 s of processor time",
            ),
            (
                None,
                Some(25),
                false,
                "killed by SIGXFSZ; a file may become 4096 MiB long",
            ),
        ];
        for (code, signal, left_behind, expected) in table {
            let ended = Ended {
                code,
                signal,
                left_behind,
                too_many_processes: false,
            };
            assert_eq!(
                told(&ended, &Output::default(), &CommandLimits::default()),
                format!("{expected}\n(no output)")
            );
        }
    }
}
