//! Tests of the whole crate through its public face.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod anchor;
mod compaction;
mod made;
mod prefix;
mod project;
mod properties;
mod sanitise;
mod session;
mod size;
mod system;
mod templates;
mod texts;
mod turn;
mod wire;
