//! Compaction, pass by pass.

use super::largest::largest;
use super::plan::{Aim, Plan, plan};
use super::stub::stubbed;
use super::summary::{self, SummaryRequest};
use super::units::{Sizes, units};
use super::{CompactionCause, CompactionOutcome, CompactionSettings, Progress, SummaryOrigin, TooLarge};
use crate::templates::Templates;
use crate::{Fixed, PromptError, Window, estimate_request, sanitise};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{Entry, EntrySeq, Rewrite, Transcript};
use tidegate_policy::{Label, TurnId};

/// What is to be compacted.
#[derive(Clone, Debug)]
pub struct CompactionInput {
    /// The transcript. Its last unit stays, even an open one.
    pub transcript: Transcript,
    /// The turn that compacts; summaries belong to it.
    pub turn: TurnId,
    /// The user message of the turn that runs. From it on, nothing is summed up.
    pub current: Option<EntrySeq>,
    /// System prompt and tools.
    pub fixed: Fixed,
    /// The model's window.
    pub window: Window,
    /// Why.
    pub cause: CompactionCause,
    /// What stays and how far it goes.
    pub settings: CompactionSettings,
}

/// What a compaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionStep<'a> {
    /// A summary: answer with [`Compaction::summarised`] or [`Compaction::summary_failed`].
    Summarise(&'a SummaryRequest),
    /// Nothing: [`Compaction::finish`] it.
    Done,
}

/// A compaction that runs.
///
/// A pass makes stubs of old tool results and, if those are not enough, one summary of a run of units. Passes are repeated
/// with less that is protected until the threshold is passed, [`CompactionSettings::max_passes`] are made, or there is
/// nothing left to try: each step ends, so all of it does.
#[derive(Debug)]
pub struct Compaction {
    templates: Templates,
    input: CompactionInput,
    /// The entries at the beginning.
    original: Vec<Arc<Entry>>,
    sizes: Sizes,
    /// What the request had before: as counted and estimated, and as estimated alone. Their ratio corrects estimates.
    before: (u64, u64),
    level: usize,
    passes: u32,
    stubs: usize,
    origin: Option<SummaryOrigin>,
    /// Why the auxiliary model is not asked any more.
    model_failed: Option<String>,
    pending: Option<(Plan, SummaryRequest)>,
}

impl Compaction {
    /// Begins, and goes on until a summary is needed or all is done.
    ///
    /// # Errors
    /// If a template cannot be rendered. That a request is too large is said by [`finish`](Self::finish).
    pub fn begin(templates: &Templates, input: CompactionInput) -> Result<Self, PromptError> {
        let entries = input.transcript.entries();
        let mut sizes = Sizes::default();
        sizes.learn(entries, &input.settings.prices);
        let estimated = sizes.total(entries).saturating_add(input.fixed.total()).max(1);
        let mut counted = estimate_request(entries, input.fixed, &input.settings.prices).tokens;
        if input.cause == CompactionCause::Overflow {
            counted = counted.max(input.window.tokens);
        }
        let mut this = Self {
            templates: templates.clone(),
            original: entries.to_vec(),
            sizes,
            before: (counted, estimated),
            level: 0,
            passes: 0,
            stubs: 0,
            origin: None,
            model_failed: None,
            pending: None,
            input,
        };
        this.advance()?;
        Ok(this)
    }

    /// What it waits for.
    pub fn step(&self) -> CompactionStep<'_> {
        match &self.pending {
            Some((_, request)) => CompactionStep::Summarise(request),
            None => CompactionStep::Done,
        }
    }

    /// Takes the auxiliary model's summary and goes on. One without text counts as a failure.
    ///
    /// # Errors
    /// If no summary is waited for, or a template cannot be rendered.
    pub fn summarised(&mut self, text: &str) -> Result<(), PromptError> {
        let text = sanitise(text.trim()).into_owned();
        if text.is_empty() {
            return self.summary_failed("the auxiliary model gave an empty summary");
        }
        let (plan, request) = self.take_pending("a summary")?;
        let text = summary::cut_to_tokens(&self.templates, &text, request.max_tokens)?;
        if self.origin.is_none() {
            self.origin = Some(SummaryOrigin::Model);
        }
        self.apply(plan, Some(text))?;
        self.advance()
    }

    /// Goes on with a summary that is made without a model, since there is none to be had; `reason` says why. The model is
    /// not asked again in this compaction.
    ///
    /// # Errors
    /// If no summary is waited for, or a template cannot be rendered.
    pub fn summary_failed(&mut self, reason: &str) -> Result<(), PromptError> {
        let (plan, request) = self.take_pending("that a summary failed")?;
        self.model_failed = Some(reason.to_owned());
        self.apply_plain(plan, request.max_tokens, reason.to_owned())?;
        self.advance()
    }

    /// The result.
    ///
    /// # Errors
    /// [`PromptError::TooLarge`] with the largest part, if no progress was made or the request does not fit in the window;
    /// [`PromptError::Misuse`] while a summary is waited for.
    pub fn finish(self) -> Result<CompactionOutcome, PromptError> {
        if self.pending.is_some() {
            return Err(PromptError::Misuse {
                given: "the end of compaction",
                expected: "a summary",
            });
        }
        let progress = self.progress();
        if !progress.is_made() || progress.tokens_after >= self.input.window.tokens {
            return Err(Box::new(self.too_large(progress.tokens_after)).into());
        }
        let numbers = |entries: &[Arc<Entry>]| entries.iter().map(|entry| entry.seq).collect::<BTreeSet<_>>();
        let (before, after) = (numbers(&self.original), numbers(self.input.transcript.entries()));
        let added: Vec<Arc<Entry>> = self
            .input
            .transcript
            .entries()
            .iter()
            .filter(|entry| !before.contains(&entry.seq))
            .cloned()
            .collect();
        Ok(CompactionOutcome {
            removed: self
                .original
                .into_iter()
                .filter(|entry| !after.contains(&entry.seq))
                .collect(),
            label: Label::join_all(added.iter().map(|entry| entry.label)),
            added,
            passes: self.passes,
            stubs: self.stubs,
            summary: self.origin,
            below_threshold: progress.tokens_after < self.input.window.threshold,
            progress,
            transcript: self.input.transcript,
        })
    }

    fn too_large(&self, tokens: u64) -> TooLarge {
        // If system prompt and tools leave no room for any message, no message is the matter.
        let entries = if self.fixed_is_too_large() {
            &[]
        } else {
            self.input.transcript.entries()
        };
        let (largest, largest_tokens) = largest(
            entries,
            &self.sizes,
            self.input.fixed,
            &self.input.settings.prices,
        );
        TooLarge {
            largest,
            largest_tokens: self.corrected(largest_tokens),
            tokens,
            window: self.input.window.tokens,
            passes: self.passes,
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            messages_before: self.original.len(),
            messages_after: self.input.transcript.entries().len(),
            tokens_before: self.before.0,
            tokens_after: self.corrected(self.estimated()),
        }
    }

    /// Tokens of the request as it is now, as estimated.
    fn estimated(&self) -> u64 {
        self.sizes
            .total(self.input.transcript.entries())
            .saturating_add(self.input.fixed.total())
    }

    /// An estimate as the provider would have counted it.
    fn corrected(&self, estimated: u64) -> u64 {
        scaled(estimated, self.before.0, self.before.1)
    }

    /// Makes passes until a summary is needed or nothing more is to be done.
    fn advance(&mut self) -> Result<(), PromptError> {
        while !self.is_done() {
            let all = units(&self.input.transcript, &self.sizes);
            let aim = Aim {
                cause: self.input.cause,
                settings: &self.input.settings,
                current: self.input.current,
                tokens: self.estimated(),
                threshold: scaled(self.input.window.threshold, self.before.1, self.before.0.max(1)),
            };
            let Some(plan) = plan(&all, self.level, aim) else {
                break;
            };
            self.level = self.level.saturating_add(1);
            if plan.is_empty() {
                continue;
            }
            let Some(run) = plan.run.clone().and_then(|run| all.get(run)) else {
                self.apply(plan, None)?;
                continue;
            };
            let tokens = run.iter().map(|unit| unit.tokens).fold(0, u64::saturating_add);
            let max_tokens = self
                .input
                .settings
                .summary_tokens
                .min(aim.threshold / 8)
                .min(tokens / 2)
                .max(32);
            if let Some(reason) = self.model_failed.clone() {
                self.apply_plain(plan, max_tokens, reason)?;
                continue;
            }
            let room = self
                .input
                .settings
                .request_tokens
                .min(self.input.window.tokens / 2)
                .max(64);
            let request = summary::request(&self.templates, run, room, max_tokens)?;
            self.pending = Some((plan, request));
            return Ok(());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        let most = match self.input.cause {
            CompactionCause::Overflow => 1,
            CompactionCause::Threshold | CompactionCause::Manual => self.input.settings.max_passes,
        };
        if self.passes >= most {
            return true;
        }
        if self.fixed_is_too_large() {
            return true;
        }
        let progress = self.progress();
        match self.input.cause {
            CompactionCause::Manual => self.passes > 0 && progress.is_made(),
            CompactionCause::Threshold | CompactionCause::Overflow => {
                self.passes > 0 && progress.is_made() && progress.tokens_after < self.input.window.threshold
            }
        }
    }

    /// Whether what is the same with every transcript fills the window.
    fn fixed_is_too_large(&self) -> bool {
        self.corrected(self.input.fixed.total()) >= self.input.window.tokens
    }

    fn take_pending(&mut self, given: &'static str) -> Result<(Plan, SummaryRequest), PromptError> {
        self.pending.take().ok_or(PromptError::Misuse {
            given,
            expected: "nothing more",
        })
    }

    fn apply_plain(&mut self, plan: Plan, max_tokens: u64, reason: String) -> Result<(), PromptError> {
        let all = units(&self.input.transcript, &self.sizes);
        let run = plan.run.clone().and_then(|run| all.get(run)).unwrap_or_default();
        let text = summary::plain(&self.templates, run, max_tokens)?;
        self.origin = Some(SummaryOrigin::Plain { reason });
        self.apply(plan, Some(text))
    }

    /// Makes a pass: the stubs of the plan, and the summary in the place of its run.
    fn apply(&mut self, plan: Plan, text: Option<String>) -> Result<(), PromptError> {
        let all = units(&self.input.transcript, &self.sizes);
        let mut rewrites = Vec::with_capacity(plan.stubs.len().saturating_add(1));
        let mut summary = match (plan.run, text) {
            (Some(units), Some(text)) => Some(Rewrite::Summary {
                units,
                turn: self.input.turn,
                label: Label::BOTTOM,
                summary: summary::message(&self.templates, &text)?,
            }),
            (Some(_) | None, _) => None,
        };
        for unit in plan.stubs {
            let stub_over = self.input.settings.stub_over;
            let Some(entries) = all.get(unit).map(|unit| unit.entries) else {
                continue;
            };
            if let Some((results, stubs)) = stubbed(&self.templates, entries, stub_over)? {
                if let Some(Rewrite::Summary { units, .. }) = &summary
                    && units.start < unit
                {
                    rewrites.extend(summary.take());
                }
                self.stubs = self.stubs.saturating_add(stubs);
                rewrites.push(Rewrite::Results { unit, results });
            }
        }
        rewrites.extend(summary);
        self.passes = self.passes.saturating_add(1);
        self.input
            .transcript
            .rewrite(rewrites)
            .map_err(|cause| PromptError::Transcript {
                turn: self.input.turn,
                cause,
            })?;
        self.sizes
            .learn(self.input.transcript.entries(), &self.input.settings.prices);
        Ok(())
    }
}

fn scaled(tokens: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(tokens).saturating_mul(u128::from(by)) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
