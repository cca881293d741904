//! Killed right before and right after every single commit.

use crate::checks::Stored;
use crate::child::{self, Ended};
use crate::scenario::{self, ANSWER, Place, SECOND_ANSWER, SECOND_TASK, TASK, long_text};
use std::sync::Arc;
use tidegate_message::{Body, Entry, EventKind, ResultStatus, TurnStatus};
use tidegate_store::Store as _;
use tidegate_testing::FakeOpenAi;
use tidegate_tests::crash::{Errand, Kill, SESSION, Side};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Children at once.
const AT_ONCE: usize = 3;

/// The undisturbed run.
struct Reference {
    commits: usize,
    entries: Vec<Arc<Entry>>,
}

async fn reference(approve: bool) -> Reference {
    let place = Place::new();
    let server = FakeOpenAi::answering(scenario::answer).await.unwrap();
    let errand = Errand {
        approve,
        ..child::errand(&place, server.base_url(), TASK)
    };
    let Ended::Finished(finished) = child::run(&errand, None).await else {
        panic!("nobody killed it");
    };
    assert_eq!(
        (finished.answer.as_str(), finished.status.as_str()),
        (ANSWER, "success")
    );
    assert_eq!(server.violations(), []);
    let stored = Stored::checked(&place.data().join("tidegate.db"), SESSION).await;
    stored.check_ledger(&place.ledger_lines());
    let with = |status: ResultStatus| {
        stored
            .answered
            .iter()
            .filter(|(_, result)| result.status == status)
            .count()
    };
    // What the scenario is for; were one of these missing, the runs below would show less than they say.
    assert!(stored.answered.len() >= 30 + 2, "30 calls and two tier switches");
    assert_eq!(with(ResultStatus::Unknown), 0);
    assert_eq!(
        with(ResultStatus::NotRun),
        3,
        "an unknown tool, arguments that do not fit, no JSON"
    );
    assert_eq!(with(ResultStatus::Refused), 1, "the write-down");
    assert_eq!(with(ResultStatus::Error), 1, "the missing file");
    assert_eq!(stored.count("tier.switched"), 2);
    assert_eq!(
        stored
            .answered
            .iter()
            .filter(|(_, result)| result.source.is_some())
            .count(),
        1
    );
    Reference {
        commits: finished.commits,
        entries: stored.entries,
    }
}

/// The moments to be killed at: each side of each commit. A run may have a few commits less than the undisturbed
/// one, and then comes to its end: what happened so far is stored by itself only while a model thinks for long.
fn moments(commits: usize) -> impl Iterator<Item = Kill> {
    (1..=commits).flat_map(|commit| [Side::Before, Side::After].map(|side| Kill { commit, side }))
}

/// What came of one case.
#[derive(Default)]
struct Tally {
    kills: usize,
    unknown: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_persisted_step_and_resumed_a_turn_ends_as_if_nothing_had_happened() {
    let reference = Arc::new(reference(false).await);
    let mut random = fastrand::Rng::with_seed(7);
    let cases: Vec<Vec<Kill>> = moments(reference.commits)
        .enumerate()
        .map(|(index, first)| {
            let mut kills = vec![first];
            // Resuming can be interrupted like anything else.
            while index % 2 == 0 && kills.len() < 4 && random.bool() {
                let side = if random.bool() { Side::Before } else { Side::After };
                kills.push(Kill {
                    commit: random.usize(1..=6),
                    side,
                });
            }
            kills
        })
        .collect();
    let tally = all(cases, move |kills| {
        killed_and_resumed(Arc::clone(&reference), kills, false)
    })
    .await;
    println!("{} kills, {} unknown outcomes", tally.kills, tally.unknown);
    assert!(tally.unknown > 0, "no kill hit a call: the test shows too little");
    assert!(tally.kills >= 90, "only {} kills", tally.kills);
}

/// Runs the task, is killed at `kills` one after another, and resumes until it is done.
async fn killed_and_resumed(reference: Arc<Reference>, kills: Vec<Kill>, approve: bool) -> Tally {
    let place = Place::new();
    let server = FakeOpenAi::answering(scenario::answer).await.unwrap();
    let mut errand = Errand {
        approve,
        ..child::errand(&place, server.base_url(), TASK)
    };
    let mut tally = Tally::default();
    let mut kills = kills.into_iter();
    let finished = loop {
        match child::run(&errand, kills.next()).await {
            Ended::Killed => tally.kills += 1,
            Ended::Finished(finished) => break finished,
        }
        errand.resume = true;
    };
    assert_eq!(
        (finished.answer.as_str(), finished.status.as_str()),
        (ANSWER, "success")
    );
    assert_eq!(server.violations(), []);

    let stored = Stored::checked(&place.data().join("tidegate.db"), SESSION).await;
    stored.check_ledger(&place.ledger_lines());
    let unknown = stored.unknown();
    assert!(
        unknown.len() <= tally.kills,
        "{unknown:?} are unknown after {} kills",
        tally.kills
    );
    assert_eq!(
        (stored.count("turn.started"), stored.count("turn.finished")),
        (1, 1)
    );
    assert_eq!(stored.count("tier.switched"), 2);

    assert_eq!(stored.entries.len(), reference.entries.len());
    for (entry, undisturbed) in stored.entries.iter().zip(&reference.entries) {
        assert_eq!(entry.seq, undisturbed.seq);
        match (&entry.body, &undisturbed.body) {
            (Body::Results(results), Body::Results(undisturbed)) => {
                for (result, undisturbed) in results.results.iter().zip(&undisturbed.results) {
                    if result.status != ResultStatus::Unknown {
                        assert_eq!(result, undisturbed);
                    }
                }
            }
            (body, body_undisturbed) => {
                assert_eq!((body, entry.label), (body_undisturbed, undisturbed.label));
            }
        }
    }
    let cut = stored
        .answered
        .iter()
        .find_map(|(_, result)| result.source.as_ref())
        .unwrap();
    let source = stored.store.source(stored.id, cut).await.unwrap().unwrap();
    assert_eq!(source.text, long_text(), "what was cut is kept whole");
    let edited = std::fs::read_to_string(place.workspace().join("notes/log.md")).unwrap();
    assert!(
        matches!(edited.as_str(), "first x\nsecond y\n" | "first xx\nsecond y\n"),
        "{edited:?}"
    );
    assert!(!place.workspace().join("public/leak.md").exists());
    stored.check_approvals(approve).await;
    tally.unknown = unknown.len();
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_persisted_step_an_approved_call_is_done_at_most_once() {
    let reference = Arc::new(reference(true).await);
    let cases = moments(reference.commits).map(|kill| vec![kill]).collect();
    let tally = all(cases, move |kills| {
        killed_and_resumed(Arc::clone(&reference), kills, true)
    })
    .await;
    println!("{} kills, {} unknown outcomes", tally.kills, tally.unknown);
    assert!(tally.unknown > 0, "no kill hit a call: the test shows too little");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_persisted_step_a_session_takes_a_new_task_after_the_old_was_closed_honestly() {
    let reference = reference(false).await;
    let cases = moments(reference.commits).collect();
    let tally = all(cases, killed_and_asked_something_else).await;
    println!("{} kills, {} unknown outcomes", tally.kills, tally.unknown);
    assert!(tally.unknown > 0, "no kill hit a call: the test shows too little");
}

async fn killed_and_asked_something_else(kill: Kill) -> Tally {
    let place = Place::new();
    let server = FakeOpenAi::answering(scenario::answer).await.unwrap();
    let first = child::errand(&place, server.base_url(), TASK);
    let killed = matches!(child::run(&first, Some(kill)).await, Ended::Killed);
    let second = child::errand(&place, server.base_url(), SECOND_TASK);
    let Ended::Finished(finished) = child::run(&second, None).await else {
        panic!("nobody killed it");
    };
    assert_eq!(
        (finished.answer.as_str(), finished.status.as_str()),
        (SECOND_ANSWER, "success")
    );
    assert_eq!(server.violations(), []);

    let stored = Stored::checked(&place.data().join("tidegate.db"), SESSION).await;
    stored.check_ledger(&place.ledger_lines());
    // The first turn has its end, too.
    assert_eq!(stored.count("turn.started"), stored.count("turn.finished"));
    let statuses: Vec<TurnStatus> = stored
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TurnFinished { status, .. } => Some(status),
            _ => None,
        })
        .collect();
    match statuses.as_slice() {
        // Killed before anything of the first task was stored.
        [TurnStatus::Success] => assert!(kill.commit <= 2, "the first turn is not there"),
        [TurnStatus::Cancelled | TurnStatus::Success, TurnStatus::Success] => {}
        other => panic!("{other:?}"),
    }
    Tally {
        kills: usize::from(killed),
        unknown: stored.unknown().len(),
    }
}

/// Runs all cases, a few at once, and adds up what came of them. A case that fails is named.
async fn all<C, F>(cases: Vec<C>, run: impl Fn(C) -> F) -> Tally
where
    C: std::fmt::Debug,
    F: Future<Output = Tally> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for case in cases {
        let name = format!("{case:?}");
        let (permits, work) = (Arc::clone(&permits), run(case));
        running.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            (name, tokio::spawn(work).await)
        });
    }
    let mut tally = Tally::default();
    while let Some(ended) = running.join_next().await {
        let (name, ended) = ended.unwrap();
        match ended {
            Ok(one) => {
                tally.kills += one.kills;
                tally.unknown += one.unknown;
            }
            Err(error) => panic!("killed at {name}: {error}"),
        }
    }
    tally
}
