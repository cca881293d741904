//! Integrity by value (check 7): whether the values that decide what a call does, and the decision to make it,
//! are the owner's.

mod content;
mod given;
mod inside;
mod judge;
mod meaning;
mod moment;
mod naming;
mod scope;
mod tool;
mod trust;
mod verdict;

pub(crate) use judge::signature;
pub(crate) use naming::owner_named;
pub use tool::{ActionClass, RowFields, ToolIntegrity, TrustedFields};
pub use verdict::{
    ControlValue, IntegrityAction, IntegrityFacts, IntegrityMode, IntegrityVerdict, LicenceUse, ValueOrigin,
};
