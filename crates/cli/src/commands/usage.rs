//! Usage errors that the argument parser cannot find by itself.

use crate::args::CommandLine;
use clap::CommandFactory as _;

/// Ends the program with a usage error of this command, told as the argument parser tells its own: exit code 2.
pub(crate) fn usage(command: &str, message: &str) -> ! {
    let mut program = CommandLine::command();
    program.build();
    let kind = clap::error::ErrorKind::ValueValidation;
    match program.find_subcommand_mut(command) {
        Some(command) => command.error(kind, message).exit(),
        None => program.error(kind, message).exit(),
    }
}
