//! How a launcher is started, and what it does first.

use super::stage::Stage;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The name of the hidden subcommand with which a program starts itself as a launcher.
pub const SUBCOMMAND: &str = "__confine";

/// How to start a launcher: a program that calls [`main`] before anything else.
///
/// It is the `tidegate-confine` program of this crate, or the embedding program itself:
/// ```no_run
/// use std::process::ExitCode;
/// use tidegate_builtins::confine;
///
/// fn main() -> ExitCode {
///     let mut arguments = std::env::args_os().skip(1);
///     if arguments.next().is_some_and(|first| first == confine::SUBCOMMAND) {
///         return confine::main();
///     }
///     // Only now may threads be started.
///     ExitCode::SUCCESS
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; one more, the stage, is put behind them.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// A launcher that is another program, such as `tidegate-confine`.
    pub fn program(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// The running program, started again with [`SUBCOMMAND`].
    ///
    /// # Errors
    /// If the system does not tell which program this is.
    pub fn this_program() -> io::Result<Self> {
        // On Linux the link in /proc is still this program after its file was replaced.
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe()?
        };
        Ok(Self {
            program,
            arguments: vec![SUBCOMMAND.into()],
        })
    }
}

/// What a launcher does: the stage named by the last argument of the process.
///
/// It has to be called before the process starts a thread, and expects standard input to be the socket that
/// `run_command` gives it; called by hand it says so and fails.
pub fn main() -> ExitCode {
    let stage = std::env::args().next_back().and_then(|name| Stage::named(&name));
    match stage {
        Some(stage) => stage.run(),
        None => {
            eprintln!("This is the launcher of confined commands; the program starts it itself.");
            ExitCode::from(2)
        }
    }
}
