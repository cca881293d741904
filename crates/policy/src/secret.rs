//! Secrets: `{{secret:NAME}}` in a call's arguments, where each may go, and taking values out of results.
//!
//! A model only ever sees and writes the placeholder. After everything about a call was judged (check 10,
//! [`rule::SECRET_SCOPE`](crate::rule::SECRET_SCOPE)), [`SecretScopes::substitute`] makes the arguments the tool gets;
//! they go nowhere else. What comes back goes through a [`Scrubber`] first.
//!
//! A placeholder is written exactly so, without blanks; anything else is text. It is replaced in values alone, never
//! in names of members, and never where it would change what the call was judged by: a URL's scheme, user, host and
//! port, anything that was resolved to a resource, a recipient.

mod name;
mod placeholder;
mod scope;
mod scrub;
mod value;
mod view;

pub use name::SecretName;
pub use placeholder::{Placeholder, placeholders};
pub use scope::{ScopeProblem, ScopeRefusal, SecretScope, SecretScopeError, SecretScopes};
pub use scrub::{Scrubbed, Scrubber};
pub use value::{SecretError, SecretValues, SubstitutedArguments};
