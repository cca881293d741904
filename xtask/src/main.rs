//! Tidegate's build, test and benchmark commands: `cargo xtask --help` lists them.
//!
//! They need nothing but cargo and the toolchain, so that a fresh checkout can be checked as it is.

mod bench;
mod ci;
mod flags;
mod layers;
mod models;
mod test;
mod workspace;

use flags::{Xtask, XtaskCmd};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let flags = match Xtask::from_vec(flags::arguments(std::env::args_os().skip(1))) {
        Ok(flags) => flags,
        Err(error) => error.exit(),
    };
    match run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard output first, so that the error is the last thing said.
            io::stdout().flush().ok();
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: Xtask) -> anyhow::Result<()> {
    let shell = workspace::shell()?;
    match flags.subcommand {
        XtaskCmd::Ci(_) => ci::run(&shell),
        XtaskCmd::Test(test) => test::run(&shell, &test.arguments),
        XtaskCmd::Layers(_) => layers::run(&shell),
        XtaskCmd::Models(_) => models::run(&shell),
        XtaskCmd::Bench(bench) => bench::run(&shell, bench.name.as_deref()),
    }
}
