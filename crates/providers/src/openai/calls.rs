//! Tool calls put together from their fragments.

use super::encode::wire_tool_name;
use super::fragment::{Fields, Malformed, text_field};
use crate::ToolSet;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// More calls than any reply has.
const MAX_CALLS: usize = 10_000;

/// The calls of one reply, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Where the open call of each index stands.
    open: BTreeMap<u64, usize>,
    /// Where each id that was given stands, by index: an id counts at its index alone.
    known: BTreeMap<(Option<u64>, String), usize>,
}

/// One call, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The provider's id; made unique by [`Calls::finish`].
    pub(super) id: String,
    /// The name.
    pub(super) name: String,
    /// The arguments as written.
    pub(super) arguments: String,
    /// Fields of the call this crate does not know, sent back as they came.
    pub(super) extra: BTreeMap<String, Box<RawValue>>,
    /// The same of its `function` object.
    pub(super) function_extra: BTreeMap<String, Box<RawValue>>,
}

/// One element of `tool_calls`.
struct Fragment<'a> {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Fields<'a>,
    function_extra: Fields<'a>,
}

impl Calls {
    /// Whether no call has been opened.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether the arguments of a call have begun and are no complete JSON.
    pub(super) fn has_broken_arguments(&self) -> bool {
        self.calls
            .iter()
            .any(|call| !call.arguments.is_empty() && !is_complete_json(&call.arguments))
    }

    /// Takes in one element of `tool_calls`.
    pub(super) fn take(&mut self, raw: &RawValue, offered: &ToolSet) -> Result<(), Malformed> {
        let fragment = Fragment::read(raw)?;
        let target = self.find(&fragment).filter(|&target| {
            self.calls
                .get(target)
                .is_some_and(|call| !call.is_followed_by(&fragment, offered))
        });
        let position = match target {
            Some(position) => position,
            None => {
                if self.calls.len() == MAX_CALLS {
                    return Err(Malformed::new(format!(
                        "the reply has more than {MAX_CALLS} tool calls"
                    )));
                }
                self.calls.push(Call::default());
                self.calls.len() - 1
            }
        };
        if let Some(index) = fragment.index {
            self.open.insert(index, position);
        }
        if !fragment.id.is_empty() {
            self.known.insert((fragment.index, fragment.id.clone()), position);
        }
        if let Some(call) = self.calls.get_mut(position) {
            call.append(fragment, offered);
        }
        Ok(())
    }

    /// The call a fragment speaks of, none if it opens one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let open = match fragment.index {
            Some(index) => self.open.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        if fragment.id.is_empty() {
            return open;
        }
        // A new id at a used index closes the old call, unless the old call is still waiting for its id.
        self.known
            .get(&(fragment.index, fragment.id.clone()))
            .copied()
            .or_else(|| {
                open.filter(|&open| {
                    self.calls.get(open).is_some_and(|call| {
                        call.id.is_empty() && (fragment.name.is_empty() || call.arguments.is_empty())
                    })
                })
            })
    }

    /// The calls, complete and with unique ids.
    ///
    /// An id that is missing, or that an earlier call of the reply has, is replaced by `call_` and the
    /// call's position (and more, should that be taken).
    pub(super) fn finish(mut self) -> Result<Vec<Call>, Malformed> {
        let given: BTreeSet<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        let mut used = BTreeSet::new();
        for (position, call) in self.calls.iter_mut().enumerate() {
            if call.name.is_empty() {
                return Err(Malformed::new(format!(
                    "tool call {} of the reply has no name",
                    position + 1
                )));
            }
            if call.id.is_empty() || used.contains(&call.id) {
                call.id = format!("call_{position}");
                while given.contains(&call.id) || used.contains(&call.id) {
                    call.id.push('_');
                }
            }
            used.insert(call.id.clone());
        }
        Ok(self.calls)
    }
}

impl Call {
    /// Whether `fragment`, although it has this call's index or id, begins another call: some servers give
    /// every call the same index and no id. A call's name comes before its arguments, so a name after
    /// them belongs to the next call, unless it only repeats this one's.
    fn is_followed_by(&self, fragment: &Fragment<'_>, offered: &ToolSet) -> bool {
        if fragment.name.is_empty() || self.name.is_empty() {
            return false;
        }
        let goes_on = !fragment.arguments.trim().is_empty();
        if fragment.name == self.name {
            return goes_on && is_complete_json(&self.arguments);
        }
        let joined = format!("{}{}", self.name, fragment.name);
        let both_offered = offers(offered, &self.name) && offers(offered, &fragment.name);
        !self.arguments.is_empty() || (both_offered && !offers(offered, &joined))
    }

    fn append(&mut self, fragment: Fragment<'_>, offered: &ToolSet) {
        let repeats_id = !fragment.id.is_empty() && fragment.id == self.id;
        if self.id.is_empty() {
            self.id = fragment.id;
        }
        let repeats_name = fragment.name == self.name && (repeats_id || offers(offered, &self.name));
        if !repeats_name {
            self.name.push_str(&fragment.name);
        }
        self.arguments.push_str(&fragment.arguments);
        self.extra.extend(
            fragment
                .extra
                .into_map()
                .into_iter()
                .map(|(key, value)| (key, value.to_owned())),
        );
        self.function_extra.extend(
            fragment
                .function_extra
                .into_map()
                .into_iter()
                .map(|(key, value)| (key, value.to_owned())),
        );
    }
}

impl<'a> Fragment<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, Malformed> {
        let mut call = super::fragment::fields(raw, "a tool call")?;
        let mut function = match call.remove("function") {
            Some(function) if function.get() != "null" => super::fragment::fields(function, "`function`")?,
            Some(_) | None => Fields::default(),
        };
        // `index` is where the fragment belongs in the stream; no provider accepts it back.
        let index = call.remove("index").and_then(|index| index.get().parse().ok());
        let id = text_field(&mut call, "id")?;
        // Always "function": nothing else is offered.
        call.remove("type");
        let name = text_field(&mut function, "name")?;
        let arguments = match function.remove("arguments") {
            // Some servers give the object itself instead of its text.
            Some(object) if object.get().starts_with('{') => object.get().to_owned(),
            Some(text) => super::fragment::text(text, "arguments")?,
            None => String::new(),
        };
        Ok(Self {
            index,
            id,
            name,
            arguments,
            extra: call,
            function_extra: function,
        })
    }
}

/// Whether a tool is offered under this name of the wire.
fn offers(offered: &ToolSet, wire: &str) -> bool {
    offered.by_chat_name(wire, wire_tool_name).is_some()
}

fn is_complete_json(text: &str) -> bool {
    // The last character tells most fragments apart without reading them whole.
    text.trim_end().ends_with(['}', ']', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
