//! How a command's end is told.

use super::output::Output;
use crate::confine::Ended;
use rustix::process::Signal;
use std::fmt::Write as _;

const SIGNALS: [(Signal, &str); 14] = [
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
];

/// A shell adds this to the signal that killed what it ran.
const BY_SIGNAL: i32 = 128;

/// A first line on how it ended, then what it said.
pub(super) fn told(ended: &Ended, output: &Output) -> String {
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
    let _infallible = write!(text, "\n{}", output.text());
    text
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
    use crate::confine::Ended;

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
        ];
        for (code, signal, left_behind, expected) in table {
            let ended = Ended {
                code,
                signal,
                left_behind,
            };
            assert_eq!(
                told(&ended, &Output::default()),
                format!("{expected}\n(no output)")
            );
        }
    }
}
