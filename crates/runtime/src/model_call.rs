//! One model call: its candidates, their tries, and what became of it.
//!
//! What a failure leads to is told in [`resilience`](crate::resilience).

use crate::resilience::{Attempt, Handling, LONGEST_WAIT, RetryWait, TRIES, Tries};
use crate::runtime::ProviderSlot;
use crate::turn::Turn;
use crate::{RuntimeError, Signal};
use futures::StreamExt as _;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tidegate_core::Failure;
use tidegate_message::{EventKind, ModelId, Reply, ReplyPart, Tier, Unavailable};
use tidegate_policy::{Flow, ModelFlow};
use tidegate_providers::{ErrorClass, ModelRequest, ProviderError, StreamEvent, ToolChoice, ToolSet};
use tidegate_tools::Cancel as _;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

/// From when on a model counts as thinking: what happened so far is stored then, and not only with its reply.
const THINKING: Duration = Duration::from_millis(20);

/// How a model call ended.
pub(crate) enum ModelEnd {
    /// With a complete reply.
    Reply(Box<Reply>),
    /// Without one.
    Failed(Failure),
    /// Without one: the history is longer than the model's window.
    Overflowed(Failure),
    /// It was cancelled.
    Cancelled,
}

/// What is the same in all tries of a call.
struct Call {
    tier: Option<Tier>,
    round: u32,
    tools: Arc<ToolSet>,
    /// The tiers that one of the tools switches to.
    targets: Vec<Tier>,
    tool_choice: ToolChoice,
    tries: Tries,
}

/// A candidate to try.
struct Candidate<'a> {
    model: &'a ModelId,
    slot: &'a ProviderSlot,
    /// Nobody else is left: it is asked although its circuit is open.
    last: bool,
}

/// How the tries of one candidate ended.
enum CandidateEnd {
    Call(ModelEnd),
    /// It was asked, and has failed.
    GivenUp,
    /// It was not asked, since its circuit is open.
    SetAside,
}

/// How one try ended.
enum TryEnd {
    Call(ModelEnd),
    Failed { error: ProviderError },
}

/// Whether a try may begin.
enum Clear<'a> {
    Go(SemaphorePermit<'a>, Attempt),
    Cancelled,
    /// The circuit is open for so long yet.
    Open(Duration),
    /// The provider asks to be left alone for so long yet, which is longer than is waited.
    Paused(Duration),
}

impl Turn<'_> {
    /// Calls the tier's candidates, in order, until one replies.
    ///
    /// Each is judged by the gate before it is called: the context must be allowed to flow to its provider.
    /// Candidates whose circuit is open come last.
    pub(crate) async fn call_model(
        &mut self,
        tier: Option<Tier>,
        round: u32,
        must_answer: bool,
    ) -> Result<ModelEnd, RuntimeError> {
        let shared = Arc::clone(&self.session.shared);
        let targets = self.run.routing().targets();
        let mut call = Call {
            tier,
            round,
            tools: self.session.tool_set(tier, &targets),
            targets,
            tool_choice: if must_answer {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            },
            tries: Tries::default(),
        };
        let mut queue = VecDeque::new();
        for model in shared.candidates(self.session.policy(), tier) {
            if !queue.contains(&model) {
                queue.push_back(model);
            }
        }
        let mut set_aside = VecDeque::new();
        let mut given_up: Option<ModelId> = None;
        let mut asked = false;
        loop {
            // Those set aside are asked in the end, whatever their circuit says: nobody else is left then.
            let (model, last) = match (queue.pop_front(), set_aside.is_empty()) {
                (Some(model), nobody_aside) => (model, queue.is_empty() && nobody_aside),
                (None, _) => match set_aside.pop_front() {
                    Some(model) => (model, true),
                    None => break,
                },
            };
            let Some(slot) = shared.slot(&model) else {
                continue;
            };
            if !self.is_cleared(&model, slot) {
                let level = self.session.taint().label().classification;
                call.tries.not_cleared(&model, level);
                continue;
            }
            asked = true;
            if let Some(from) = given_up.take() {
                let to = model.clone();
                self.note(EventKind::ModelFallback { from, to });
            }
            let candidate = Candidate {
                model: &model,
                slot,
                last,
            };
            match self.call_candidate(&mut call, &candidate).await? {
                CandidateEnd::Call(end) => return Ok(end),
                CandidateEnd::GivenUp => given_up = Some(model),
                CandidateEnd::SetAside => set_aside.push_back(model),
            }
        }
        Ok(ModelEnd::Failed(if asked {
            Failure::error(call.tries.message())
        } else {
            Failure::blocked(self.nobody_is_cleared(tier))
        }))
    }

    /// Tries one candidate as often as its errors allow.
    async fn call_candidate(
        &mut self,
        call: &mut Call,
        candidate: &Candidate<'_>,
    ) -> Result<CandidateEnd, RuntimeError> {
        let Candidate { model, slot, .. } = *candidate;
        for attempt in 1..=TRIES {
            let (permit, begun) = match self.until_clear(candidate).await? {
                Clear::Go(permit, begun) => (permit, begun),
                Clear::Cancelled => return Ok(CandidateEnd::Call(ModelEnd::Cancelled)),
                Clear::Open(wait) => {
                    self.unavailable(model, Unavailable::CircuitOpen, wait);
                    call.tries.does_not_answer(model, wait);
                    return Ok(if attempt == 1 {
                        CandidateEnd::SetAside
                    } else {
                        CandidateEnd::GivenUp
                    });
                }
                Clear::Paused(wait) => {
                    self.unavailable(model, Unavailable::AskedToWait, wait);
                    call.tries.asks_to_wait(model, wait);
                    return Ok(CandidateEnd::GivenUp);
                }
            };
            let ended = self.try_once(call, candidate, begun).await?;
            drop(permit);
            let error = match ended {
                TryEnd::Call(end) => return Ok(CandidateEnd::Call(end)),
                TryEnd::Failed { error } => error,
            };
            call.tries.failed(model, &error);
            let class = error.class;
            match Handling::of(class) {
                Handling::Retry => {}
                Handling::Fallback => break,
                Handling::HandUp => {
                    let failure = Failure::error(call.tries.message());
                    return Ok(CandidateEnd::Call(ModelEnd::Overflowed(failure)));
                }
                Handling::Stop => {
                    let failure = Failure::error(call.tries.message());
                    return Ok(CandidateEnd::Call(ModelEnd::Failed(failure)));
                }
            }
            let is_about_load = matches!(class, ErrorClass::RateLimited | ErrorClass::Overloaded);
            let wait = RetryWait::after(&error, attempt, &self.session.shared.jitter);
            if let (RetryWait::Asked(wait) | RetryWait::TooLong(wait), true) = (wait, is_about_load) {
                slot.account.pause(wait);
            }
            let wait = match wait {
                RetryWait::Asked(wait) | RetryWait::Backoff(wait) => wait,
                RetryWait::TooLong(wait) => {
                    self.unavailable(model, Unavailable::AskedToWait, wait);
                    call.tries.asks_to_wait(model, wait);
                    break;
                }
            };
            if attempt < TRIES {
                let until = Instant::now() + wait;
                self.note(EventKind::ModelRetried {
                    model: model.clone(),
                    class: class.as_str().to_owned(),
                    attempt: attempt + 1,
                    wait_ms: milliseconds(wait),
                });
                if !self.wait_until(until).await? {
                    return Ok(CandidateEnd::Call(ModelEnd::Cancelled));
                }
            }
        }
        // What was shown is retracted in the store, too, before anything is sent to another.
        self.commit_waiting().await?;
        Ok(CandidateEnd::GivenUp)
    }

    /// Waits until a try may begin: no pause of the provider's, a permit, no open circuit.
    async fn until_clear<'c>(&mut self, candidate: &Candidate<'c>) -> Result<Clear<'c>, RuntimeError> {
        let Candidate { model, slot, last } = *candidate;
        let mut waited = Duration::ZERO;
        loop {
            if let Some(until) = slot.account.paused_until() {
                let wait = until.saturating_duration_since(Instant::now());
                if waited + wait > LONGEST_WAIT {
                    return Ok(Clear::Paused(wait));
                }
                waited += wait;
                self.note(EventKind::ModelDelayed {
                    model: model.clone(),
                    wait_ms: milliseconds(wait),
                });
                if !self.wait_until(until).await? {
                    return Ok(Clear::Cancelled);
                }
                continue;
            }
            let permit = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(Clear::Cancelled),
                permit = slot.permits.acquire() => permit,
            };
            // The semaphore is never closed.
            let Ok(permit) = permit else {
                return Ok(Clear::Cancelled);
            };
            if slot.account.paused_until().is_some() {
                // Another session was told to wait while this one waited for its permit.
                continue;
            }
            return Ok(match slot.account.begin() {
                Ok(begun) => Clear::Go(permit, begun),
                Err(_) if last => Clear::Go(permit, slot.account.insist()),
                Err(wait) => Clear::Open(wait),
            });
        }
    }

    /// Sends the request once.
    async fn try_once(
        &mut self,
        call: &Call,
        candidate: &Candidate<'_>,
        begun: Attempt,
    ) -> Result<TryEnd, RuntimeError> {
        let Candidate { model, slot, .. } = *candidate;
        self.model = Some(model.clone());
        let history = self.session.transcript.history();
        self.compare_with_last(model, &call.tools, &history);
        self.note(EventKind::ModelCalled {
            model: model.clone(),
            tier: call.tier,
            round: call.round,
            entries: u64::try_from(history.len()).unwrap_or(u64::MAX),
            tools: u64::try_from(self.session.record.session.tools.len()).ok(),
            targets: call.targets.clone(),
            must_answer: call.tool_choice == ToolChoice::None,
        });
        let request = ModelRequest {
            model: model.name().into(),
            system: Arc::clone(&self.session.record.session.system_prompt),
            tools: Arc::clone(&call.tools),
            history,
            tool_choice: call.tool_choice,
        };
        let started = Instant::now();
        let mut shown = 0;
        // While the model thinks, the facts so far are stored, so that others see what goes on. A reply that
        // comes at once takes them along into its own commit.
        let waiting = self.take_waiting();
        let store = self.store();
        let (unstored, ended) = {
            let mut streaming = std::pin::pin!(self.stream(slot, request, &mut shown));
            tokio::select! {
                biased;
                ended = &mut streaming => (waiting, ended),
                () = tokio::time::sleep(THINKING) => {
                    let stored = async {
                        self.tell(store.commit(waiting).await?.events);
                        Ok::<(), RuntimeError>(())
                    };
                    let (stored, ended) = tokio::join!(stored, streaming);
                    stored?;
                    (Vec::new(), ended)
                }
            }
        };
        self.put_back(unstored);
        let Some(ended) = ended else {
            return Ok(TryEnd::Call(ModelEnd::Cancelled));
        };
        match ended {
            Ok(reply) => {
                begun.ended(None);
                let calls = reply
                    .parts
                    .iter()
                    .filter(|part| matches!(part, ReplyPart::Call { .. }))
                    .count();
                self.note(EventKind::ModelReplied {
                    model: model.clone(),
                    usage: reply.usage,
                    finish: reply.finish,
                    calls: u32::try_from(calls).unwrap_or(u32::MAX),
                    duration_ms: milliseconds(started.elapsed()),
                });
                Ok(TryEnd::Call(ModelEnd::Reply(reply)))
            }
            Err(error) => {
                begun.ended(Some(error.class));
                if shown > 0 {
                    self.show(Signal::Retracted);
                    self.note(EventKind::ModelRetracted {
                        model: model.clone(),
                        characters: shown,
                    });
                }
                self.note(EventKind::ModelFailed {
                    model: model.clone(),
                    class: error.class.as_str().to_owned(),
                    message: error.to_string(),
                });
                Ok(TryEnd::Failed { error })
            }
        }
    }

    /// The reply, or none if the turn was cancelled meanwhile; counts the characters that are shown. Dropping
    /// the stream ends the call.
    async fn stream(
        &self,
        slot: &ProviderSlot,
        request: ModelRequest,
        shown: &mut u64,
    ) -> Option<Result<Box<Reply>, ProviderError>> {
        // Judged before the first piece: what was shown cannot be taken back.
        let may_be_read = !self.holds_text() && self.answer_evaluation(None).is_allowed();
        let call = async {
            let mut stream = slot.provider.stream(request);
            while let Some(event) = stream.next().await {
                match event? {
                    StreamEvent::Text(_) if !may_be_read => {}
                    StreamEvent::Text(text) => {
                        let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
                        *shown = shown.saturating_add(characters);
                        self.show(Signal::Text(text));
                    }
                    // Thinking is never shown.
                    StreamEvent::Reasoning(_) => {}
                    StreamEvent::Done(reply) => return Ok(reply),
                }
            }
            Err(ProviderError::new(
                slot.provider.id().clone(),
                ErrorClass::Transport,
                "the reply ended before it was complete",
            ))
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            ended = call => Some(ended),
        }
    }

    /// Stores the facts so far and waits; whether it came to the end, and was not cancelled.
    async fn wait_until(&mut self, until: Instant) -> Result<bool, RuntimeError> {
        self.commit_waiting().await?;
        Ok(tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = tokio::time::sleep_until(until) => true,
        })
    }

    async fn commit_waiting(&mut self) -> Result<(), RuntimeError> {
        let waiting = self.take_waiting();
        if !waiting.is_empty() {
            let committed = self.store().commit(waiting).await?;
            self.tell(committed.events);
        }
        Ok(())
    }

    fn unavailable(&mut self, model: &ModelId, class: Unavailable, wait: Duration) {
        self.note(EventKind::ModelUnavailable {
            model: model.clone(),
            class,
            wait_ms: milliseconds(wait),
        });
    }

    /// Judges whether the context may flow to a candidate; one to which it may not is skipped with an event.
    fn is_cleared(&mut self, model: &ModelId, slot: &ProviderSlot) -> bool {
        let name = model.to_string();
        let flow = ModelFlow {
            model: &name,
            clearance: slot.clearance,
        };
        let evaluation = self.session.shared.gate.judge(Flow::Model(&flow), self.facts());
        let allowed = evaluation.is_allowed();
        self.note(if allowed {
            EventKind::FlowJudged {
                call: None,
                tool: None,
                evaluation,
            }
        } else {
            EventKind::ModelSkipped {
                model: model.clone(),
                evaluation,
            }
        });
        allowed
    }

    fn nobody_is_cleared(&self, tier: Option<Tier>) -> String {
        let level = self.session.taint().label().classification;
        let candidates = self.session.shared.candidates(self.session.policy(), tier);
        let whose = tier.map_or_else(|| "the fixed model".to_owned(), |tier| format!("tier {tier}"));
        if candidates.is_empty() {
            return format!("no model is configured for {whose}; add one to [tiers] in tidegate.toml");
        }
        let listed: Vec<String> = candidates
            .iter()
            .filter_map(|model| {
                let slot = self.session.shared.slot(model)?;
                Some(format!("{model} ({})", slot.clearance))
            })
            .collect();
        let cause = self.session.taint().cause().map_or_else(String::new, |step| {
            format!(
                "\n  it became {} at turn {}, by {}",
                step.to.classification, step.turn, step.origin
            )
        });
        format!(
            "this session has read {level} data, and no model of {whose} is cleared for {level}: {}{cause}\n  possible: set clearance = \"{level}\" for a provider you trust that far, use a local model, or start a new session",
            listed.join(", ")
        )
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
