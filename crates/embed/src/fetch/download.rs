//! One large file over HTTP, which may take several connections and several days.

use super::hub::{Listed, refusal};
use super::progress::{Listener, Progress};
use crate::EmbedError;
use crate::blocking::off_thread;
use crate::folder::hexadecimal;
use crate::installed::{read_all, sha256_of};
use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode};
use sha1::Sha1;
use sha2::Digest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_http::{is_transient, root_cause, shown};
use tidegate_tools::Cancel;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Connections in a row that bring nothing at all.
const ATTEMPTS: usize = 5;

/// What a file has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// Its SHA-256.
    Sha256(String),
    /// Git's hash of it: the SHA-1 of its length and content.
    Git(String),
}

impl Sum {
    fn expected(&self) -> &str {
        match self {
            Self::Sha256(sum) | Self::Git(sum) => sum,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "SHA-256",
            Self::Git(_) => "Git hash",
        }
    }

    /// Whether it looks like one: it becomes part of a file's name.
    fn is_sound(&self) -> bool {
        let length = match self {
            Self::Sha256(_) => 64,
            Self::Git(_) => 40,
        };
        let sum = self.expected();
        sum.len() == length && sum.chars().all(|c| c.is_ascii_hexdigit())
    }

    fn of(&self, path: &Path, bytes: u64) -> Result<String, EmbedError> {
        match self {
            Self::Sha256(_) => sha256_of(path),
            Self::Git(_) => {
                let mut hash = Sha1::new();
                hash.update(format!("blob {bytes}\0"));
                read_all(path, |piece| hash.update(piece))?;
                Ok(hexadecimal(&hash.finalize()))
            }
        }
    }
}

/// How files are fetched.
pub(super) struct Download<'a> {
    pub(super) client: &'a Client,
    pub(super) cancel: &'a Arc<dyn Cancel>,
    pub(super) listener: &'a Listener,
    /// Before the second attempt; it doubles.
    pub(super) first_delay: Duration,
    /// Where what has arrived is kept until it is whole.
    pub(super) partial: PathBuf,
}

/// Why a connection ended before the file did.
struct Broken {
    problem: String,
    is_transient: bool,
    cause: Option<crate::Cause>,
}

impl Download<'_> {
    /// Fetches `file` and gives the path where it lies, complete and checked.
    ///
    /// # Errors
    /// [`EmbedError::Hub`]: what has arrived is kept. [`EmbedError::Checksum`]: it is thrown away.
    pub(super) async fn get(&self, file: &Listed) -> Result<PathBuf, EmbedError> {
        if !file.sum.is_sound() {
            return Err(self.failed(file, "the hub gives no checksum for it".to_owned(), None));
        }
        std::fs::create_dir_all(&self.partial).map_err(EmbedError::file("make the folder", &self.partial))?;
        // The name says what is in it: what was begun for another commit is never continued.
        let path = self.partial.join(file.sum.expected().to_ascii_lowercase());
        self.listener.tell(Progress::Started {
            what: file.path.clone(),
            bytes: Some(file.bytes),
        });
        // An empty file needs no connection.
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(EmbedError::file("write", &path))?;
        let mut delays = self.delays();
        let mut there = length(&path)?;
        while there < file.bytes {
            let Err(broken) = self.connect(file, &path, there).await? else {
                there = length(&path)?;
                continue;
            };
            let before = std::mem::replace(&mut there, length(&path)?);
            if there > before {
                delays = self.delays();
            }
            let delay = delays.next().filter(|_| broken.is_transient);
            let Some(delay) = delay else {
                return Err(self.failed(file, broken.problem, broken.cause));
            };
            self.listener.tell(Progress::Again {
                what: file.path.clone(),
                problem: broken.problem,
            });
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(EmbedError::Cancelled),
                () = tokio::time::sleep(delay) => {}
            }
        }
        self.check(file, &path).await?;
        Ok(path)
    }

    fn delays(&self) -> backon::ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.first_delay)
            .with_max_delay(Duration::from_secs(30))
            .with_max_times(ATTEMPTS - 1)
            .with_jitter()
            .build()
    }

    /// One connection: appends what it brings.
    async fn connect(
        &self,
        file: &Listed,
        path: &Path,
        there: u64,
    ) -> Result<Result<(), Broken>, EmbedError> {
        // Compressed on the way, ranges would count other bytes.
        let request = self
            .client
            .get(file.url.clone())
            .header(ACCEPT_ENCODING, "identity");
        let request = if there > 0 {
            request.header(RANGE, format!("bytes={there}-"))
        } else {
            request
        };
        let response = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(EmbedError::Cancelled),
            response = request.send() => response,
        };
        let response = match response {
            Ok(response) => response,
            Err(cause) => {
                return Ok(Err(Broken {
                    problem: format!("it cannot be reached ({})", root_cause(&cause)),
                    is_transient: !cause.is_redirect(),
                    cause: Some(Box::new(cause.without_url())),
                }));
            }
        };
        let status = response.status();
        let begin = match status {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if first_byte(&response) == Some(there) => there,
            StatusCode::PARTIAL_CONTENT => {
                return Ok(Err(Broken {
                    problem: format!(
                        "it was asked for what comes after {there} bytes, and gives something else"
                    ),
                    is_transient: false,
                    cause: None,
                }));
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                // What is there has nothing to do with what the hub has.
                std::fs::remove_file(path).map_err(EmbedError::file("remove", path))?;
                return Ok(Err(Broken {
                    problem: format!("it has less than the {there} bytes that are there; beginning anew"),
                    is_transient: true,
                    cause: None,
                }));
            }
            _ => {
                return Ok(Err(Broken {
                    problem: refusal(status),
                    is_transient: is_transient(status),
                    cause: None,
                }));
            }
        };
        self.append(file, path, begin, response).await
    }

    /// Writes the body behind the first `begin` bytes.
    async fn append(
        &self,
        file: &Listed,
        path: &Path,
        begin: u64,
        mut response: Response,
    ) -> Result<Result<(), Broken>, EmbedError> {
        let mut options = File::options();
        options.create(true).write(true);
        let options = if begin == 0 {
            options.truncate(true)
        } else {
            options.append(true)
        };
        let mut written = options
            .open(path)
            .await
            .map_err(EmbedError::file("write", path))?;
        let mut done = begin;
        let outcome = loop {
            let piece = tokio::select! {
                biased;
                () = self.cancel.cancelled() => break Err(EmbedError::Cancelled),
                piece = response.chunk() => piece,
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) if done < file.bytes => {
                    break Ok(Err(Broken {
                        problem: format!("it ended after {done} of {} bytes", file.bytes),
                        is_transient: true,
                        cause: None,
                    }));
                }
                Ok(None) => break Ok(Ok(())),
                Err(cause) => {
                    break Ok(Err(Broken {
                        problem: format!("the connection broke after {done} of {} bytes", file.bytes),
                        is_transient: true,
                        cause: Some(Box::new(cause.without_url())),
                    }));
                }
            };
            done += piece.len() as u64;
            if done > file.bytes {
                break Err(self.too_long(file, done));
            }
            if let Err(cause) = written.write_all(&piece).await {
                break Err(EmbedError::file("write", path)(cause));
            }
            self.listener.tell(Progress::Bytes {
                what: file.path.clone(),
                done,
                total: Some(file.bytes),
            });
        };
        let flushed = match written.flush().await {
            Ok(()) => written.sync_all().await,
            Err(cause) => Err(cause),
        };
        match &outcome {
            Err(EmbedError::Checksum { .. }) => {
                std::fs::remove_file(path).map_err(EmbedError::file("remove", path))?;
            }
            _ => flushed.map_err(EmbedError::file("write", path))?,
        }
        outcome
    }

    async fn check(&self, file: &Listed, path: &Path) -> Result<(), EmbedError> {
        self.listener.tell(Progress::Checking {
            what: file.path.clone(),
        });
        let (sum, of, bytes) = (file.sum.clone(), path.to_owned(), file.bytes);
        let there = length(path)?;
        let found = off_thread(move || sum.of(&of, bytes)).await?;
        if there == file.bytes && found.eq_ignore_ascii_case(file.sum.expected()) {
            return Ok(());
        }
        // Going on with it would never give the right file.
        std::fs::remove_file(path).map_err(EmbedError::file("remove", path))?;
        Err(EmbedError::Checksum {
            what: file.path.clone(),
            kind: file.sum.kind(),
            found,
            expected: file.sum.expected().to_owned(),
        })
    }

    fn too_long(&self, file: &Listed, found: u64) -> EmbedError {
        EmbedError::Checksum {
            what: file.path.clone(),
            kind: "length",
            found: format!("more than {found}"),
            expected: file.bytes.to_string(),
        }
    }

    fn failed(&self, file: &Listed, problem: String, cause: Option<crate::Cause>) -> EmbedError {
        EmbedError::Hub {
            what: file.path.clone(),
            url: shown(&file.url),
            problem: format!("{problem}. What has arrived is kept: fetching again goes on from there"),
            cause,
        }
    }
}

/// The length of a file; 0 if there is none.
fn length(path: &Path) -> Result<u64, EmbedError> {
    match std::fs::metadata(path) {
        Ok(file) => Ok(file.len()),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(EmbedError::file("look at", path)(cause)),
    }
}

/// Where a partial answer begins: `Content-Range: bytes 100-199/200` (RFC 9110, 14.4).
fn first_byte(response: &Response) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (first, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    first.trim().parse().ok()
}
