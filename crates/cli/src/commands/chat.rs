//! `tidegate chat`.

mod command;
mod input;
mod show;

use crate::activity::Activity;
use crate::approver::TerminalApprover;
use crate::args::{ChatArgs, Global};
use crate::environment;
use crate::exit::Exit;
use crate::interrupts::{Interruption, Interrupts};
use crate::memory::{self, Wanted};
use crate::output;
use crate::terminal::Saved;
use command::{Command, Line};
use futures::FutureExt as _;
use input::{Input, Typed};
use std::io::{self, IsTerminal as _, Write as _};
use tidegate_message::ModelPolicy;
use tidegate_policy::{Classification, SessionId};
use tidegate_runtime::config::ConfigError;
use tidegate_runtime::{
    Approver, CancelToken, ConfigurationChange, LiveRuntime, Observer, Runtime, RuntimeError, Session,
    SessionRequest, TurnOptions, TurnReport, Which,
};

pub(crate) async fn run(global: &Global, args: ChatArgs) -> anyhow::Result<Exit> {
    let is_interactive = !global.json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let loaded = environment::configuration(global, Vec::new())?;
    let runtime = environment::runtime_of(global, &loaded, Wanted::Lasting).await?;
    let mut request = SessionRequest::new(match args.session {
        None => Which::New,
        // An id has the characters of a name, so it is looked for first.
        Some(given) if given.as_str().parse::<SessionId>().is_ok() => Which::Existing(given.to_string()),
        Some(name) => Which::Named(name),
    });
    request.workspace = args.workspace;
    request.model_policy = args.model_policy;
    let session = runtime.session(request).await?;
    session.check_reader(&environment::local())?;
    let input = if is_interactive {
        Input::editor(environment::data_folder(global)?.chat_history())?
    } else {
        Input::lines()?
    };
    let chat = Chat {
        global,
        live: LiveRuntime::new(
            runtime.clone(),
            &loaded,
            environment::load_options(global, Vec::new())?,
            environment::data_folder(global)?,
        ),
        runtime,
        input,
        is_interactive,
        interrupts: Interrupts::new()?,
        terminal: Saved::now(),
        approver: environment::is_attended(global).then(TerminalApprover::default),
        last: Exit::Ok,
    };
    let jobs = chat.runtime.start_memory_jobs();
    let ended = chat.go_on(session).await;
    memory::stopped(jobs).await;
    ended
}

/// A chat. The session is handed on from step to step: changing it means opening it anew.
struct Chat<'a> {
    global: &'a Global,
    runtime: Runtime,
    live: LiveRuntime,
    input: Input,
    /// Whether a person types at a terminal; else each line of the input is a message.
    is_interactive: bool,
    interrupts: Interrupts,
    terminal: Saved,
    approver: Option<TerminalApprover>,
    /// How the last turn ended.
    last: Exit,
}

/// What a turn does.
enum Task {
    Say(String),
    Answer(String),
    Resume,
}

/// Whether the chat goes on.
enum Next {
    On(Box<Session>),
    Leave(Exit),
}

impl Chat<'_> {
    async fn go_on(mut self, mut session: Session) -> anyhow::Result<Exit> {
        if self.is_interactive {
            show::welcome(&session);
        }
        if session.interrupted().is_some() {
            match self.offer_to_resume(session).await? {
                Next::On(same) => session = *same,
                Next::Leave(exit) => return Ok(exit),
            }
        }
        let mut interrupted_before = false;
        loop {
            let typed = self.next_line(&session).await?;
            let line = match typed {
                Typed::End => return Ok(if self.is_interactive { Exit::Ok } else { self.last }),
                Typed::Interrupted { with_text: true } => {
                    interrupted_before = false;
                    continue;
                }
                Typed::Interrupted { with_text: false } if interrupted_before => return Ok(Exit::Cancelled),
                Typed::Interrupted { with_text: false } => {
                    interrupted_before = true;
                    output::aside("(Ctrl-C again leaves; so does Ctrl-D)");
                    continue;
                }
                Typed::Line(line) => line,
            };
            interrupted_before = false;
            let next = match command::read(&line) {
                Line::Blank => Next::On(Box::new(session)),
                Line::Wrong(why) => {
                    self.tell(&why)?;
                    Next::On(Box::new(session))
                }
                Line::Message(text) => {
                    let (session, is_readable) = self.readable(session).await?;
                    if is_readable {
                        let waits = !session.questions().await?.is_empty();
                        let task = if waits {
                            Task::Answer(text)
                        } else {
                            Task::Say(text)
                        };
                        self.turn(session, task).await?
                    } else {
                        Next::On(Box::new(session))
                    }
                }
                Line::Command(command) => self.command(session, command).await?,
            };
            match next {
                Next::On(same) => session = *same,
                Next::Leave(exit) => return Ok(exit),
            }
        }
    }

    /// The session under the configuration as it is now, and whether whoever sits here may see what it holds; told if not.
    async fn readable(&mut self, session: Session) -> anyhow::Result<(Session, bool)> {
        let session = self.up_to_date(session).await?;
        let checked = session.check_reader(&environment::local());
        let is_readable = checked.is_ok();
        if let Err(error) = checked {
            self.last = Exit::Blocked;
            self.tell_error(error);
        }
        Ok((session, is_readable))
    }

    /// The next line, unless the program is told to end.
    async fn next_line(&mut self, session: &Session) -> anyhow::Result<Typed> {
        let level = session.taint().label().classification;
        let prompt = if level == Classification::Public {
            "> ".to_owned()
        } else {
            format!("{level}> ")
        };
        // One that came when the last turn was just over was meant for the turn.
        let _ = self.interrupts.which().now_or_never();
        tokio::select! {
            typed = self.input.read(&prompt) => typed,
            // Line editing takes Ctrl-C as a key; a signal is from outside, and means the program.
            _ = self.interrupts.which() => {
                self.terminal.restore();
                std::process::exit(130)
            }
        }
    }

    async fn offer_to_resume(&mut self, session: Session) -> anyhow::Result<Next> {
        if !self.is_interactive {
            if !self.global.json {
                output::tell("note: the last turn of this session was interrupted; /resume goes on with it");
            }
            return Ok(Next::On(Box::new(session)));
        }
        let question = "The last turn of this session was interrupted. Go on with it?";
        if environment::asked(question)? {
            return self.turn(session, Task::Resume).await;
        }
        output::aside("/resume goes on with it; your next message ends it");
        Ok(Next::On(Box::new(session)))
    }

    /// Runs a turn. What goes wrong in it leaves the chat as it was.
    async fn turn(&mut self, mut session: Session, task: Task) -> anyhow::Result<Next> {
        let cancel = CancelToken::new();
        let activity = Activity::new(io::stdout().is_terminal())
            .asking(self.approver.is_some())
            .knowing(session.transcript().open_calls());
        let options = TurnOptions {
            cancel: cancel.clone(),
            observer: (!self.global.json).then_some(&activity as &dyn Observer),
            approver: self.approver.as_ref().map(|approver| approver as &dyn Approver),
            ..TurnOptions::default()
        };
        let mut is_told_to_end = false;
        let ended = {
            let mut running = std::pin::pin!(async {
                match task {
                    Task::Say(text) => session.run(text, options).await,
                    Task::Answer(text) => session.answer(None, text, options).await,
                    Task::Resume => session.resume(options).await,
                }
            });
            let mut interrupted = false;
            loop {
                tokio::select! {
                    ended = &mut running => break ended,
                    why = self.interrupts.which() => {
                        if interrupted {
                            std::process::exit(130);
                        }
                        interrupted = true;
                        is_told_to_end |= why == Interruption::Terminate;
                        cancel.cancel();
                        if !self.global.json {
                            output::aside("\ncancelling; interrupt again to leave at once");
                        }
                    }
                }
            }
        };
        match ended {
            Ok(report) => {
                self.last = report.status.into();
                self.show(&report, &activity)?;
                let ends_script = !self.is_interactive && self.last == Exit::Cancelled;
                if is_told_to_end || ends_script {
                    return Ok(Next::Leave(Exit::Cancelled));
                }
                Ok(Next::On(Box::new(session)))
            }
            Err(error) => {
                self.last = Exit::Error;
                activity.finish("")?;
                output::error(&error.into(), self.global.json);
                // The session in memory may be behind what is stored.
                let session = self.reopened(session, None).await?;
                Ok(Next::On(Box::new(session)))
            }
        }
    }

    fn show(&self, report: &TurnReport, activity: &Activity) -> anyhow::Result<()> {
        if self.global.json {
            output::json(report)
        } else {
            show::report(report, activity)
        }
    }

    async fn command(&mut self, session: Session, command: Command) -> anyhow::Result<Next> {
        let json = self.global.json;
        let session = match command {
            Command::Taint | Command::History | Command::Resume | Command::Compact => {
                match self.readable(session).await? {
                    (session, true) => session,
                    (session, false) => return Ok(Next::On(Box::new(session))),
                }
            }
            _ => session,
        };
        match command {
            Command::Help => show::help(json)?,
            Command::Taint => show::taint(&session, json)?,
            Command::Tools => show::tools(&session, json)?,
            Command::Model(None) => show::model(&session, json)?,
            Command::Model(Some(policy)) => {
                let session = self.with_policy(session, policy).await?;
                show::model(&session, json)?;
                return Ok(Next::On(Box::new(session)));
            }
            Command::History => show::history(&session, json)?,
            Command::Resume => return self.turn(session, Task::Resume).await,
            Command::Reset => return Ok(Next::On(Box::new(self.reset(session).await?))),
            Command::Compact => return self.compact(session).await,
            Command::Clear => clear()?,
            Command::Quit => {
                let exit = if self.is_interactive { Exit::Ok } else { self.last };
                return Ok(Next::Leave(exit));
            }
        }
        Ok(Next::On(Box::new(session)))
    }

    /// Makes the conversation shorter, and tells by how much.
    async fn compact(&mut self, mut session: Session) -> anyhow::Result<Next> {
        let cancel = CancelToken::new();
        let options = TurnOptions {
            cancel: cancel.clone(),
            ..TurnOptions::default()
        };
        let ended = {
            let mut running = std::pin::pin!(session.compact(options));
            loop {
                tokio::select! {
                    ended = &mut running => break ended,
                    // Without the model's summary it is over at once.
                    _ = self.interrupts.which() => cancel.cancel(),
                }
            }
        };
        match ended {
            Ok(compacted) => show::compacted(&compacted, self.global.json)?,
            Err(error) => {
                self.tell_error(error);
                session = self.reopened(session, None).await?;
            }
        }
        Ok(Next::On(Box::new(session)))
    }

    /// The same session under the configuration as it is now. If a changed file cannot be used, that is told and
    /// the configuration before it stays in effect.
    async fn up_to_date(&mut self, session: Session) -> anyhow::Result<Session> {
        let Some(change) = self.live.refresh() else {
            return Ok(session);
        };
        let change = match change {
            ConfigurationChange::Refused { cause } if self.asks_to_trust(&cause)? => self.live.reload(),
            change => change,
        };
        let restart = match change {
            ConfigurationChange::InEffect { restart } => restart,
            ConfigurationChange::Refused { cause } => {
                self.tell_not_reloaded(cause.into());
                return Ok(session);
            }
        };
        let request = SessionRequest::new(Which::Existing(session.id().to_string()));
        drop(session);
        let runtime = self.live.current();
        match runtime.session(request.clone()).await {
            Ok(session) => {
                self.runtime = runtime;
                if self.global.json {
                    if !restart.is_empty() {
                        output::json(&serde_json::json!({ "command": "configuration", "restart": restart }))?;
                    }
                } else {
                    output::aside("(the configuration has changed and is in effect now)");
                    if !restart.is_empty() {
                        output::tell(&format!("  as before until a restart: {}", restart.join(", ")));
                    }
                }
                Ok(session)
            }
            Err(error) => {
                self.tell_not_reloaded(error.into());
                Ok(self.runtime.session(request).await?)
            }
        }
    }

    /// Asks about a file that nobody trusts as it is now, if that is what was wrong. Whether it is trusted now.
    fn asks_to_trust(&self, cause: &RuntimeError) -> anyhow::Result<bool> {
        let RuntimeError::Configuration(error) = cause else {
            return Ok(false);
        };
        if !matches!(**error, ConfigError::Untrusted { .. }) || !environment::is_attended(self.global) {
            return Ok(false);
        }
        match environment::configuration(self.global, Vec::new()) {
            Ok(_) => Ok(true),
            Err(error) => {
                self.tell_not_reloaded(error);
                Ok(false)
            }
        }
    }

    fn tell_not_reloaded(&self, error: anyhow::Error) {
        let error = error.context("the changed configuration is not used; the one before stays in effect");
        output::error(&error, self.global.json);
    }

    /// The same session with another policy, or as it was if that is not possible.
    async fn with_policy(&self, session: Session, policy: ModelPolicy) -> anyhow::Result<Session> {
        self.reopened(session, Some(policy)).await
    }

    /// The same session, opened again. If `policy` cannot be used, that is told and it stays as it was.
    async fn reopened(&self, session: Session, policy: Option<ModelPolicy>) -> anyhow::Result<Session> {
        let mut request = SessionRequest::new(Which::Existing(session.id().to_string()));
        drop(session);
        request.model_policy = policy;
        let refused = match self.runtime.session(request.clone()).await {
            Ok(session) => return Ok(session),
            Err(error) if request.model_policy.is_some() => error,
            Err(error) => return Err(error.into()),
        };
        request.model_policy = None;
        let session = self.runtime.session(request).await?;
        self.tell_error(refused);
        Ok(session)
    }

    /// A new session in the place of this one: PUBLIC, without history, in the same workspace.
    async fn reset(&mut self, session: Session) -> anyhow::Result<Session> {
        if session.interrupted().is_some() && self.is_interactive {
            let question =
                "A turn of this session was interrupted and is left as it is. Start a new session?";
            if !environment::asked(question)? {
                return Ok(session);
            }
        }
        let mut request =
            SessionRequest::new(Which::InPlaceOf(session.id())).model_policy(session.model_policy().clone());
        request.workspace = Some(session.workspace().to_path_buf());
        let new = match self.runtime.session(request).await {
            Ok(new) => new,
            Err(error) => {
                self.tell_error(error);
                return Ok(session);
            }
        };
        show::reset(&session, &new, self.global.json)?;
        Ok(new)
    }

    fn tell_error(&self, error: RuntimeError) {
        output::error(&error.into(), self.global.json);
    }

    fn tell(&self, why: &str) -> anyhow::Result<()> {
        if self.global.json {
            return output::json(&serde_json::json!({ "status": "error", "error": why }));
        }
        output::tell(why);
        Ok(())
    }
}

fn clear() -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        out.write_all(b"\x1b[2J\x1b[H")?;
        out.flush()?;
    }
    Ok(())
}
