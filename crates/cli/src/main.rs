//! The `tidegate` program.

mod activity;
mod ancestry;
mod approver;
mod args;
mod asker;
mod commands;
mod environment;
mod exit;
mod interrupts;
mod memory;
mod output;
mod progress;
mod terminal;

use args::{Command, CommandLine};
use clap::Parser as _;
use exit::Exit;
use std::process::ExitCode;
use tidegate_runtime::RuntimeError;

fn main() -> ExitCode {
    // As the launcher of a confined command: before anything else, since it has to be without threads.
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|first| first == tidegate_builtins::confine::SUBCOMMAND) {
        return tidegate_builtins::confine::main();
    }
    let line = CommandLine::parse();
    let json = line.global.json;
    match run(line) {
        Ok(exit) => exit.into(),
        Err(error) if error.is::<output::Closed>() => Exit::Ok.into(),
        Err(error) if is_above(&error) => match output::blocked(&error, json) {
            Ok(()) => Exit::Blocked.into(),
            // Nobody reads it.
            Err(_) => Exit::Ok.into(),
        },
        Err(error) => {
            output::error(&error, json);
            Exit::Error.into()
        }
    }
}

/// Whether the policy does not let this reader see it.
fn is_above(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(RuntimeError::AboveReader { .. } | RuntimeError::NotToBeShown { .. })
    )
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
            Command::Chat(args) => commands::chat::run(&global, args).await,
            Command::Approvals { command } => commands::approvals::run(&global, command).await,
            Command::Sessions { command } => commands::sessions::run(&global, command).await,
            Command::Memory { command } => commands::memory::run(&global, command).await,
            Command::Rag { command } => commands::rag::run(&global, command).await,
            Command::Models { command } => commands::models::run(&global, command).await,
            Command::Events(args) => commands::events::run(&global, &args).await,
            Command::Prompt { command } => commands::prompt::run(&global, command).await,
            Command::Usage(args) => commands::tokens::run(&global, &args).await,
            Command::Policy { command } => commands::policy::run(&global, command).await,
            Command::Eval { command } => commands::eval::run(&global, command).await,
            Command::Config { command } => commands::config::run(&global, command),
            Command::Init(args) => commands::init::run(&global, args).await,
            Command::Doctor => commands::doctor::run(&global).await,
            Command::Completions(args) => commands::completions::run(&global, &args),
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
    match tracing_subscriber::EnvFilter::try_new(&filter) {
        Ok(filter) => tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            // Nobody could be told that standard error is closed.
            .log_internal_errors(false)
            .init(),
        Err(error) => output::tell(&format!(
            "note: TIDEGATE_LOG={filter:?} is no filter ({error}), so nothing is logged; \
             write for example TIDEGATE_LOG=debug or TIDEGATE_LOG=tidegate_runtime=trace"
        )),
    }
}
