//! `run_command`.

mod available;
mod error;
mod journal;
mod output;
mod own;
mod process;
mod reach;
mod record;
mod settings;
mod told;
mod tool;

pub use available::confinement_available;
pub use error::CommandError;
pub use settings::CommandSettings;
pub use tool::run_command;
