//! From the start of the program to its first request to a model, on an existing data folder.
//!
//! The baseline is the same program printing its version: what the system needs to start it at all.

use super::endpoint::{Arrival, Endpoint};
use super::sample::Sample;
use anyhow::{Context, bail, ensure};
use cargo_metadata::Message;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use xshell::{Shell, cmd};

/// How often each is measured.
const RUNS: usize = 30;

/// How long to wait for a request before the run counts as failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait before looking whether the program is still there.
const GLANCE: Duration = Duration::from_millis(50);

pub(super) fn run(shell: &Shell) -> anyhow::Result<()> {
    let program = build(shell)?;
    let endpoint = Endpoint::start()?;
    let folder = shell.create_temp_dir()?;
    let place = Place::new(shell, folder.path(), &endpoint)?;

    // Makes the data folder, and brings the program into the system's cache.
    first_request(&program, &place, &endpoint).context("the first run, which is not measured")?;
    let mut starts = Vec::new();
    let mut baselines = Vec::new();
    for _ in 0..RUNS {
        // In turns, so that whatever else the machine does weighs on both.
        baselines.push(version(&program)?);
        starts.push(first_request(&program, &place, &endpoint)?);
    }

    let (start, baseline) = (Sample::new(starts), Sample::new(baselines));
    println!("start, {RUNS} runs each, release build, existing data folder");
    println!("  tidegate run, to its first request  {start}");
    println!("  tidegate --version, to its end      {baseline}");
    let ratio = start.median().as_secs_f64() / baseline.median().as_secs_f64();
    println!("  ratio of the medians                {ratio:7.2}");
    Ok(())
}

/// The folders and files of the runs.
struct Place {
    config: PathBuf,
    data: PathBuf,
    workspace: PathBuf,
}

impl Place {
    fn new(shell: &Shell, folder: &Path, endpoint: &Endpoint) -> anyhow::Result<Self> {
        let config = folder.join("tidegate.toml");
        let text = format!(
            "[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n\n\
             [tiers]\nlite = [\"local:m\"]\nflash = [\"local:m\"]\npro = [\"local:m\"]\n",
            endpoint.base_url()
        );
        shell.write_file(&config, text)?;
        let data = shell.create_dir(folder.join("data"))?;
        let workspace = shell.create_dir(folder.join("workspace"))?;
        Ok(Self {
            config,
            data,
            workspace,
        })
    }
}

/// Builds the program; where it is.
fn build(shell: &Shell) -> anyhow::Result<PathBuf> {
    let messages = cmd!(
        shell,
        "cargo build --release --locked --package tidegate-cli --message-format json-render-diagnostics"
    )
    .read()?;
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read what cargo built")?
            && artifact.target.name == "tidegate"
            && let Some(program) = artifact.executable
        {
            return Ok(program.into());
        }
    }
    bail!("the package tidegate-cli built no program called `tidegate`")
}

/// The program, with nothing of the caller's own settings.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_")) {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// From the start of `tidegate --version` to its end.
fn version(program: &Path) -> anyhow::Result<Duration> {
    let mut command = command(program);
    command.arg("--version");
    let start = Instant::now();
    let output = command.output().context("cannot start the program")?;
    let time = start.elapsed();
    ensure!(
        output.status.success(),
        "`tidegate --version` ended with {}",
        output.status
    );
    Ok(time)
}

/// From the start of `tidegate run` to the first line of its first request.
fn first_request(program: &Path, place: &Place, endpoint: &Endpoint) -> anyhow::Result<Duration> {
    let mut command = command(program);
    command
        .arg("--data-dir")
        .arg(&place.data)
        .arg("--config")
        .arg(&place.config);
    command
        .args(["run", "hello", "--workspace"])
        .arg(&place.workspace);
    endpoint.forget();

    let start = Instant::now();
    let mut child = command.spawn().context("cannot start the program")?;
    let arrival = wait(&mut child, endpoint);
    if arrival.is_err() {
        // It may have ended already; then there is nothing to end.
        child.kill().ok();
    }
    let output = child.wait_with_output().context("cannot wait for the program")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let arrival = match arrival {
        Ok(arrival) => arrival,
        Err(cause) => bail!("{cause:#}; `tidegate run` said:\n{said}"),
    };
    ensure!(
        output.status.success(),
        "`tidegate run` ended with {} and said:\n{said}",
        output.status
    );
    ensure!(
        arrival.is_for_a_reply(),
        "the first request was `{}`, not one for a reply of the model",
        arrival.line.trim_end()
    );
    Ok(arrival.at.duration_since(start))
}

fn wait(child: &mut Child, endpoint: &Endpoint) -> anyhow::Result<Arrival> {
    let start = Instant::now();
    loop {
        match endpoint.next(GLANCE) {
            Ok(arrival) => return Ok(arrival),
            Err(RecvTimeoutError::Disconnected) => bail!("the endpoint stopped listening"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(status) = child.try_wait().context("cannot look after the program")? {
            bail!("the program ended with {status} before it made a request");
        }
        if start.elapsed() > PATIENCE {
            bail!("the program made no request within {} s", PATIENCE.as_secs());
        }
    }
}
