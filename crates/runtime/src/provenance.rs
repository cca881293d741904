//! What a session knows of its values (check 7): read off what was said, so that it survives restarts.

use crate::config::{self, IntegrityTest, PolicySettings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tidegate_message::{
    AssistantPart, Author, Body, Entry, EntrySeq, ResultStatus, ToolCall, ToolResult, Transcript, joined_text,
};
use tidegate_policy::{ActionWords, CallId, IntegrityAction, IntegrityMode, ProvenanceLedger, ToolOutcome};
use tidegate_tools::Registry;

/// How check 7 is done here.
#[derive(Debug)]
pub(crate) struct IntegrityCheck {
    pub(crate) mode: IntegrityMode,
    pub(crate) action: IntegrityAction,
    languages: Vec<String>,
    /// Words beside the built-in ones.
    more_words: ActionWords,
    /// A ledger without entries, with all words: made when a call first has to be judged by it.
    empty: OnceLock<Arc<ProvenanceLedger>>,
}

impl IntegrityCheck {
    pub(crate) fn of(policy: &PolicySettings) -> Self {
        Self {
            mode: match policy.integrity {
                IntegrityTest::Values => IntegrityMode::Values,
                IntegrityTest::Session => IntegrityMode::Session,
                IntegrityTest::Off => IntegrityMode::Off,
            },
            action: match policy.integrity_action {
                config::IntegrityAction::Approve => IntegrityAction::Approve,
                config::IntegrityAction::Block => IntegrityAction::Block,
            },
            languages: policy.languages.clone(),
            more_words: policy.words.clone(),
            empty: OnceLock::new(),
        }
    }

    fn empty_ledger(&self) -> Arc<ProvenanceLedger> {
        let ledger = self.empty.get_or_init(|| {
            // The built-in words are read in the tests of their crate; without words nothing is licensed.
            let mut words = ActionWords::built_in().unwrap_or_default();
            words.extend(self.more_words.clone());
            words.keep_languages(&self.languages);
            Arc::new(ProvenanceLedger::new(&words))
        });
        Arc::clone(ledger)
    }
}

/// The ledger of a session, as far as its transcript was read.
///
/// Nothing of it is stored: the entries are, and reading them again gives the same ledger. A licence counts as used
/// by a call that has run and that it licensed; one that the owner granted uses none.
#[derive(Clone, Debug)]
pub(crate) struct Provenance {
    /// None before anything was read.
    ledger: Option<Arc<ProvenanceLedger>>,
    /// The number of the last entry that was read. Compaction takes entries out of the transcript and puts summaries
    /// in, with higher numbers: what was read stays read, and what is new is.
    read_through: EntrySeq,
    /// The calls of the last model message, until their results are read.
    calls: Vec<ToolCall>,
}

impl Default for Provenance {
    fn default() -> Self {
        Self {
            ledger: None,
            read_through: EntrySeq(0),
            calls: Vec::new(),
        }
    }
}

impl Provenance {
    /// Reads what was said since.
    pub(crate) fn read(&mut self, check: &IntegrityCheck, transcript: &Transcript, registry: &Registry) {
        self.read_entries(check, transcript.entries(), registry);
    }

    /// The same of entries that need be no transcript: all that a session has stored, say.
    pub(crate) fn read_entries(
        &mut self,
        check: &IntegrityCheck,
        entries: &[Arc<Entry>],
        registry: &Registry,
    ) {
        let mut shared = self.ledger.take().unwrap_or_else(|| check.empty_ledger());
        let ledger = Arc::make_mut(&mut shared);
        let read = self.read_through;
        for entry in entries.iter().filter(|entry| entry.seq > read) {
            self.read_entry(ledger, entry, registry);
            self.read_through = self.read_through.max(entry.seq);
        }
        self.ledger = Some(shared);
    }

    fn read_entry(&mut self, ledger: &mut ProvenanceLedger, entry: &Entry, registry: &Registry) {
        match &entry.body {
            Body::User(message) => {
                // What a person typed. What rides on the message (notes, project files, memories) is in its sidecar and
                // licenses nothing, though the label of the whole is the join.
                if message.author == Author::Person {
                    let typed = joined_text(&message.content);
                    ledger.owner_text(&typed);
                }
            }
            Body::Assistant(message) => {
                let calls = message.parts.iter().filter_map(|part| match part {
                    AssistantPart::Call(call) => Some(call.clone()),
                    AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
                });
                self.calls = calls.collect();
            }
            Body::Results(results) => {
                let calls = std::mem::take(&mut self.calls);
                read_results(ledger, &calls, &results.results, registry);
            }
        }
    }

    /// What is known before each call of a model message, in order: a licence that one of them uses is not there for
    /// the next. So the outcome does not depend on which runs first.
    pub(crate) fn before_each<'c>(
        &self,
        check: &IntegrityCheck,
        calls: impl IntoIterator<Item = &'c ToolCall>,
        registry: &Registry,
    ) -> BTreeMap<CallId, Known> {
        let mut ledger = self.ledger.clone().unwrap_or_else(|| check.empty_ledger());
        let mut known = BTreeMap::new();
        for call in calls {
            if !is_judged_by_value(call, registry) {
                continue;
            }
            let Some((tool, arguments)) = checked(call, registry) else {
                continue;
            };
            let policy = &tool.definition().policy;
            let before = Arc::clone(&ledger);
            let verdict = before.judge(policy, &arguments);
            if verdict.licence.is_some() && verdict.satisfied {
                Arc::make_mut(&mut ledger).consume(&call.id, &verdict);
            }
            known.insert(
                call.id.clone(),
                Known {
                    ledger: before,
                    arguments,
                },
            );
        }
        known
    }
}

fn read_results(
    ledger: &mut ProvenanceLedger,
    calls: &[ToolCall],
    results: &[ToolResult],
    registry: &Registry,
) {
    let ran = |call: &ToolCall| {
        results
            .iter()
            .find(|result| result.call == call.id)
            .filter(|result| has_run(result.status))
    };
    // All are judged before any result is known, as they were when they ran.
    for call in calls {
        if ran(call).is_none() {
            continue;
        }
        if let Some((tool, arguments)) = checked(call, registry)
            && tool.definition().policy.consequential
        {
            let verdict = ledger.judge(&tool.definition().policy, &arguments);
            if verdict.satisfied {
                ledger.consume(&call.id, &verdict);
            }
        }
    }
    for call in calls {
        let result = results
            .iter()
            .find(|result| result.call == call.id)
            // What the program says of a refusal is its own.
            .filter(|result| result.status != ResultStatus::Refused);
        let (Some(result), Some((tool, arguments))) = (result, checked(call, registry)) else {
            continue;
        };
        let text = joined_text(&result.content);
        let outcome = match result.status {
            ResultStatus::Ok => ToolOutcome::Text(&text),
            // In the place of what is withheld stands a fixed text.
            ResultStatus::Withheld
            | ResultStatus::Error
            | ResultStatus::Unknown
            | ResultStatus::NotRun
            | ResultStatus::Refused => ToolOutcome::Error(&text),
        };
        ledger.tool_result(&call.id, &tool.definition().policy, &arguments, outcome);
    }
}

/// Whether check 7 looks at the values of a call: most read only and send nothing, and need no ledger.
pub(crate) fn is_judged_by_value(call: &ToolCall, registry: &Registry) -> bool {
    registry.get(&call.name).is_some_and(|tool| {
        let policy = &tool.definition().policy;
        // A fetch changes nothing, and sends its URL.
        policy.consequential || policy.integrity.egress
    })
}

/// What is known of one call's values before it runs.
pub(crate) struct Known {
    pub(crate) ledger: Arc<ProvenanceLedger>,
    pub(crate) arguments: Value,
}

/// Whether a call with such a result has happened, or may have.
fn has_run(status: ResultStatus) -> bool {
    match status {
        ResultStatus::Ok | ResultStatus::Withheld | ResultStatus::Error | ResultStatus::Unknown => true,
        ResultStatus::NotRun | ResultStatus::Refused => false,
    }
}

/// The tool of a call with its arguments, if they fit.
fn checked<'r>(
    call: &ToolCall,
    registry: &'r Registry,
) -> Option<(&'r Arc<dyn tidegate_tools::Tool>, Value)> {
    let tool = registry.get(&call.name)?;
    let arguments = registry.check(&call.name, &call.arguments).ok()?;
    Some((tool, Value::Object(arguments)))
}
