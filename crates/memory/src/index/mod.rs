//! Indexes of vectors, and how they follow the records.

mod beginning;
mod contract;
mod exact;
mod follower;
mod lexical;
mod loose;
mod matrix;
mod point;
mod question;
mod table;
mod trouble;

pub use contract::{IndexChange, IndexHit, IndexSearch, Leg, VectorIndex};
pub use exact::ExactIndex;
pub(crate) use follower::Follower;
pub use point::{IndexFilter, IndexPoint, PointPayload, lexical_vector};
pub(crate) use point::{chunk_text, memory_text, with_words};
pub(crate) use question::Question;
pub(crate) use table::{Source, Stand, Standing};
pub use trouble::IndexTrouble;
