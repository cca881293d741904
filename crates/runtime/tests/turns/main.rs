//! The driver, with models that say what they are told to: what reaches the model in which order, what is stored
//! before what, and what comes of everything that can go wrong in between.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod cancelling;
mod compaction;
mod conversation;
mod events;
mod failing_store;
mod hooks;
mod labels;
mod memory;
mod notes;
mod own_files;
mod prefix;
mod project_file;
mod providers;
mod reloading;
mod requests;
mod system_message;
mod tools;
mod world;
