//! What the runtime costs beside a loop that does the least.
//!
//! The baseline is a raw loop over the same HTTP client and the same parser of server-sent events: it keeps the
//! history as bytes that are encoded already, puts each request together from them, reads the reply, and runs the
//! same tool. It has no store, no gate, no retries and no events. Both talk to the strict fake server, which
//! runs in a process of its own, so that processor time is the client's alone.
//!
//! A turn is: user text, a reply with one tool call, its result, a reply with text. Prints wall time and processor
//! time a turn around 50 and 400 messages, for one agent and for 100 at once, as ratios to the baseline. Then the
//! runtime's own time to the first byte of a reply, with a model in the process that takes none.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark ends by panicking"
)]

mod first_byte;
mod raw;

use raw::Raw;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_message::{ProviderId, Tier, Usage};
use tidegate_policy::Classification;
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::{Runtime, Session, SessionRequest, TurnOptions, Which};
use tidegate_store::{Durability, MemoryStore, SqliteStore, Store};
use tidegate_testing::{FakeBody, FakeOpenAi, FakeReply};
use tidegate_tools::TypedTool;

/// Messages a turn adds to the history.
const MESSAGES_A_TURN: usize = 4;
/// Turns measured at each length.
const TURNS: usize = 10;
/// How often each is measured; the median counts.
const REPEATS: usize = 21;
/// Agents at once.
const AGENTS: usize = 100;
/// How often that is measured.
const REPEATS_OF_MANY: usize = 5;

const SERVE: &str = "--serve";
/// Runs only turns in memory around this many messages, again and again, and with `raw` behind the number only those of
/// the raw loop: for a profiler.
const PROFILE: &str = "--profile";
/// How often then.
const REPEATS_OF_PROFILE: usize = 60;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Square {
    /// The number.
    number: u64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    if std::env::args().any(|argument| argument == SERVE) {
        runtime.block_on(serve());
        return;
    }
    let server = Server::start();
    let mut arguments = std::env::args().skip_while(|argument| argument != PROFILE);
    if let Some(messages) = arguments.nth(1) {
        let messages = messages.parse().unwrap();
        let is_raw = arguments.next().is_some_and(|which| which == "raw");
        for _ in 0..REPEATS_OF_PROFILE {
            if is_raw {
                runtime.block_on(one_raw(&server, messages));
            } else {
                runtime.block_on(one_ours(&server, messages, Kind::Memory));
            }
        }
        return;
    }
    println!(
        "loop, release build, strict fake server in its own process, {TURNS} turns measured at each length,"
    );
    println!(
        "medians of {REPEATS} repetitions, one of each after the other; a turn is two model calls and one tool call\n"
    );
    println!(
        "{:<34} {:>12} {:>12} {:>8} {:>8}",
        "", "wall/turn", "cpu/turn", "wall x", "cpu x"
    );
    for messages in [50, 400] {
        let mut costs: [Vec<Cost>; 4] = Default::default();
        // One after the other, so that whatever else the machine does meets all alike.
        for _ in 0..REPEATS {
            let [raw, memory, process, power] = &mut costs;
            raw.push(runtime.block_on(one_raw(&server, messages)));
            memory.push(runtime.block_on(one_ours(&server, messages, Kind::Memory)));
            process.push(runtime.block_on(one_ours(&server, messages, Kind::Process)));
            power.push(runtime.block_on(one_ours(&server, messages, Kind::Power)));
        }
        let [raw, memory, process, power] = &costs;
        row(&format!("raw loop, {messages} messages"), raw, raw);
        row(&format!("tidegate in memory, {messages} messages"), memory, raw);
        row(&format!("tidegate durable (process), {messages}"), process, raw);
        row(&format!("tidegate durable (power), {messages}"), power, raw);
    }
    let mut costs: [Vec<Cost>; 2] = Default::default();
    for _ in 0..REPEATS_OF_MANY {
        let [raw, ours] = &mut costs;
        raw.push(runtime.block_on(many_raw(&server)));
        ours.push(runtime.block_on(many_ours(&server)));
    }
    let [raw, ours] = &costs;
    row(&format!("raw loop, {AGENTS} agents at once"), raw, raw);
    row(&format!("tidegate in memory, {AGENTS} agents"), ours, raw);
    runtime.block_on(commits(&server));
    runtime.block_on(memory(&server));
    runtime.block_on(first_byte::measure());
}

/// The medians, and the medians of the ratios to the baseline of the same repetition.
fn row(name: &str, costs: &[Cost], raw: &[Cost]) {
    let ratio = |of: fn(&Cost) -> Duration| {
        let pairs = costs.iter().zip(raw);
        median(pairs.map(|(ours, raw)| of(ours).as_secs_f64() / of(raw).as_secs_f64()))
    };
    println!(
        "{name:<34} {:>9.0} us {:>9.0} us {:>8.2} {:>8.2}",
        median(costs.iter().map(|cost| cost.wall.as_secs_f64() * 1e6)),
        median(costs.iter().map(|cost| cost.cpu.as_secs_f64() * 1e6)),
        ratio(|cost| cost.wall),
        ratio(|cost| cost.cpu)
    );
}

/// What a turn cost.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

struct Meter(Instant, Duration);

impl Meter {
    fn start() -> Self {
        Self(Instant::now(), processor_time())
    }

    fn per(&self, turns: usize) -> Cost {
        let turns = u32::try_from(turns).unwrap();
        Cost {
            wall: self.0.elapsed() / turns,
            cpu: (processor_time() - self.1) / turns,
        }
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The turns before `messages` are reached, so that those measured lie around it.
fn turns_before(messages: usize) -> usize {
    (messages / MESSAGES_A_TURN).saturating_sub(TURNS / 2)
}

async fn one_raw(server: &Server, messages: usize) -> Cost {
    let mut raw = Raw::new(&server.base_url);
    for turn in 0..turns_before(messages) {
        raw.turn(&task(turn)).await;
    }
    let meter = Meter::start();
    for turn in 0..TURNS {
        raw.turn(&task(turn)).await;
    }
    meter.per(TURNS)
}

#[derive(Clone, Copy)]
enum Kind {
    Memory,
    Process,
    Power,
}

fn store(kind: Kind, folder: &tempfile::TempDir) -> Arc<dyn Store> {
    let file = |durability| Arc::new(SqliteStore::open(folder.path().join("bench.db"), durability).unwrap());
    match kind {
        Kind::Memory => Arc::new(MemoryStore::new()),
        Kind::Process => file(Durability::Process),
        Kind::Power => file(Durability::Power),
    }
}

fn runtime(server: &Server, store: Arc<dyn Store>) -> Runtime {
    let id = ProviderId::new("local");
    let provider = OpenAi::new(OpenAiConfig::new(id, server.base_url.parse().unwrap()));
    let square = TypedTool::new(
        "square",
        "The square of a number.",
        |square: Square, _context| async move { Ok((square.number * square.number).to_string()) },
    );
    Runtime::builder()
        .store(store)
        .provider(Arc::new(provider), Classification::Restricted, 1_000)
        .tier(Tier::Lite, vec!["local:small".parse().unwrap()])
        .tool(Arc::new(square))
        .without_file_tools()
        .build()
        .unwrap()
}

async fn session(runtime: &Runtime) -> Session {
    let request = SessionRequest::new(Which::New).model_policy("LITE".parse().unwrap());
    runtime.session(request).await.unwrap()
}

async fn turn(session: &mut Session, number: usize) {
    let report = session.run(task(number), TurnOptions::default()).await.unwrap();
    assert_eq!(report.answer, ANSWER, "{:?}", report.error);
}

async fn one_ours(server: &Server, messages: usize, kind: Kind) -> Cost {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(server, store(kind, &folder));
    let mut session = session(&runtime).await;
    for number in 0..turns_before(messages) {
        turn(&mut session, number).await;
    }
    let meter = Meter::start();
    for number in 0..TURNS {
        turn(&mut session, number).await;
    }
    meter.per(TURNS)
}

/// Turns of each agent when many run at once.
const TURNS_OF_MANY: usize = 6;

async fn many_raw(server: &Server) -> Cost {
    let client = Raw::new(&server.base_url);
    let meter = Meter::start();
    let agents = (0..AGENTS).map(|_| async {
        let mut raw = client.sharing_its_connections();
        for number in 0..TURNS_OF_MANY {
            raw.turn(&task(number)).await;
        }
    });
    futures::future::join_all(agents).await;
    meter.per(AGENTS * TURNS_OF_MANY)
}

async fn many_ours(server: &Server) -> Cost {
    let runtime = runtime(server, Arc::new(MemoryStore::new()));
    let meter = Meter::start();
    let agents = (0..AGENTS).map(|_| async {
        let mut session = session(&runtime).await;
        for number in 0..TURNS_OF_MANY {
            turn(&mut session, number).await;
        }
    });
    futures::future::join_all(agents).await;
    meter.per(AGENTS * TURNS_OF_MANY)
}

async fn commits(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("bench.db"), Durability::Process).unwrap();
    let runtime = runtime(server, Arc::new(store.clone()));
    let mut session = session(&runtime).await;
    let before = store.transactions();
    for number in 0..TURNS {
        turn(&mut session, number).await;
    }
    let commits = store.transactions() - before;
    println!(
        "\ncommits a turn (two model calls, one read-only tool call): {:.1}",
        commits as f64 / TURNS as f64
    );
}

/// Memory in use by this process, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * u64::try_from(rustix::param::page_size()).unwrap()
}

async fn memory(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(server, store(Kind::Process, &folder));
    let before = resident();
    let mut session = session(&runtime).await;
    for number in 0..400 {
        turn(&mut session, number).await;
    }
    let grown = resident().saturating_sub(before);
    println!(
        "memory of one session after 400 turns (1,600 messages): {:.1} MB more than before it",
        grown as f64 / 1e6
    );
}

fn task(number: usize) -> String {
    format!(
        "Task {number}: what is the square of {number}? {}",
        "Please be exact. ".repeat(8)
    )
}

const ANSWER: &str = "The square is what the tool said it is; I have checked it twice and it holds.";

/// The fake server, in a process of its own.
struct Server {
    process: Child,
    base_url: String,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut base_url = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut base_url)
            .unwrap();
        Self {
            process,
            base_url: base_url.trim().to_owned(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The reply with what it cost, as every real service tells it.
fn counted(mut reply: FakeReply, messages: usize) -> FakeReply {
    if let FakeBody::Message { reply, .. } = &mut reply.body {
        reply.usage = Usage {
            uncached: 5 * messages as u64,
            output: 20,
            ..Usage::default()
        };
    }
    reply
}

/// Serves until it is killed: a call where a user message came last, text where a result did.
async fn serve() {
    let server = FakeOpenAi::answering(|request| {
        let last = request
            .messages()
            .last()
            .and_then(|message| message.get("role")?.as_str());
        let reply = if last == Some("tool") {
            FakeReply::text(ANSWER).in_pieces_of(64)
        } else {
            FakeReply::calls([("square", serde_json::json!({ "number": 12 }))])
        };
        counted(reply, request.messages().len())
    });
    let server = server.await.unwrap();
    server.forget_requests();
    println!("{}", server.base_url());
    std::io::stdout().flush().unwrap();
    std::future::pending::<()>().await;
}
