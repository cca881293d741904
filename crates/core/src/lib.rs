//! The agent loop as a pure, serialisable state machine.
//!
//! A [`Run`] is one turn of a session, a delegate or a light sub-agent: it looks at what came back from a
//! model or from tools and says what happens next, as a [`Step`]. It does no I/O, reads no clock and throws
//! no dice, so the same inputs always give the same steps, and a run that was saved ([`Run::save`]) and
//! loaded goes on as if nothing had happened. One engine serves three [`Profile`]s.
//!
//! What a driver does:
//!
//! 1. Push the user's message into the transcript, [`Run::start`], and save the run with the entry.
//! 2. Do what [`Run::step`] says and hand in what came of it: [`Run::on_reply`], [`Run::on_results`],
//!    [`Run::on_waiting`], [`Run::on_failure`], [`Run::on_cancel`], [`Run::on_expiry`]; at any time [`Run::steer`].
//! 3. Store what the [`Advance`] brought, together with the saved run, in one transaction. Then go on with
//!    its step; after [`Step::SwitchTier`], with [`Run::step`].
//!    At [`Step::Approve`], stop: the turn goes on, here or in another process, when the owner has decided.
//! 4. At [`Step::Finish`] and [`Step::Ask`] judge whether the answer may leave, and record [`Outcome::event`].
//!
//! After a crash: load the transcript and the run, tell [`Run::on_resume`] which calls had begun, go on at 2.
//!
//! The run tells events of what it *decided* (tier switches, limits, calls it answered itself); the driver
//! tells those of what it *did* (model calls, tools that ran, the turn's beginning and end).
//!
//! ```
//! use tidegate_core::{Profile, Routing, Run, Step, ToolFacts};
//! use tidegate_message::*;
//! use tidegate_policy::{Label, ToolName, TurnId};
//!
//! struct AllReadOnly;
//! impl ToolFacts for AllReadOnly {
//!     fn is_consequential(&self, _: &ToolName) -> bool {
//!         false
//!     }
//! }
//!
//! let (turn, label) = (TurnId::from_bits(1), Label::BOTTOM);
//! let mut transcript = Transcript::default();
//! transcript.push_user(turn, label, UserMessage::person("What is in a.txt?"))?;
//! let mut run = Run::start(Profile::main(30), Routing::new(&ModelPolicy::Auto), turn);
//! assert_eq!(
//!     run.step(&transcript, &AllReadOnly)?,
//!     Step::CallModel { tier: Some(Tier::Lite), round: 1, must_answer: false },
//! );
//!
//! let reply = |part| Reply {
//!     model: ModelId::new(ProviderId::new("local"), "small"),
//!     parts: vec![part],
//!     verbatim: None,
//!     usage: Usage::default(),
//!     finish: FinishReason::Stop,
//! };
//! let call = ReplyPart::Call {
//!     provider_id: "x".into(),
//!     name: "read_file".into(),
//!     arguments: r#"{"path": "a.txt"}"#.into(),
//! };
//! let advance = run.on_reply(&mut transcript, label, reply(call), &AllReadOnly)?;
//! let Step::RunTools { batches } = advance.step else { panic!("one call is to be run") };
//!
//! let result = ToolResult::text(&batches[0][0], ResultStatus::Ok, label, "nothing");
//! run.on_results(&mut transcript, vec![result])?;
//! let advance = run.on_reply(&mut transcript, label, reply(ReplyPart::Text("Nothing.".into())), &AllReadOnly)?;
//! let Step::Finish(outcome) = advance.step else { panic!("a text is the answer") };
//! assert_eq!((outcome.status, outcome.answer.as_str()), (TurnStatus::Success, "Nothing."));
//! # Ok::<(), tidegate_core::RunError>(())
//! ```
//!
//! **Not here:** calling models, running tools, asking the gate, storing (`tidegate-runtime`); what a valid
//! transcript is (`tidegate-message`).
//!
//! **Invariants**
//! - Every run ends: rounds or calls, tier switches, reminders, refusals and repetitions are all bounded.
//! - Every call gets exactly one result, in every way a turn can go.
//! - The transcript is valid whenever a function returns, and closed when the run is finished.

mod decide;
mod error;
mod profile;
mod routing;
mod run;
mod schedule;
mod step;
mod text;

pub use error::RunError;
pub use profile::{Asking, Profile, ProfileName, TurnLimit};
pub use routing::{MAX_TIER_SWITCHES, Routing};
pub use run::{MAX_REFUSALS, MAX_REPEATS, Run};
pub use schedule::{Schedule, ToolFacts};
pub use step::{Advance, Failure, FailureStatus, Outcome, Step};
