//! The real program, killed at moments nobody chose.

use crate::checks::Stored;
use crate::scenario::Place;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_message::{EventKind, ResultStatus, TurnStatus};
use tidegate_testing::{FakeOpenAi, FakeReply, RecordedRequest, calls};
use tidegate_tests::tidegate_binary;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, mpsc};

const TASK: &str = "Make every x double.";
const ANSWER: &str = "Every x is double.";

/// Rounds of the model that ask for tools, and edits in each; a read goes with them.
const ROUNDS: usize = 10;
const EDITS: usize = 3;

/// How many kills there have to be.
const KILLS: usize = 80;

/// The most kills of one session: then it is let go on to its end.
const MOST_KILLS: usize = 8;

fn marker(round: usize, edit: usize) -> String {
    format!("<{round}.{edit}>")
}

/// An edit that shows if it is done twice: what it looks for is in what it leaves.
fn edit(round: usize, edit: usize) -> (&'static str, Value) {
    let marker = marker(round, edit);
    let arguments = json!({
        "path": "notes/marks.md",
        "old_text": format!("{marker}x"),
        "new_text": format!("{marker}xx"),
    });
    ("edit_file", arguments)
}

/// 40 calls, of which 30 are edits.
fn reply(request: &RecordedRequest) -> FakeReply {
    let round = request.assistant_messages();
    if round >= ROUNDS {
        return FakeReply::text(ANSWER);
    }
    // It reads something else each time, so that it is not taken for a model that repeats itself.
    let read = ("read_file", json!({ "path": "notes/marks.md" }));
    calls([edit(round, 0), read, edit(round, 1), edit(round, 2)]).into()
}

/// The program with a configuration of its own, in a place of its own.
struct Program {
    place: Place,
}

impl Program {
    fn new(base_url: &str) -> Self {
        let place = Place::new();
        let lines: String = (0..ROUNDS)
            .flat_map(|round| (0..EDITS).map(move |edit| format!("{}x\n", marker(round, edit))))
            .collect();
        fs::write(place.workspace().join("notes/marks.md"), lines).unwrap();
        let config = format!(
            "[providers.fake]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n[tiers]\nlite = [\"fake:small\"]\n[policy]\nintegrity = \"off\"\n"
        );
        fs::create_dir_all(place.data()).unwrap();
        fs::write(place.data().join("tidegate.toml"), config).unwrap();
        Self { place }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let binary = tidegate_binary().unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .arg("--config")
            .arg(self.place.data().join("tidegate.toml"))
            .arg("--data-dir")
            .arg(self.place.data())
            // Nothing of the machine's own settings.
            .env_clear()
            .current_dir(self.place.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().await.unwrap();
        Output {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    async fn stored(&self) -> Stored {
        Stored::checked(&self.place.data().join("tidegate.db"), "s").await
    }
}

struct Output {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Output {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?} {:?}", self.stdout, self.stderr))
    }
}

/// After what the program is killed: so many requests, or lines of activity, and then a moment.
#[derive(Clone, Copy, Debug)]
struct Shot {
    after: usize,
    /// Requests; else lines on standard error.
    requests: bool,
    then: Duration,
}

impl Shot {
    /// At a moment that a process which goes on after `kills` kills is likely to live to see.
    fn random(random: &mut fastrand::Rng, kills: usize) -> Self {
        let requests = random.bool();
        let rounds = (ROUNDS + 1).saturating_sub(2 * kills).max(3);
        Self {
            after: random.usize(
                1..=if requests {
                    rounds
                } else {
                    (EDITS + 1) * (rounds - 1)
                },
            ),
            requests,
            then: Duration::from_micros(random.u64(0..8_000)),
        }
    }
}

/// The moments are those of the machine; the seed only makes them spread. It is printed with a failure.
fn seed() -> u64 {
    match std::env::var("TIDEGATE_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => fastrand::u64(..),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_killed_at_random_moments_finishes_its_task_with_each_edit_done_at_most_once() {
    let seed = seed();
    println!("TIDEGATE_TEST_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut kills, mut unknown, mut sessions) = (0, 0, 0);
    while kills < KILLS {
        let pair = (random.fork(), random.fork());
        let both = tokio::join!(
            tokio::spawn(killed_at_random(pair.0)),
            tokio::spawn(killed_at_random(pair.1))
        );
        for (one, other) in [both.0.unwrap(), both.1.unwrap()] {
            kills += one;
            unknown += other;
            sessions += 1;
        }
        assert!(
            sessions < 10 * KILLS,
            "the program is hardly ever killed: {kills} of {sessions} sessions"
        );
    }
    println!("{kills} kills of {sessions} sessions, {unknown} unknown outcomes");
}

/// One session, killed several times. Returns the kills, and the calls of unknown outcome.
async fn killed_at_random(mut random: fastrand::Rng) -> (usize, usize) {
    let (sender, mut requests) = mpsc::unbounded_channel();
    let server = FakeOpenAi::answering(move |request| {
        // Nobody listens when the test has failed already.
        let _ = sender.send(());
        reply(request)
    })
    .await
    .unwrap();
    let program = Program::new(&server.base_url());
    let (mut kills, mut shots) = (0, Vec::new());
    let mut given = false;
    loop {
        let shot = (kills < MOST_KILLS).then(|| Shot::random(&mut random, kills));
        shots.extend(shot);
        while requests.try_recv().is_ok() {}
        let mut arguments = vec!["run", "--session", "s"];
        arguments.push(if given { "--resume" } else { TASK });
        if shot.is_none_or(|shot| shot.requests) {
            arguments.push("--json");
        }
        let output = killed_by(shot, program.start(&arguments), &mut requests).await;
        if output.status.signal() == Some(9) {
            kills += 1;
            given = true;
            continue;
        }
        // Killed before anything was stored, there is nothing to resume: the task is given again.
        let nothing_yet =
            given && output.status.code() == Some(1) && output.both().contains("there is no session");
        let no_turn = given && output.status.success() && !program.any_turn().await;
        if nothing_yet || no_turn {
            given = false;
            continue;
        }
        assert!(
            output.status.success(),
            "{shots:?}: {:?} {}",
            output.status,
            output.both()
        );
        assert!(output.stdout.contains(ANSWER), "{shots:?}: {}", output.both());
        break;
    }
    assert_eq!(server.violations(), [], "{shots:?}");

    let asked = server.requests().len();
    let again = program
        .run(&["run", "--session", "s", "--resume", "--json"])
        .await;
    assert_eq!(again.json()["answer"], ANSWER, "{shots:?}");
    assert_eq!(
        server.requests().len(),
        asked,
        "nothing is left to ask: {shots:?}"
    );

    // Printed with a failure of what follows.
    println!("{shots:?}");
    let stored = program.stored().await;
    assert_eq!(stored.answered.len(), ROUNDS * (EDITS + 1));
    assert_eq!(
        (stored.count("turn.started"), stored.count("turn.finished")),
        (1, 1)
    );
    let unknown = stored.unknown().len();
    assert!(unknown <= kills, "{unknown} unknown outcomes of {kills} kills");
    check_marks(&program, &stored);
    (kills, unknown)
}

impl Output {
    fn both(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl Program {
    /// Whether anything was ever asked in the session.
    async fn any_turn(&self) -> bool {
        let shown = self.run(&["sessions", "show", "s", "--json"]).await;
        shown.json()["turns"] != 0
    }
}

/// Waits for the child's end, and kills it at the shot's moment if it lives so long.
async fn killed_by(
    shot: Option<Shot>,
    mut child: Child,
    requests: &mut mpsc::UnboundedReceiver<()>,
) -> Output {
    let mut out = child.stdout.take().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let pid = rustix::process::Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    let shoot = |shot: Shot| {
        // Not a sleep: those are too coarse to hit between two system calls.
        let start = Instant::now();
        while start.elapsed() < shot.then {
            std::hint::spin_loop();
        }
        // It has ended by itself, perhaps; until it is waited for, its number is nobody else's.
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let activity = async {
        let mut lines = 0;
        while err.read_line(&mut stderr).await.unwrap() > 0 {
            lines += 1;
            if let Some(shot) = shot.filter(|shot| !shot.requests && shot.after == lines) {
                shoot(shot);
            }
        }
    };
    let answer = async {
        let mut read = std::pin::pin!(out.read_to_string(&mut stdout));
        if let Some(shot) = shot.filter(|shot| shot.requests) {
            let asked = async {
                for _ in 0..shot.after {
                    requests.recv().await;
                }
            };
            tokio::select! {
                ended = &mut read => return ended.unwrap(),
                () = asked => shoot(shot),
            }
        }
        read.await.unwrap()
    };
    // The end of its output is the end of the process, which has no children.
    tokio::join!(activity, answer);
    let status = child.wait().await.unwrap();
    Output {
        status,
        stdout,
        stderr,
    }
}

/// Each mark has one x, or two if its edit is said to have happened, or either if nobody can say.
fn check_marks(program: &Program, stored: &Stored) {
    let text = fs::read_to_string(program.place.workspace().join("notes/marks.md")).unwrap();
    let marks: BTreeMap<&str, usize> = text
        .lines()
        .map(|line| {
            let marker = line.trim_end_matches('x');
            (marker, line.len() - marker.len())
        })
        .collect();
    assert_eq!(marks.len(), ROUNDS * EDITS);
    for (call, result) in stored
        .answered
        .iter()
        .filter(|(call, _)| call.name.as_str() == "edit_file")
    {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        let marker = arguments["old_text"].as_str().unwrap().trim_end_matches('x');
        let possible = match result.status {
            ResultStatus::Ok => 2..=2,
            ResultStatus::Unknown => 1..=2,
            other => panic!("{}: {other:?} {:?}", call.id, result.content),
        };
        let count = marks[marker];
        assert!(
            possible.contains(&count),
            "{} ({:?}): {marker} has {count} x",
            call.id,
            result.status
        );
    }
}

#[tokio::test]
async fn resuming_with_nothing_to_finish_prints_the_last_answer_and_asks_no_model() {
    let server = FakeOpenAi::start([FakeReply::text("Forty-two.")]).await.unwrap();
    let program = Program::new(&server.base_url());
    let first = program.run(&["run", "What is it?", "--session", "s"]).await;
    assert_eq!(
        (first.status.code(), first.stdout.as_str()),
        (Some(0), "Forty-two.\n"),
        "{}",
        first.stderr
    );

    let text = program.run(&["run", "--resume", "--session", "s"]).await;
    assert_eq!(
        (text.status.code(), text.stdout.as_str()),
        (Some(0), "Forty-two.\n"),
        "{}",
        text.stderr
    );
    let json = program
        .run(&["run", "--resume", "--session", "s", "--json"])
        .await;
    assert_eq!(
        (json.json()["answer"].as_str(), json.json()["status"].as_str()),
        (Some("Forty-two."), Some("success"))
    );
    assert_eq!(server.requests().len(), 1);
    server.assert_complete();
}

/// A server whose first answer waits until it is told.
async fn slow_server() -> (FakeOpenAi, Arc<Notify>, Arc<Notify>) {
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, hold) = (Arc::clone(&asked), Arc::clone(&go_on));
    let server = FakeOpenAi::answering(move |request| {
        let second = request
            .messages()
            .iter()
            .filter(|message| message["role"] == "user")
            .count()
            > 1;
        if second {
            FakeReply::text("The second.")
        } else {
            tell.notify_one();
            FakeReply::text("The first.").hold(Arc::clone(&hold))
        }
    })
    .await
    .unwrap();
    (server, asked, go_on)
}

#[tokio::test]
async fn a_session_that_another_process_uses_is_refused() {
    let (server, asked, go_on) = slow_server().await;
    let program = Program::new(&server.base_url());
    let first = program.start(&["run", "Take your time.", "--session", "s"]);
    asked.notified().await;

    for arguments in [
        &["run", "Me too.", "--session", "s"][..],
        &["run", "--resume", "--session", "s"],
        &["sessions", "delete", "s", "--yes"],
    ] {
        let refused = program.run(arguments).await;
        assert_eq!(
            refused.status.code(),
            Some(1),
            "{arguments:?}: {}",
            refused.both()
        );
        assert!(
            refused.stderr.starts_with("error: session s_"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains("is in use"), "{}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    let json = program.run(&["run", "Me too.", "--session", "s", "--json"]).await;
    assert_eq!(json.status.code(), Some(1));
    assert!(json.json()["error"].as_str().unwrap().contains("is in use"));

    go_on.notify_one();
    let output = first.wait_with_output().await.unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "The first.\n");
    assert_eq!(server.requests().len(), 1, "nobody else asked the model");
    assert_eq!(program.stored().await.count("turn.started"), 1);
}

#[tokio::test]
async fn after_a_kill_a_new_task_closes_the_old_turn() {
    let (server, asked, _) = slow_server().await;
    let program = Program::new(&server.base_url());
    let mut first = program.start(&["run", "Take your time.", "--session", "s"]);
    asked.notified().await;
    first.kill().await.unwrap();

    let second = program.run(&["run", "Something else.", "--session", "s"]).await;
    assert_eq!(
        (second.status.code(), second.stdout.as_str()),
        (Some(0), "The second.\n"),
        "{}",
        second.stderr
    );
    assert_eq!(server.violations(), []);
    let ends: Vec<TurnStatus> = program
        .stored()
        .await
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TurnFinished { status, .. } => Some(status),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [TurnStatus::Cancelled, TurnStatus::Success]);
}
