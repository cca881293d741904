//! One model call: the candidate that is cleared, its stream, and what became of it.

use crate::turn::Turn;
use crate::{RuntimeError, Signal};
use futures::StreamExt as _;
use std::sync::Arc;
use std::time::Instant;
use tidegate_core::Failure;
use tidegate_message::{EventKind, ModelId, Reply, ReplyPart, Tier};
use tidegate_policy::{Flow, ModelFlow};
use tidegate_providers::{ErrorClass, ModelRequest, ProviderError, StreamEvent, ToolChoice};
use tidegate_tools::Cancel as _;

/// How a model call ended.
pub(crate) enum ModelEnd {
    /// With a complete reply.
    Reply(Box<Reply>),
    /// Without one.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

impl Turn<'_> {
    /// Calls the first candidate that is cleared for what the session has been in touch with.
    pub(crate) async fn call_model(
        &mut self,
        tier: Option<Tier>,
        round: u32,
        must_answer: bool,
    ) -> Result<ModelEnd, RuntimeError> {
        let Some(model) = self.cleared_model(tier) else {
            let message = self.nobody_is_cleared(tier);
            return Ok(ModelEnd::Failed(Failure::blocked(message)));
        };
        self.model = Some(model.clone());
        let history = self.session.transcript.entries().to_vec();
        let entries = u64::try_from(history.len()).unwrap_or(u64::MAX);
        self.note(EventKind::ModelCalled {
            model: model.clone(),
            tier,
            round,
            entries,
        });
        let targets = self.run.routing().targets();
        let request = ModelRequest {
            model: model.name().into(),
            system: Arc::clone(&self.session.record.session.system_prompt),
            tools: self.session.tool_set(tier, &targets),
            history,
            tool_choice: if must_answer {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            },
        };
        let started = Instant::now();
        // The facts so far are stored while the model thinks: they cost no time of their own.
        let waiting = self.take_waiting();
        let store = self.store();
        let (committed, end) = tokio::join!(store.commit(waiting), self.stream(&model, request));
        self.tell(committed?.events);
        let end = match end {
            None => return Ok(ModelEnd::Cancelled),
            Some(end) => end,
        };
        match end {
            Ok(reply) => {
                let calls = reply
                    .parts
                    .iter()
                    .filter(|part| matches!(part, ReplyPart::Call { .. }))
                    .count();
                self.note(EventKind::ModelReplied {
                    model,
                    usage: reply.usage,
                    finish: reply.finish,
                    calls: u32::try_from(calls).unwrap_or(u32::MAX),
                    duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                });
                Ok(ModelEnd::Reply(reply))
            }
            Err(error) => {
                self.show(Signal::Retracted);
                let message = error.to_string();
                let class = error.class.as_str().to_owned();
                self.note(EventKind::ModelFailed {
                    model: model.clone(),
                    class,
                    message: message.clone(),
                });
                let message = format!(
                    "{message}\n  the model call was tried once; the task is kept: run it again with --resume"
                );
                Ok(ModelEnd::Failed(Failure::error(message)))
            }
        }
    }

    /// The reply, or none if the turn was cancelled meanwhile. Dropping the stream ends the call.
    async fn stream(
        &self,
        model: &ModelId,
        request: ModelRequest,
    ) -> Option<Result<Box<Reply>, ProviderError>> {
        let slot = self.session.shared.slot(model)?;
        let call = async {
            // The semaphore is never closed.
            let _permit = slot.permits.acquire().await.ok();
            let mut stream = slot.provider.stream(request);
            while let Some(event) = stream.next().await {
                match event? {
                    StreamEvent::Text(text) => self.show(Signal::Text(text)),
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

    /// The first candidate of the tier to which the context may flow; the others are skipped with an event.
    fn cleared_model(&mut self, tier: Option<Tier>) -> Option<ModelId> {
        let candidates = self.session.shared.candidates(self.session.policy(), tier);
        for model in candidates {
            let Some(slot) = self.session.shared.slot(&model) else {
                continue;
            };
            let name = model.to_string();
            let flow = ModelFlow {
                model: &name,
                clearance: slot.clearance,
            };
            let evaluation = self.session.shared.gate.judge(Flow::Model(&flow), self.facts());
            if evaluation.is_allowed() {
                self.note(EventKind::FlowJudged {
                    call: None,
                    tool: None,
                    evaluation,
                });
                return Some(model);
            }
            self.note(EventKind::ModelSkipped { model, evaluation });
        }
        None
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
