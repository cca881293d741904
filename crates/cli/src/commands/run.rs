//! `tidegate run`.

use crate::activity::Activity;
use crate::args::{Global, RunArgs};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use clap::CommandFactory as _;
use std::io::Read as _;
use tidegate_message::{TurnStatus, Warning};
use tidegate_policy::{SessionId, SessionName};
use tidegate_runtime::{CancelToken, Observer, SessionRequest, TurnOptions, TurnReport, Which};

pub(crate) async fn run(global: &Global, args: RunArgs) -> anyhow::Result<Exit> {
    let which = match args.session.as_deref() {
        None => Which::New,
        // An id has the characters of a name, so it is looked for first.
        Some(given) if args.resume || given.parse::<SessionId>().is_ok() => Which::Existing(given.to_owned()),
        Some(given) => match given.parse::<SessionName>() {
            Ok(name) => Which::Named(name),
            Err(error) => usage(&format!("--session: {error}")),
        },
    };
    let task = match args.task.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            Some(text)
        }
        other => other.map(str::to_owned),
    };
    if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
        usage("the task is empty: say what to do");
    }
    let runtime = environment::runtime(global, Vec::new())?;
    let mut request = SessionRequest::new(which);
    request.workspace = args.workspace;
    request.model_policy = args.model_policy;
    let mut session = runtime.session(request).await?;

    let cancel = CancelToken::new();
    let _signals = tokio::spawn(cancel_on_signal(cancel.clone()));
    let activity = Activity::new();
    let options = TurnOptions {
        level: args.level,
        cancel,
        observer: (!global.json).then_some(&activity as &dyn Observer),
        steering: None,
    };
    let report = match task {
        Some(task) => session.run(task, options).await?,
        None => session.resume(options).await?,
    };
    if global.json {
        output::json(&report)?;
    } else {
        show(&report, &activity)?;
    }
    Ok(report.status.into())
}

fn show(report: &TurnReport, activity: &Activity) -> anyhow::Result<()> {
    if activity.printed() {
        output::line("")?;
    } else if !report.answer.is_empty() {
        output::line(&report.answer)?;
    }
    if let Some(warning) = report.warning {
        let text = match warning {
            Warning::BudgetExhausted => "the budget of tool calls was used up",
            Warning::RoundsExhausted => "the rounds of this turn were used up ([agent] max_rounds)",
            Warning::MaxRoundsReached => "the rounds were used up",
            Warning::AnswerIncomplete => "the model stopped early (its output limit, or the provider)",
        };
        anstream::eprintln!("note: {text}; the answer may be incomplete");
    }
    match (&report.error, report.status) {
        (Some(error), TurnStatus::Blocked) => anstream::eprintln!("blocked: {}", output::printable(error)),
        (Some(error), _) => anstream::eprintln!("error: {}", output::printable(error)),
        (None, TurnStatus::Cancelled) => anstream::eprintln!("cancelled"),
        (None, _) => {}
    }
    Ok(())
}

/// The first interrupt cancels the turn, which is then stored as cancelled; the second leaves at once.
async fn cancel_on_signal(cancel: CancelToken) {
    if interrupted().await.is_err() {
        return;
    }
    cancel.cancel();
    if interrupted().await.is_ok() {
        std::process::exit(130);
    }
}

#[cfg(unix)]
async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn interrupted() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// A usage error, told as the argument parser tells its own: exit code 2.
fn usage(message: &str) -> ! {
    crate::args::CommandLine::command()
        .error(clap::error::ErrorKind::ValueValidation, message)
        .exit()
}
