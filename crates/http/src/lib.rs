//! What HTTP clients have in common: how a client is made, how addresses are shown, how answers are read.
//!
//! [`builder`] and [`builder_for`] set TLS, proxies and limits up in one place, so that every client of the program keeps
//! the same rules: no redirect is followed unless somebody asks for it, a machine's own servers are asked without a
//! proxy, and an address is [shown] without what may be a secret in it.
//!
//! ```
//! use tidegate_http::{below, builder_for, shown};
//! use url::Url;
//!
//! let server: Url = "http://user:secret@127.0.0.1:8080/v1?key=secret".parse()?;
//! let client = builder_for(&server).build()?;
//! let request = client.get(below(&server, "models"));
//! assert_eq!(shown(&server), "http://127.0.0.1:8080/v1");
//! # let _ = request;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Not here:** which addresses may be asked (`tidegate-policy`, and the tool `http_get` in `tidegate-builtins`), and when
//! to ask again (`tidegate-runtime`).

mod address;
mod answer;
mod client;
mod told;

pub use address::{below, is_loopback, shown};
pub use answer::{is_transient, read_up_to, retry_after};
pub use client::{CONNECT_TIMEOUT, builder, builder_for};
pub use told::{printable, root_cause};
