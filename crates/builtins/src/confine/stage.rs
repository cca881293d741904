//! The stages of a launcher.

use super::plan::{Ended, Plan, Report};
use super::shell::Shell;
use crate::causes::causes;
use rustix::io::Errno;
use std::io::{self, BufRead as _};
use std::process::ExitCode;

/// What a launcher process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Makes the namespaces and starts the next stage in them.
    #[cfg(target_os = "linux")]
    Namespaces,
    /// The first process in the namespaces: confines itself, runs the command, ends with it.
    #[cfg(target_os = "linux")]
    Confined,
    /// Runs the command without confining it.
    Supervised,
}

/// A step of confining that failed; the command is not run.
#[derive(Debug, thiserror::Error)]
#[error("{step}")]
pub(crate) struct Refusal {
    pub(crate) step: String,
    #[source]
    pub(crate) cause: Box<dyn std::error::Error + Send + Sync>,
}

impl Refusal {
    pub(crate) fn new(
        step: impl Into<String>,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            step: step.into(),
            cause: cause.into(),
        }
    }
}

/// Names the step that failed.
pub(crate) trait Step<T> {
    fn step(self, step: impl FnOnce() -> String) -> Result<T, Refusal>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Step<T> for Result<T, E> {
    fn step(self, step: impl FnOnce() -> String) -> Result<T, Refusal> {
        self.map_err(|cause| Refusal::new(step(), cause))
    }
}

impl Stage {
    /// The name in the arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Self::Namespaces => "namespaces",
            #[cfg(target_os = "linux")]
            Self::Confined => "confined",
            Self::Supervised => "supervised",
        }
    }

    /// The first stage for a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        match plan.confinement {
            #[cfg(target_os = "linux")]
            Some(_) => Self::Namespaces,
            #[cfg(not(target_os = "linux"))]
            Some(_) => Self::Supervised,
            None => Self::Supervised,
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [
            #[cfg(target_os = "linux")]
            Self::Namespaces,
            #[cfg(target_os = "linux")]
            Self::Confined,
            Self::Supervised,
        ];
        all.into_iter().find(|stage| stage.name() == name)
    }

    /// Does it. A failure is told over the socket.
    pub(crate) fn run(self) -> ExitCode {
        let done = match self {
            #[cfg(target_os = "linux")]
            Self::Namespaces => super::namespaces::enter(),
            #[cfg(target_os = "linux")]
            Self::Confined => confined(),
            Self::Supervised => supervised(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(Refusal { step, cause }) => {
                let cause = causes(&*cause);
                // The other side may be gone; then nobody wants to know.
                let _nobody_there = tell(&Report::Refused { step, cause });
                ExitCode::FAILURE
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn confined() -> Result<(), Refusal> {
    let plan = read_plan()?;
    let confinement = plan
        .confinement
        .as_ref()
        .ok_or_else(|| Refusal::new("read the plan", "it does not say how to confine"))?;
    super::namespaces::die_with_parent()?;
    rustix::process::setsid().step(|| "start a session".into())?;
    super::mounts::enter_root(confinement, &plan.limits)?;
    super::namespaces::drop_capabilities()?;
    super::rules::restrict(confinement)?;
    // Taking rights away may have taken this back.
    super::namespaces::die_with_parent()?;
    let ended = Shell::start(&plan, super::shell::Reach::Namespace)?.supervise()?;
    finish(ended)
}

fn supervised() -> Result<(), Refusal> {
    #[cfg(target_os = "linux")]
    super::namespaces::close_descriptors()?;
    let plan = read_plan()?;
    if plan.confinement.is_some() {
        return Err(Refusal::new("run the command", "it is to be confined"));
    }
    rustix::process::setsid().step(|| "start a session".into())?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .step(|| "become the reaper of the command's processes".into())?;
    let ended = Shell::start(&plan, super::shell::Reach::Descendants)?.supervise()?;
    finish(ended)
}

fn finish(ended: Ended) -> Result<(), Refusal> {
    tell(&Report::Ended(ended)).step(|| "tell how the command ended".into())
}

/// The plan is the first line of standard input.
fn read_plan() -> Result<Plan, Refusal> {
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .step(|| "read the plan".into())?;
    serde_json::from_str(&line).step(|| "understand the plan".into())
}

/// Says something over the socket that is standard input.
pub(crate) fn tell(report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let socket = io::stdin();
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(&socket, rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
