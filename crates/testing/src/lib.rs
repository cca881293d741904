//! For testing agents without a model: a strict fake of the real service, and helpers for scripted models.
//!
//! - [`FakeOpenAi`] is an OpenAI-compatible server on the loopback interface. It refuses what the real
//!   service refuses ([`check_request`]), streams its replies in pieces of any size, and breaks off where it
//!   is told to.
//! - [`FakeEmbeddings`] is a strict `/v1/embeddings`.
//! - [`FaultServer`] is a server that goes wrong to the byte: cut, reset, hanging, slow, broken, refusing.
//! - [`Cassette`] records what a real server answers, without its secrets, and plays it again.
//! - [`HashingModel`] is a model whose actions depend on every bit it is shown: for tests of what leaks.
//! - [`delegate_records!`] writes the methods that records around other records do not change.
//! - [`MeddledStore`] is any store in which a test can meddle: commits that fail, time that is up.
//! - [`conformance`] holds the suites for providers, tools and stores of your own.
//! - [`memories`] are made-up memories for benchmarks, the same ones in every run.
//! - [`assert_complete`] checks that a [`Scripted`](tidegate_providers::Scripted) model said all it had to say.
//! - [`prefix_of`] checks that one request is the beginning of the next.
//!
//! ```
//! use serde_json::json;
//! use tidegate_testing::{FakeOpenAi, calls, text};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = FakeOpenAi::start([calls([("read_file", json!({"path": "a.txt"}))]), text("It says 42.")]).await?;
//! // … run the program against `server.base_url()` …
//! # let _ = server.base_url();
//! assert!(server.violations().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! **Not here:** anything a program needs when it runs; this is for dev-dependencies. Its checks fail by
//! panicking, as tests do.

mod cassette;
pub mod conformance;
mod delegate;
mod embeddings;
mod fault;
mod hashing;
mod meddling;
pub mod memories;
mod openai;
mod prefix;
mod scripted;

pub use cassette::{Cassette, CassetteError};
pub use embeddings::{FakeEmbeddings, FakeEmbeddingsReply};
pub use fault::{At, ChunkFault, Fault, FaultServer, Framing, Gate, SilentPort, refused_port};
pub use hashing::HashingModel;
pub use meddling::{MeddledStore, Meddler};
pub use openai::{FakeBody, FakeOpenAi, FakeReply, RecordedRequest, Violation, check_request};
pub use prefix::{PrefixBreak, prefix_of};
pub use scripted::{assert_complete, calls, text};
#[doc(hidden)]
pub use tidegate_store as store;
