//! What can go wrong with the memories.

use std::error::Error;
use tidegate_policy::{Classification, Label};
use tidegate_store::{ModelRecord, StoreError};

/// The error below: of a model, a network, an index.
pub type Cause = Box<dyn Error + Send + Sync>;

/// An embedder did not embed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedderError {
    /// A text without anything in it.
    #[error("text {index} to be embedded is empty or blank; leave it out")]
    EmptyText {
        /// Its place in the batch, from 0.
        index: usize,
    },
    /// It was told to stop.
    #[error("embedding was cancelled; nothing of this batch was kept")]
    Cancelled,
    /// The model gave something that is no vector of its own.
    #[error(
        "the model {model} gave a bad vector for text {index}: {problem}. Nothing of this batch was kept"
    )]
    BadVector {
        /// The model.
        model: String,
        /// The text's place in the batch, from 0.
        index: usize,
        /// What is wrong.
        problem: BadVector,
    },
    /// It could not be asked, or failed.
    #[error("the embedder {model} failed")]
    Failed {
        /// The model.
        model: String,
        /// Whether trying again may help.
        transient: bool,
        /// Why.
        #[source]
        cause: Cause,
    },
}

/// What is wrong with a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVector {
    /// Another length.
    #[error("it has {found} values instead of {expected}")]
    Dimension {
        /// Its length.
        found: usize,
        /// The model's.
        expected: usize,
    },
    /// A value that is no finite number.
    #[error("it holds a value that is not a finite number")]
    NotFinite,
    /// Only zeros: it has no direction.
    #[error("all its values are 0")]
    Zero,
    /// Another number of vectors than of texts.
    #[error("there are {found} vectors for {expected} texts")]
    Count {
        /// Vectors.
        found: usize,
        /// Texts.
        expected: usize,
    },
    /// Sparse indices that are not ascending, or not as many as values.
    #[error("its sparse part is not ascending, or has not as many indices as values")]
    Sparse,
}

/// An index did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It cannot be reached. What is in the records is searched exactly meanwhile.
    #[error("the index {index} cannot be reached; reads go on from the records, and it is caught up later")]
    Unreachable {
        /// Its name.
        index: String,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// Another process has it.
    #[error("the index {index} is in use by another process; stop that one, or choose another folder")]
    InUse {
        /// Its name.
        index: String,
    },
    /// What it keeps on the disk cannot be read.
    #[error(
        "the index {index} is damaged; reads go on from the records, and `tidegate memory reindex` makes it anew from them"
    )]
    Damaged {
        /// Its name.
        index: String,
        /// What is wrong.
        #[source]
        cause: Cause,
    },
    /// It was made for vectors of another model.
    #[error(
        "the index {index} was made for the model {found}, and the records have {wanted}; rebuild it with `tidegate memory reindex`"
    )]
    OtherModel {
        /// Its name.
        index: String,
        /// The model it was made for.
        found: String,
        /// The model of the records.
        wanted: String,
    },
    /// Anything else.
    #[error("the index {index} failed; `tidegate memory reindex` rebuilds it from the records")]
    Failed {
        /// Its name.
        index: String,
        /// Why.
        #[source]
        cause: Cause,
    },
}

/// Why a memory did not do what it was asked. Of a write: nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The records could not be read or written.
    #[error("the records of the memories cannot be used")]
    Records(#[from] StoreError),
    /// The embedder.
    #[error(transparent)]
    Embedder(#[from] EmbedderError),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The records were embedded with another model.
    #[error(
        "the memories were embedded with {} ({} values{}), and {} ({} values{}) is configured. Nothing was changed. \
         Either configure {} again, or embed all anew with `tidegate memory reembed`",
        .stored.id, .stored.dimension, prefixes(.stored), .given.id, .given.dimension, prefixes(.given), .stored.id
    )]
    OtherModel {
        /// The model of the records.
        stored: Box<ModelRecord>,
        /// The model that was given.
        given: Box<ModelRecord>,
    },
    /// A text that says nothing.
    #[error("{what} is empty; write what it should say")]
    Empty {
        /// Which.
        what: &'static str,
    },
    /// A number outside its bounds.
    #[error("{what} is {given}; write a whole number from {least} to {most}")]
    OutOfBounds {
        /// Which.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A text that is longer than it may be.
    #[error(
        "{what} has {given} characters; write at most {most}{}",
        if *.what == "fact" { ", and keep long texts with save_session_context" } else { "" }
    )]
    TooLong {
        /// Which.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The most.
        most: usize,
    },
    /// More of them than there may be.
    #[error("there are {given} {what}; give at most {most}")]
    TooMany {
        /// What of.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// The most.
        most: usize,
    },
    /// A date that is none.
    #[error(
        "{what} {given:?} is not a date: {problem}; write ISO 8601, as in 2026-11-29, 2026-11-29T18:30:00Z or \
         2026-11-29T18:30:00[Europe/Paris]"
    )]
    Date {
        /// Which.
        what: &'static str,
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An end before the beginning.
    #[error("end_date {end} lies before start_date {start}; swap them")]
    EmptyPeriod {
        /// The beginning.
        start: String,
        /// The end.
        end: String,
    },
    /// The writer's label may not flow into the item's.
    #[error(
        "memory {memory_id:?} is {item}, and this session is {writer}: it cannot be changed from here. Write a memory \
         of your own, or ask the owner"
    )]
    WriteDown {
        /// Which.
        memory_id: String,
        /// Its label.
        item: Label,
        /// The writer's.
        writer: Label,
    },
    /// There is no such source here, or it belongs to another session.
    #[error(
        "there is no source {source_id:?} in this session; search_sessions_context without a query lists those there are"
    )]
    UnknownSource {
        /// Which.
        source_id: String,
    },
    /// Some chunks of a text could not be embedded, again and again.
    #[error(
        "{failed} of {chunks} chunks of source {source_id:?} could not be embedded after {attempts} attempts, the first \
         at line {line}. Nothing was saved; try again later"
    )]
    FailedChunks {
        /// The source.
        source_id: String,
        /// How many failed.
        failed: usize,
        /// How many there are.
        chunks: usize,
        /// How often it was tried.
        attempts: u32,
        /// The line of the first.
        line: u32,
        /// Why the last attempt failed.
        #[source]
        cause: EmbedderError,
    },
    /// Other writers were faster, again and again.
    #[error("memory {memory_id:?} was changed by others meanwhile, {attempts} times; try again")]
    Contended {
        /// Which.
        memory_id: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// More files of a conversation at once than there are ids for.
    #[error(
        "{attempts} files of this session came within a few minutes; wait a moment, and give this one again"
    )]
    TooManyResources {
        /// How many ids were tried.
        attempts: i64,
    },
    /// A state that no resource has.
    #[error("{given:?} is not a state of a resource; there are: {valid}")]
    UnknownState {
        /// What was given.
        given: String,
        /// What there is.
        valid: String,
    },
    /// There is no text to be had of a file.
    #[error("{filename} cannot be used: {why}\n  possible: {}", crate::READABLE)]
    UnreadableFile {
        /// Its name.
        filename: String,
        /// Why.
        why: String,
    },
    /// Nothing is written in a file: an empty document, or pictures of text.
    #[error(
        "{filename} cannot be used: there is no text in it; pictures of text would have to be recognised first"
    )]
    NoText {
        /// Its name.
        filename: String,
    },
    /// What the auxiliary model proposed cannot be read.
    #[error(
        "the auxiliary model proposed memories in a form that cannot be read: {problem}. Nothing was kept"
    )]
    Proposals {
        /// What is wrong.
        problem: String,
    },
    /// It was told to stop.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// The auxiliary model may not see the text, or failed.
    #[error("the auxiliary model failed")]
    Auxiliary {
        /// Why.
        #[source]
        cause: Cause,
    },
    /// A sink that may not see a text.
    #[error("{sink} may see texts up to {clearance}, and this one is {label}")]
    Clearance {
        /// The sink.
        sink: String,
        /// How much it may see.
        clearance: Classification,
        /// The label of the text.
        label: Label,
    },
    /// An evaluation file that cannot be used.
    #[error("line {line} of the evaluation file: {problem}")]
    Evaluation {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Blocking work ended by itself.
    #[error("work on another thread ended before it was done")]
    Stopped {
        /// Why.
        #[source]
        cause: Cause,
    },
}

/// An error with its causes, in one line.
pub(crate) fn told(error: &MemoryError) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}

fn prefixes(model: &ModelRecord) -> String {
    if model.prefixes.is_empty() {
        String::new()
    } else {
        format!(", prefixes {:?}", model.prefixes)
    }
}
