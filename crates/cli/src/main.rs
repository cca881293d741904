//! The `tidegate` program.

mod activity;
mod args;
mod commands;
mod environment;
mod exit;
mod output;

use args::{Command, CommandLine};
use clap::Parser as _;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let json = line.global.json;
    match run(line) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&error, json);
            Exit::Error.into()
        }
    }
}

fn run(line: CommandLine) -> anyhow::Result<Exit> {
    logging();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let global = line.global;
    let exit = runtime.block_on(async {
        match line.command {
            Command::Demo(args) => commands::demo::run(&global, &args).await,
            Command::Run(args) => commands::run::run(&global, args).await,
            Command::Sessions { command } => commands::sessions::run(&global, command).await,
            Command::Events(args) => commands::events::run(&global, &args).await,
            Command::Config { command } => commands::config::run(&global, command),
        }
    })?;
    // A tool that ignores its cancellation must not keep the program alive after the answer.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(exit)
}

/// Logs go to standard error, and only if `TIDEGATE_LOG` asks for them.
fn logging() {
    let Ok(filter) = std::env::var("TIDEGATE_LOG") else {
        return;
    };
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .init();
}
