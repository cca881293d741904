//! Real answers, recorded once and played again.

mod difference;
mod server;
mod tape;

pub use server::Cassette;
pub use tape::CassetteError;
