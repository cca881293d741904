//! `http_get`.

mod address;
mod body;
mod error;
mod fetch;
mod hop;
mod page;
mod tool;

pub use address::{Resolver, SystemResolver};
pub use error::FetchError;
pub use tool::{HttpLimits, HttpSettings, http_get};
