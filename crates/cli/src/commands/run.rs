//! `tidegate run`.

use super::approvals;
use super::outcome;
use super::usage::usage;
use crate::activity::Activity;
use crate::approver::TerminalApprover;
use crate::args::{Global, RunArgs};
use crate::environment;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::memory;
use crate::output;
use anyhow::Context as _;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;
use tidegate_message::{TurnStatus, UserMessage};
use tidegate_policy::{SessionId, SessionName};
use tidegate_runtime::{
    AnswerSchema, Approver, CancelToken, Observer, SessionRequest, StructuredTask, TurnOptions, TurnReport,
    Which,
};

pub(crate) async fn run(global: &Global, args: RunArgs) -> anyhow::Result<Exit> {
    let which = match args.session {
        None => Which::New,
        // An id has the characters of a name, so it is looked for first.
        Some(given) if args.resume || given.as_str().parse::<SessionId>().is_ok() => {
            Which::Existing(given.to_string())
        }
        Some(name) => Which::Named(name),
    };
    let task = match args.task.as_deref() {
        Some("-") => Some(task_from_input()?),
        other => other.map(str::to_owned),
    };
    let schema = args.schema.as_deref().map(schema).transpose()?;
    let runtime = environment::runtime(global, Vec::new()).await?;
    let mut request = SessionRequest::new(which);
    request.workspace = args.workspace;
    request.model_policy = args.model_policy;
    // A session that could not begin is not made.
    runtime.check_attachments(&request, &args.attach).await?;
    let mut session = runtime.session(request).await?;
    let reader = environment::local();
    session.check_reader(&reader)?;
    let reader = runtime.reader(&reader)?;
    for id in args.approve {
        approvals::grant(&reader, id).await?;
    }

    let cancel = CancelToken::new();
    let _signals = tokio::spawn(cancel_on_signal(Interrupts::new()?, cancel.clone(), global.json));
    let approver = environment::is_attended(global).then(TerminalApprover::default);
    let activity = Activity::new(io::stdout().is_terminal() && schema.is_none())
        .asking(approver.is_some())
        .knowing(session.transcript().open_calls());
    let options = TurnOptions {
        level: args.level,
        cancel,
        observer: (!global.json).then_some(&activity as &dyn Observer),
        approver: approver.as_ref().map(|approver| approver as &dyn Approver),
        attachments: args.attach,
        ..TurnOptions::default()
    };
    let jobs = runtime.start_memory_jobs();
    let report = match schema {
        Some(schema) => {
            let task = match (task, args.answer) {
                (Some(task), _) => StructuredTask::Run(UserMessage::person(task)),
                (None, Some(answer)) => StructuredTask::Answer(args.question, answer),
                (None, None) => StructuredTask::Resume,
            };
            let structured = session.run_structured(task, &schema, options).await;
            structured.map(|structured| structured.report)
        }
        None => match (task, args.answer) {
            (Some(task), _) => session.run(task, options).await,
            (None, Some(answer)) => session.answer(args.question, answer, options).await,
            (None, None) => session.resume(options).await,
        },
    };
    memory::stopped(jobs).await;
    let report = report?;
    let shown = if global.json {
        output::json(&report)
    } else {
        show(&report, &activity)
    };
    match shown {
        // The turn is over and stored, whether or not anybody reads its answer.
        Err(error) if !error.is::<output::Closed>() => Err(error),
        Ok(()) | Err(_) => Ok(report.status.into()),
    }
}

fn schema(file: &Path) -> anyhow::Result<AnswerSchema> {
    let what = || format!("the schema {} cannot be used", file.display());
    let text = std::fs::read_to_string(file).with_context(what)?;
    AnswerSchema::parse(&text).with_context(what)
}

fn task_from_input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if io::stdin().is_terminal() {
        output::aside("reading the task from the terminal; end it with Ctrl-D on a line of its own");
    }
    io::stdin()
        .read_to_end(&mut bytes)
        .context("cannot read the task from standard input")?;
    let task = String::from_utf8(bytes)
        .context("the task on standard input is not UTF-8 text; convert it, or name the file in the task")?;
    if task.trim().is_empty() {
        usage("run", "the task on standard input is empty; say what to do");
    }
    Ok(task)
}

fn show(report: &TurnReport, activity: &Activity) -> anyhow::Result<()> {
    let closed = activity.finish(&report.answer);
    outcome::reservations(report);
    let session = report
        .name
        .as_ref()
        .map_or_else(|| report.session.to_string(), SessionName::to_string);
    if matches!(report.status, TurnStatus::Error | TurnStatus::Cancelled) {
        output::tell(&format!("  to go on: tidegate run --session {session} --resume"));
    }
    if !report.approvals.is_empty() {
        output::tell(&format!("  then: tidegate run --session {session} --resume"));
    }
    if let Some(first) = report.questions.first() {
        let which = match report.questions.len() {
            1 => String::new(),
            _ => format!(" --question {}", first.id),
        };
        output::tell(&format!(
            "  to answer: tidegate run --session {session} --resume{which} --answer TEXT"
        ));
    }
    if report.turn.is_none() {
        output::tell(&format!("nothing was done yet in session {session}"));
    } else {
        let calls = match report.calls_used {
            1 => "1 tool call".to_owned(),
            calls => format!("{calls} tool calls"),
        };
        output::aside(&format!(
            "session {session} · {} · {calls} · {} tokens in, {} out",
            report.label.classification,
            report.usage.input(),
            report.usage.output
        ));
    }
    closed
}

/// The first interrupt cancels the turn, which is then stored as cancelled; the second leaves at once.
async fn cancel_on_signal(mut interrupts: Interrupts, cancel: CancelToken, quiet: bool) {
    interrupts.next().await;
    cancel.cancel();
    if !quiet {
        output::aside("\ncancelling; interrupt again to leave at once");
    }
    interrupts.next().await;
    std::process::exit(130);
}
