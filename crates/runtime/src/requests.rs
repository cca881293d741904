//! What models were sent, put together again from what is stored, byte for byte.
//!
//! Nothing is kept twice: the system prompt, the tools and the entries of a session are stored, its events say which of
//! them a request was made of, and a wire writes them the same way each time.

use crate::config::ProviderKind;
use crate::open::of_segment;
use crate::runtime::{Shared, find};
use crate::{Runtime, RuntimeError};
use bytes::Bytes;
use serde::Serialize;
use std::sync::Arc;
use tidegate_message::{Author, Body, Entry, Event, EventKind, ModelId, Tier, ToolSpec};
use tidegate_policy::{
    AnswerFlow, Caller, Flow, RuleId, SecretName, SessionFacts, SessionId, TurnId, UserId,
};
use tidegate_providers::{ModelRequest, ToolChoice, ToolSet, encode_request, validate_history};
use tidegate_store::{EventFilter, SessionRecord, SessionState};

/// Which of a session's requests is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPlace {
    /// The turn, from 1.
    pub turn: u32,
    /// The round in it, from 1.
    pub round: u32,
    /// Which of the tries of this round, from 1: after a failure the same is sent again, to the same model or another
    /// one.
    pub attempt: u32,
}

impl RequestPlace {
    /// The first request of a turn.
    pub fn first_of(turn: u32) -> Self {
        Self {
            turn,
            round: 1,
            attempt: 1,
        }
    }
}

/// The form in which a request goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Chat Completions, the body of a `POST`.
    ChatCompletions,
    /// That of a provider that was added in code.
    Own,
    /// None: a scripted model is sent nothing, or the configuration does not name the provider any more. What is shown is
    /// the form of Chat Completions.
    None,
}

/// A text of a session as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownText {
    /// The text, without the values of secrets and what rules redact.
    pub text: String,
    /// The secrets that were taken out of it. Empty, with no rule in `redacted_by`: it is what was sent, byte for byte.
    pub secrets: Vec<SecretName>,
    /// The rules that redacted something.
    pub redacted_by: Vec<RuleId>,
}

impl ShownText {
    /// Whether it is what was sent, byte for byte.
    pub fn is_unchanged(&self) -> bool {
        self.secrets.is_empty() && self.redacted_by.is_empty()
    }
}

/// A request that was sent to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentRequest {
    /// The session.
    pub session: SessionId,
    /// The number of the turn, from 1.
    pub turn: u32,
    /// The turn.
    pub turn_id: TurnId,
    /// The round in it, from 1.
    pub round: u32,
    /// Which of the tries of the round it was, from 1.
    pub attempt: u32,
    /// How many tries the round had.
    pub attempts: u32,
    /// When it was sent: milliseconds since 1970-01-01 UTC.
    pub at_ms: i64,
    /// The number of the session's event that tells of it.
    pub sequence: u64,
    /// Who it went to.
    pub model: ModelId,
    /// The model's tier; none for a fixed model.
    pub tier: Option<Tier>,
    /// In which form.
    pub wire: Wire,
    /// How many messages of the session it has.
    pub entries: u64,
    /// How many bytes were sent.
    pub bytes: u64,
    /// Why it may differ from what was sent, if it may.
    pub doubt: Option<&'static str>,
    /// What was sent.
    pub body: ShownText,
}

/// No count of tools was recorded.
const EARLIER_VERSION: &str =
    "the request was sent by an earlier version of the program, which did not record its tools";
/// What is stored does not fit together.
const DOES_NOT_FIT: &str = "what is stored does not have all the messages that were sent";

impl Runtime {
    /// The system prompt of the session with this name or id, as it stands before each of its requests, for `reader`.
    ///
    /// # Errors
    /// If there is no such session, it was erased, or it holds what `reader` may not read.
    pub async fn system_prompt(&self, name_or_id: &str, reader: &UserId) -> Result<ShownText, RuntimeError> {
        let record = self.stored(name_or_id).await?;
        let text = record.session.system_prompt.to_string();
        self.shared.shown_to(&record, reader, text)
    }

    /// A request of the session with this name or id, for `reader`: put together by the code that put it together when it
    /// was sent.
    ///
    /// # Errors
    /// If there is no such session or request, it was erased, or it holds what `reader` may not read.
    pub async fn sent_request(
        &self,
        name_or_id: &str,
        place: RequestPlace,
        reader: &UserId,
    ) -> Result<SentRequest, RuntimeError> {
        let record = self.stored(name_or_id).await?;
        // Whoever may not read it is told nothing of it, not even how many turns it has.
        self.shared.shown_to(&record, reader, String::new())?;
        let id = record.session.id;
        let store = &self.shared.store;
        let entries = store.entries(id).await?;
        let turns = turns(&entries);
        let index = usize::try_from(place.turn.saturating_sub(1)).unwrap_or(usize::MAX);
        let turn_id = *turns
            .get(index)
            .filter(|_| place.turn > 0)
            .ok_or(RuntimeError::UnknownTurn {
                session: id,
                turn: place.turn,
                turns: u32::try_from(turns.len()).unwrap_or(u32::MAX),
            })?;
        let filter = EventFilter {
            session: Some(id),
            ..EventFilter::default()
        };
        let events: Vec<Event> = store
            .events(filter)
            .await?
            .into_iter()
            .map(|stored| stored.event)
            .collect();
        let calls = CallsOf::turn(&events, turn_id);
        let Some(call) = calls.at(place) else {
            return Err(RuntimeError::NothingSent {
                session: id,
                turn: place.turn,
                sent: calls.told(),
            });
        };
        let segments = store.segments(id).await?;
        let compacted = events
            .iter()
            .filter(|event| event.sequence < call.event.sequence)
            .filter(|event| matches!(event.kind, EventKind::CompactionFinished { .. }))
            .count();
        let segment = compacted.checked_sub(1).and_then(|index| segments.get(index));
        let sent = usize::try_from(call.entries).unwrap_or(usize::MAX);
        // What was stored later comes after it.
        let mut history = of_segment(entries, segment);
        history.truncate(sent);
        let fits = history.len() == sent && segment.is_some() == (compacted > 0);
        let fits = fits && validate_history(&history).is_ok();
        let doubt = match (fits, call.tools) {
            (false, _) => Some(DOES_NOT_FIT),
            (true, None) => Some(EARLIER_VERSION),
            (true, Some(_)) => None,
        };
        let request = ModelRequest {
            model: call.model.name().into(),
            system: Arc::clone(&record.session.system_prompt),
            tools: Arc::new(ToolSet::new(call.tools(&record.session.tools))),
            history: Arc::new(history),
            tool_choice: if call.must_answer {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            },
        };
        let (wire, body) = self.shared.body(call.model, &request);
        let text = String::from_utf8_lossy(&body).into_owned();
        Ok(SentRequest {
            session: id,
            turn: place.turn,
            turn_id,
            round: place.round,
            attempt: place.attempt,
            attempts: calls.attempts(place.round),
            at_ms: call.event.at_ms,
            sequence: call.event.sequence,
            model: call.model.clone(),
            tier: call.tier,
            wire,
            entries: call.entries,
            bytes: u64::try_from(body.len()).unwrap_or(u64::MAX),
            doubt,
            body: self.shared.shown_to(&record, reader, text)?,
        })
    }

    async fn stored(&self, name_or_id: &str) -> Result<SessionRecord, RuntimeError> {
        let record = find(&*self.shared.store, name_or_id).await?;
        match record.state {
            SessionState::Erased => Err(RuntimeError::SessionErased {
                session: record.session.id,
            }),
            SessionState::Idle | SessionState::InTurn(_) => Ok(record),
        }
    }
}

impl Shared {
    /// The body of a request to `model`, and its form.
    fn body(&self, model: &ModelId, request: &ModelRequest) -> (Wire, Bytes) {
        let kind = self.configuration.providers.get(model.provider().as_str());
        let kind = kind.map(|settings| settings.kind);
        let own = self.slot(model).and_then(|slot| slot.provider.body(request));
        let chat_completions = || encode_request(model.provider(), request);
        match (kind, own) {
            (Some(ProviderKind::Openai), own) => {
                (Wire::ChatCompletions, own.unwrap_or_else(chat_completions))
            }
            (_, Some(own)) => (Wire::Own, own),
            (Some(ProviderKind::Scripted | ProviderKind::Gemini | ProviderKind::Anthropic) | None, None) => {
                (Wire::None, chat_completions())
            }
        }
    }

    /// What of a session's text may be shown to `reader`: the flow is judged as that of an answer to them would be.
    fn shown_to(
        &self,
        record: &SessionRecord,
        reader: &UserId,
        text: String,
    ) -> Result<ShownText, RuntimeError> {
        let reader = self.reader(reader)?;
        reader.check(record)?;
        let session = &record.session;
        let (name, clearance) = (reader.user().as_str(), reader.clearance());
        let users = &self.configuration.users;
        let facts = SessionFacts {
            taint: &session.taint,
            clearance: session.clearance,
            bumper: None,
            caller: Caller {
                user: Some(name),
                role: users.role(name),
                session_name: session.name.as_ref().map(|name| name.as_str()),
                channel: None,
                attended: false,
            },
        };
        let texts = [text.as_str()];
        let flow = AnswerFlow {
            reader: name,
            clearance,
            texts: Some(&texts),
            recipients: &[],
            granted: false,
        };
        let evaluation = self.gate.judge(Flow::Answer(&flow), facts);
        if !evaluation.is_allowed() {
            // What the gate explains names what the session has read.
            return Err(RuntimeError::NotToBeShown {
                session: session.id,
                reader: reader.user().clone(),
                rule: evaluation
                    .rule
                    .as_ref()
                    .map_or_else(String::new, RuleId::to_string),
            });
        }
        let redactor = self.gate.redactor(&evaluation).map_err(RuntimeError::Redaction)?;
        let redacted = redactor.text(&text);
        let scrubbed = self.secrets.scrubbed(redacted.text);
        Ok(ShownText {
            text: scrubbed.text,
            secrets: scrubbed.names,
            redacted_by: redacted.by,
        })
    }
}

/// The turns of a session in their order: each begins with what somebody wrote.
fn turns(entries: &[Arc<Entry>]) -> Vec<TurnId> {
    let mut turns = Vec::new();
    for entry in entries {
        // What compaction makes belongs to no turn of its own.
        let is_said = matches!(&entry.body, Body::User(message) if message.author != Author::Summary);
        if is_said && turns.last() != Some(&entry.turn) && !turns.contains(&entry.turn) {
            turns.push(entry.turn);
        }
    }
    turns
}

/// The model calls of a turn.
struct CallsOf<'a>(Vec<Call<'a>>);

struct Call<'a> {
    event: &'a Event,
    model: &'a ModelId,
    tier: Option<Tier>,
    round: u32,
    entries: u64,
    tools: Option<u64>,
    targets: &'a [Tier],
    must_answer: bool,
}

impl<'a> CallsOf<'a> {
    fn turn(events: &'a [Event], turn: TurnId) -> Self {
        let of_turn = events.iter().filter(|event| event.turn == Some(turn));
        let calls = of_turn.filter_map(|event| match &event.kind {
            EventKind::ModelCalled {
                model,
                tier,
                round,
                entries,
                tools,
                targets,
                must_answer,
            } => Some(Call {
                event,
                model,
                tier: *tier,
                round: *round,
                entries: *entries,
                tools: *tools,
                targets,
                must_answer: *must_answer,
            }),
            _ => None,
        });
        Self(calls.collect())
    }

    fn of_round(&self, round: u32) -> impl Iterator<Item = &Call<'a>> {
        self.0.iter().filter(move |call| call.round == round)
    }

    fn at(&self, place: RequestPlace) -> Option<&Call<'a>> {
        let index = usize::try_from(place.attempt.checked_sub(1)?).ok()?;
        self.of_round(place.round).nth(index)
    }

    fn attempts(&self, round: u32) -> u32 {
        u32::try_from(self.of_round(round).count()).unwrap_or(u32::MAX)
    }

    /// Which requests there are.
    fn told(&self) -> String {
        let Some(last) = self.0.iter().map(|call| call.round).max() else {
            return "none was".to_owned();
        };
        let rounds: Vec<String> = (1..=last)
            .map(|round| match self.attempts(round) {
                1 => format!("round {round} once"),
                times => format!("round {round} {times} times"),
            })
            .collect();
        format!("there are: {}", rounds.join(", "))
    }
}

impl Call<'_> {
    /// The tools that were sent, of those the session has now: tools are only ever appended.
    fn tools(&self, all: &[ToolSpec]) -> Vec<ToolSpec> {
        let count = self.tools.and_then(|count| usize::try_from(count).ok());
        let own = all.get(..count.unwrap_or(all.len())).unwrap_or(all);
        crate::session::with_switch(own, self.targets)
    }
}
