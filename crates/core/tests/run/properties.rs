//! Whatever a model does and whenever the process ends, every turn ends well.

use crate::turn::{Facts, LABEL, Turn, done, refusal, reply, says};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tidegate_core::{Advance, Failure, Profile, Run, Step, TurnLimit};
use tidegate_message::{
    Body, Entry, EventKind, FinishReason, ResultStatus, Tier, ToolCall, ToolResult, Transcript, TurnStatus,
    UserMessage,
};
use tidegate_policy::CallId;

/// What the model replies, taken in turn and over again.
#[derive(Clone, Debug)]
struct Behaviour {
    parts: Vec<String>,
    finish: FinishReason,
}

/// What happens beside it, at one step of the turn.
#[derive(Clone, Debug)]
enum Incident {
    Nothing,
    /// Run and transcript are stored and loaded.
    Restart,
    Steer,
    Cancel,
    Failure,
    /// The turn's time is up.
    Expiry,
    /// The owner refuses some calls, lets others wait for this step, and grants the rest.
    Asked {
        refused: usize,
        waiting: usize,
    },
    /// The process ends after so many calls have begun, the last of them without a result.
    Crash {
        begun: usize,
    },
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    let text = prop_oneof![
        Just("\"text"),
        Just("\""),
        Just("\" "),
        Just("\"x\nQUESTION: what?"),
        Just("~hm")
    ];
    let tool = prop_oneof![
        4 => Just("look".to_owned()),
        2 => Just("write {\"a\": 1}".to_owned()),
        1 => Just("write {\"a\": ".to_owned()),
        1 => Just("invented".to_owned()),
        2 => prop_oneof![Just("LITE"), Just("FLASH"), Just("PRO"), Just("gpt")].prop_map(crate::turn::switch),
        1 => Just("new_cognitive_level".to_owned()),
    ];
    let finish = prop_oneof![
        6 => Just(FinishReason::Stop),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::ContentFilter),
    ];
    (
        prop::collection::vec(text, 0..2),
        prop::collection::vec(tool, 0..6),
        finish,
    )
        .prop_map(|(texts, tools, finish)| Behaviour {
            parts: texts.into_iter().map(str::to_owned).chain(tools).collect(),
            finish,
        })
}

/// One that goes on asking for something, so that limits are met.
fn restless() -> impl Strategy<Value = Behaviour> {
    behaviour().prop_filter("asks for a tool", |behaviour| {
        behaviour.parts.iter().any(|part| !part.starts_with(['"', '~']))
    })
}

fn incident() -> impl Strategy<Value = Incident> {
    prop_oneof![
        20 => Just(Incident::Nothing),
        5 => Just(Incident::Restart),
        3 => Just(Incident::Steer),
        1 => Just(Incident::Cancel),
        1 => Just(Incident::Failure),
        1 => Just(Incident::Expiry),
        6 => (0..3_usize, 0..4_usize).prop_map(|(refused, waiting)| Incident::Asked { refused, waiting }),
        3 => (0..4_usize).prop_map(|begun| Incident::Crash { begun }),
    ]
}

fn profile() -> impl Strategy<Value = Profile> {
    prop_oneof![
        (0..6_u32).prop_map(Profile::main),
        (5..12_u32).prop_map(|calls| Profile::delegate(calls).unwrap()),
        (0..6_u32).prop_map(Profile::light),
    ]
}

/// A driver that does what the steps say and remembers what it did.
struct Driver {
    turn: Turn,
    /// Stored and loaded at every step, and expected to behave just the same.
    twin: Turn,
    begun: BTreeMap<CallId, u32>,
    finished: BTreeMap<CallId, u32>,
    rounds_run: BTreeSet<u64>,
    replies: u32,
    switches: u32,
    steered: u32,
    refusals: u32,
    tier: Option<Tier>,
    /// Whether every call has the same result.
    monotonous: bool,
}

impl Driver {
    fn new(profile: Profile, policy: &str, monotonous: bool) -> Self {
        let turn = Turn::new(profile.clone(), policy);
        let tier = turn.run.routing().current();
        Self {
            turn,
            twin: Turn::new(profile, policy),
            begun: BTreeMap::new(),
            finished: BTreeMap::new(),
            rounds_run: BTreeSet::new(),
            replies: 0,
            switches: 0,
            steered: 0,
            refusals: 0,
            tier,
            monotonous,
        }
    }

    /// Does the same to the run and to its twin, which has just been stored and loaded.
    fn both(&mut self, act: impl Fn(&mut Run, &mut Transcript) -> Advance) -> Step {
        let before = self.turn.transcript.entries().len();
        let advance = act(&mut self.turn.run, &mut self.turn.transcript);
        restart(&mut self.twin);
        let twin = act(&mut self.twin.run, &mut self.twin.transcript);
        assert_eq!(advance, twin);
        assert_eq!(
            advance.appended,
            self.turn.transcript.entries().split_at(before).1
        );
        for event in &advance.events {
            match event {
                EventKind::ToolFinished { call, .. } => *self.finished.entry(call.clone()).or_default() += 1,
                EventKind::TierSwitched { from, to, .. } => {
                    self.switches += 1;
                    assert_eq!(Some(*from), self.tier);
                    assert_ne!(from, to);
                    self.tier = Some(*to);
                }
                EventKind::TurnLimited { .. } | EventKind::TurnResumed { .. } => {}
                other => panic!("the run told {other:?}"),
            }
        }
        self.turn.checked(advance);
        self.turn.step()
    }

    fn run_tools(&mut self, batches: &[Vec<ToolCall>], shuffled: bool) -> Step {
        let seq = self.turn.transcript.entries().last().unwrap().seq.0;
        self.rounds_run.insert(seq);
        let mut results = Vec::new();
        for call in batches.iter().flatten() {
            *self.begun.entry(call.id.clone()).or_default() += 1;
            *self.finished.entry(call.id.clone()).or_default() += 1;
            results.push(self.result(call));
        }
        if shuffled {
            results.reverse();
        }
        self.both(|run, transcript| run.on_results(transcript, results.clone()).unwrap())
    }

    fn result(&self, call: &ToolCall) -> ToolResult {
        if self.monotonous {
            says(call, "nothing")
        } else {
            done(call)
        }
    }

    /// Of the calls, refuses some, lets others wait and runs the rest.
    fn asked(&mut self, batches: &[Vec<ToolCall>], refused: usize, waiting: usize) -> Step {
        let seq = self.turn.transcript.entries().last().unwrap().seq.0;
        self.rounds_run.insert(seq);
        let mut results = Vec::new();
        let mut waits = Vec::new();
        for (index, call) in batches.iter().flatten().enumerate() {
            if index < waiting {
                waits.push(call.id.clone());
                continue;
            }
            *self.finished.entry(call.id.clone()).or_default() += 1;
            if index < waiting + refused {
                results.push(ToolResult::text(
                    call,
                    ResultStatus::Refused,
                    LABEL,
                    "the owner said no",
                ));
                self.refusals += 1;
            } else {
                *self.begun.entry(call.id.clone()).or_default() += 1;
                results.push(self.result(call));
            }
        }
        let refusals = u32::try_from(
            results
                .iter()
                .filter(|result| result.status == ResultStatus::Refused)
                .count(),
        );
        self.both(|run, transcript| {
            run.on_refusals(refusals.unwrap());
            run.on_waiting(transcript, results.clone(), &waits).unwrap()
        })
    }

    /// Begins `count` calls; all but the last of them are finished, and their results were recorded.
    fn begin(&mut self, batches: &[Vec<ToolCall>], count: usize) -> (Vec<ToolResult>, BTreeSet<CallId>) {
        let calls: Vec<_> = batches.iter().flatten().take(count).collect();
        if !calls.is_empty() {
            self.rounds_run
                .insert(self.turn.transcript.entries().last().unwrap().seq.0);
        }
        for call in &calls {
            *self.begun.entry(call.id.clone()).or_default() += 1;
        }
        let known: Vec<ToolResult> = calls
            .iter()
            .take(count.saturating_sub(1))
            .map(|call| self.result(call))
            .collect();
        for result in &known {
            *self.finished.entry(result.call.clone()).or_default() += 1;
        }
        (known, calls.iter().map(|call| call.id.clone()).collect())
    }

    fn go(&mut self, behaviours: &[Behaviour], incidents: &[Incident]) {
        let mut incidents = incidents.iter().cycle();
        let mut step = self.turn.step();
        // Generous: what has to hold exactly is checked at the end.
        for count in 0..400_u32 {
            let incident = match incidents.next() {
                // Nothing goes on where the process ends again and again.
                Some(Incident::Crash { .. } | Incident::Asked { .. }) if count > 50 => Incident::Nothing,
                Some(incident) => incident.clone(),
                None => Incident::Nothing,
            };
            match incident {
                Incident::Restart => restart(&mut self.turn),
                Incident::Steer if self.steered < 5 && self.turn.run.outcome().is_none() => {
                    self.steered += 1;
                    let message = UserMessage::person(format!("also {count}"));
                    self.turn.run.steer(LABEL, message.clone()).unwrap();
                    self.twin.run.steer(LABEL, message).unwrap();
                }
                _ => {}
            }
            assert_eq!(step, self.turn.step(), "asked again, the run says the same");
            step = match (step, incident) {
                (Step::Finish(_) | Step::Ask { .. }, _) => return,
                (Step::RunTools { batches }, Incident::Cancel) => {
                    let (known, begun) = self.begin(&batches, 2);
                    self.both(|run, transcript| {
                        run.on_cancel(transcript, LABEL, known.clone(), &begun).unwrap()
                    })
                }
                (Step::RunTools { batches }, Incident::Expiry) => {
                    let (known, begun) = self.begin(&batches, 2);
                    self.both(|run, transcript| {
                        run.on_expiry(transcript, LABEL, known.clone(), &begun, Duration::from_secs(1))
                            .unwrap()
                    })
                }
                (_, Incident::Expiry) => self.both(|run, transcript| {
                    run.on_expiry(
                        transcript,
                        LABEL,
                        vec![],
                        &BTreeSet::new(),
                        Duration::from_secs(1),
                    )
                    .unwrap()
                }),
                (Step::RunTools { batches }, Incident::Asked { refused, waiting }) => {
                    self.asked(&batches, refused, waiting)
                }
                (_, Incident::Cancel) => self.both(|run, transcript| {
                    run.on_cancel(transcript, LABEL, vec![], &BTreeSet::new())
                        .unwrap()
                }),
                (Step::CallModel { .. }, Incident::Failure) => {
                    self.both(|run, transcript| run.on_failure(transcript, Failure::error("no")).unwrap())
                }
                (Step::RunTools { batches }, Incident::Crash { begun }) => {
                    let (known, begun) = self.begin(&batches, begun);
                    self.both(|run, transcript| {
                        run.on_resume(transcript, LABEL, known.clone(), &begun, &Facts)
                            .unwrap()
                    })
                }
                (Step::CallModel { .. }, Incident::Crash { .. }) => self.both(|run, transcript| {
                    run.on_resume(transcript, LABEL, vec![], &BTreeSet::new(), &Facts)
                        .unwrap()
                }),
                (Step::RunTools { batches }, _) => self.run_tools(&batches, count % 2 == 0),
                (
                    Step::CallModel {
                        tier,
                        round,
                        must_answer,
                    },
                    _,
                ) => {
                    assert_eq!(tier, self.tier);
                    assert_eq!(round, self.replies + 1);
                    assert_eq!(
                        must_answer,
                        self.turn
                            .story()
                            .contains(" Answer now with what you have, and say what is missing.")
                    );
                    let behaviour = behaviours.iter().cycle().nth(self.replies as usize).unwrap();
                    self.replies += 1;
                    let parts: Vec<&str> = behaviour.parts.iter().map(String::as_str).collect();
                    let said = reply(&parts, behaviour.finish);
                    self.both(|run, transcript| {
                        run.on_reply(transcript, LABEL, said.clone(), &Facts).unwrap()
                    })
                }
                (Step::SwitchTier { .. } | Step::Approve { .. }, _) => {
                    panic!("the step after a switch is a model call, after waiting a run of tools")
                }
            };
        }
        panic!("the turn does not end:\n{}", self.turn.story());
    }

    /// What has to hold at the end of every turn.
    fn check(&self, profile: &Profile) {
        let outcome = self.turn.run.outcome().unwrap();
        let transcript = &self.turn.transcript;
        assert!(!transcript.is_open());
        assert!(self.turn.run.waiting().is_empty());
        assert_eq!(refusal(transcript), None);
        // Every call has one result and one event, whoever answered it, and none was begun twice.
        let calls: Vec<&CallId> = transcript.entries().iter().flat_map(calls).collect();
        assert_eq!(self.finished.keys().collect::<Vec<_>>(), {
            let mut calls = calls.clone();
            calls.sort();
            calls
        });
        assert!(
            self.finished.values().all(|times| *times == 1),
            "{:?}",
            self.finished
        );
        assert!(self.begun.values().all(|times| *times == 1), "{:?}", self.begun);
        // Every word of the person is there.
        assert_eq!(
            self.turn.story().matches("person: also").count(),
            self.steered as usize
        );
        // Within the limits.
        let begun = u32::try_from(self.begun.len()).unwrap();
        assert!(begun + self.refusals <= outcome.calls_used);
        let allowed = match profile.limit {
            TurnLimit::Calls(allowed) => {
                assert!(outcome.calls_used <= allowed);
                allowed
            }
            TurnLimit::Rounds(allowed) => {
                assert!(self.rounds_run.len() <= allowed as usize);
                allowed
            }
        };
        assert!(self.switches <= 8);
        // Rounds with calls, switches, one reminder, the reply that met the limit, the forced answer.
        let most = allowed + self.switches + 1 + 1 + 1 + self.steered;
        assert!(
            self.replies <= most,
            "{} replies and {most} allowed",
            self.replies
        );
        assert_eq!(outcome.rounds, self.replies);
        assert_eq!(outcome.usage.output, u64::from(self.replies));
        match outcome.status {
            TurnStatus::Success => assert!(!outcome.answer.trim().is_empty() && outcome.error.is_none()),
            TurnStatus::PendingQuestion => assert_eq!(outcome.question.as_deref(), Some("what?")),
            TurnStatus::Error => assert!(outcome.answer.is_empty() && outcome.error.is_some()),
            TurnStatus::Cancelled => assert!(outcome.answer.is_empty() && outcome.error.is_none()),
            other => panic!("ended as {other:?}"),
        }
    }
}

fn calls(entry: &Arc<Entry>) -> Vec<&CallId> {
    match &entry.body {
        Body::Assistant(message) => message.calls().map(|call| &call.id).collect(),
        Body::User(_) | Body::Results(_) => vec![],
    }
}

/// Stores run and transcript as a store does, and loads them.
fn restart(turn: &mut Turn) {
    let entries = turn
        .transcript
        .entries()
        .iter()
        .map(|entry| Arc::new(serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap()));
    turn.transcript = Transcript::from_entries(entries.collect()).unwrap();
    turn.run = Run::load(Run::VERSION, &turn.run.save().unwrap()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_ends_within_its_limits_whatever_happens(
        profile in profile(),
        policy in prop_oneof![Just("auto"), Just("auto_pro"), Just("FLASH"), Just("local:small")],
        behaviours in prop::collection::vec(behaviour(), 1..6),
        incidents in prop::collection::vec(incident(), 1..12),
        monotonous in any::<bool>(),
    ) {
        let mut driver = Driver::new(profile.clone(), policy, monotonous);
        driver.go(&behaviours, &incidents);
        driver.check(&profile);
    }

    #[test]
    fn a_model_that_never_stops_asking_is_stopped(
        profile in profile(),
        policy in prop_oneof![Just("auto"), Just("auto_pro"), Just("FLASH")],
        behaviours in prop::collection::vec(restless(), 1..6),
        monotonous in any::<bool>(),
    ) {
        let mut driver = Driver::new(profile.clone(), policy, monotonous);
        driver.go(&behaviours, &[Incident::Nothing, Incident::Restart]);
        driver.check(&profile);
        let outcome = driver.turn.run.outcome().unwrap();
        prop_assert_eq!(outcome.status, TurnStatus::Success);
        prop_assert!(outcome.warning.is_some());
        let mut not_run = driver.turn.transcript.entries().iter().filter_map(|entry| match &entry.body {
            Body::Results(results) => Some(&results.results),
            Body::User(_) | Body::Assistant(_) => None,
        });
        let last = not_run.next_back().unwrap();
        prop_assert!(last.iter().all(|result| result.status == ResultStatus::NotRun));
    }
}
