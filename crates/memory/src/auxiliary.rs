//! The auxiliary model, for names and merged texts.

use crate::error::Cause;
use tidegate_policy::Classification;
use tidegate_tools::BoxFuture;

/// A name for a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distilled {
    /// A short name of words and hyphens.
    pub memory_id: String,
    /// Two or three words to find it by.
    pub tags: Vec<String>,
}

/// It has no answer to questions of its own.
#[derive(Debug, thiserror::Error)]
#[error("this auxiliary model names and merges memories, and answers nothing else")]
struct NoAnswer;

/// A small model that names and merges. The runtime implements it over a provider. It is a sink: texts above its
/// clearance are never given to it. What it says carries the label of what it was given.
pub trait Auxiliary: Send + Sync {
    /// Up to which level it may see texts.
    fn clearance(&self) -> Classification;

    /// A name and tags for a fact.
    ///
    /// # Errors
    /// Whatever went wrong; the memory then gets a name of its own words.
    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>>;

    /// One text that says all that `facts` say, and no more.
    ///
    /// # Errors
    /// Whatever went wrong; the memories then stay side by side.
    fn merge<'a>(&'a self, facts: &'a [String]) -> BoxFuture<'a, Result<String, Cause>>;

    /// Its answer, as it gives it, to `instructions` about `material`: for summaries of files and for what is worth
    /// remembering of a conversation. The instructions are the system message, the material is the user's; what is data
    /// in it is escaped and said to be. By default it has none.
    ///
    /// # Errors
    /// Whatever went wrong; there is no summary then, and nothing is extracted.
    fn answer<'a>(
        &'a self,
        instructions: &'a str,
        material: &'a str,
    ) -> BoxFuture<'a, Result<String, Cause>> {
        let _ = (instructions, material);
        Box::pin(std::future::ready(Err(Box::new(NoAnswer) as Cause)))
    }
}
