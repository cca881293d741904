//! Embedding models for the memories: local ones on ONNX Runtime, remote ones, and the files they are made of.
//!
//! Each is an [`Embedder`](tidegate_memory::Embedder):
//! - [`LocalEmbedder`] computes in the process with a model in a folder: a text model in ONNX form, for instance
//!   all-MiniLM-L6-v2, or bge-m3 with dense and learned sparse vectors in one pass;
//! - [`RemoteEmbedder`] asks an endpoint with OpenAI's `/v1/embeddings`. Whatever it embeds leaves the process.
//!
//! [`Auto`] opens the one that should be used without ever fetching anything or going remote. [`fetch`] gets models and
//! ONNX Runtime's library when somebody asks for it, checks them and puts them into place whole; [`installed`] tells
//! what is there.
//!
//! ```no_run
//! use tidegate_embed::{FolderOptions, LibraryPlaces, LocalEmbedder, ModelFolder, OnnxRuntime, fetch::Fetch};
//! use tidegate_memory::Embedder;
//!
//! # async fn example() -> Result<(), tidegate_embed::EmbedError> {
//! let models = "data/models";
//! let fetched = Fetch::new(models).minilm().await?;
//!
//! // Loading takes a second and no async: a program does it on a thread of its own.
//! let places = LibraryPlaces { models: Some(models.into()), ..LibraryPlaces::default() };
//! let runtime = OnnxRuntime::load(&places)?;
//! let folder = ModelFolder::read(&fetched.folder, &FolderOptions::default())?;
//! let embedder = LocalEmbedder::open(&folder, &runtime)?;
//! println!("{} makes {} values of a text", embedder.model().id, embedder.model().dimension);
//! # Ok(()) }
//! ```
//!
//! ONNX Runtime is loaded when it is first needed and never linked: building needs neither it nor a network. A
//! library that is missing, too old or none at all is an [`EmbedError`].
//!
//! **What was tested against what.** all-MiniLM-L6-v2 is tested itself, where its files have been fetched (`cargo xtask
//! models`). bge-m3 weighs half a gigabyte and is not: its loading, batching and reading of outputs is tested with a
//! made-up ONNX model of the same inputs and outputs (`tests/fixtures/make.py`), whose vectors mean nothing, and
//! fetching it against a hub on the loopback interface.
//!
//! **Not here:** the traits and the embedder without a model (`tidegate-memory`), commands (`tidegate-cli`).

mod auto;
mod batched;
mod blocking;
mod choose;
mod error;
pub mod fetch;
mod folder;
mod http;
mod installed;
mod lazy;
mod library;
mod local;
mod manifest;
mod prefixes;
mod remote;

pub use auto::Auto;
pub use choose::{Choice, Chosen, Offers, choose};
pub use error::{Cause, EmbedError};
pub use folder::{FolderOptions, ModelFolder, ModelKind, Pooling};
pub use installed::{InstalledModel, ModelState, installed, verify};
pub use lazy::LazyEmbedder;
pub use library::{LibraryPlaces, OnnxRuntime};
pub use local::LocalEmbedder;
pub use manifest::{Manifest, ManifestFile, ManifestKind};
pub use prefixes::Prefixes;
pub use remote::{RemoteEmbedder, RemoteSettings};
pub use secrecy::SecretString;
pub use url::Url;
