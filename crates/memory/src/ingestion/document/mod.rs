//! The text of a file.

#[cfg(feature = "documents")]
mod office;
#[cfg(feature = "documents")]
mod pages;
#[cfg(feature = "documents")]
mod sheet;
mod text;
mod unreadable;

#[cfg(feature = "documents")]
use text::LONGEST_TEXT;
pub(super) use text::{is_text, text_of};
