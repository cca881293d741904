//! Tool calls put together from their fragments.

use super::encode::wire_tool_name;
use super::fragment::{Fields, Key, Malformed, Text};
use crate::ToolSet;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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
#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    /// Where it belongs in the stream; no provider accepts it back.
    index: Option<u64>,
    id: Cow<'a, str>,
    function: Function<'a>,
    extra: Fields<'a>,
}

/// Its `function`.
#[derive(Debug, Default)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
    extra: Fields<'a>,
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
    pub(super) fn take(&mut self, fragment: Fragment<'_>, offered: &ToolSet) -> Result<(), Malformed> {
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
            let known = (fragment.index, fragment.id.clone().into_owned());
            self.known.insert(known, position);
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
            .get(&(fragment.index, fragment.id.clone().into_owned()))
            .copied()
            .or_else(|| {
                open.filter(|&open| {
                    self.calls.get(open).is_some_and(|call| {
                        call.id.is_empty() && (fragment.function.name.is_empty() || call.arguments.is_empty())
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
        let Function { name, arguments, .. } = &fragment.function;
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        let goes_on = !arguments.trim().is_empty();
        if *name == self.name {
            return goes_on && is_complete_json(&self.arguments);
        }
        let joined = format!("{}{name}", self.name);
        let both_offered = offers(offered, &self.name) && offers(offered, name);
        !self.arguments.is_empty() || (both_offered && !offers(offered, &joined))
    }

    fn append(&mut self, fragment: Fragment<'_>, offered: &ToolSet) {
        let Fragment {
            index: _,
            id,
            function,
            extra,
        } = fragment;
        if !function.name.is_empty() {
            let repeats_id = !id.is_empty() && id == self.id;
            let repeats_name = function.name == self.name && (repeats_id || offers(offered, &self.name));
            if !repeats_name {
                self.name.push_str(&function.name);
            }
        }
        if self.id.is_empty() {
            self.id = id.into_owned();
        }
        self.arguments.push_str(&function.arguments);
        keep(&mut self.extra, extra);
        keep(&mut self.function_extra, function.extra);
    }
}

/// Keeps fields that are not known.
fn keep(kept: &mut BTreeMap<String, Box<RawValue>>, fields: Fields<'_>) {
    if !fields.is_empty() {
        let fields = fields.into_map().into_iter();
        kept.extend(fields.map(|(key, value)| (key, value.to_owned())));
    }
}

impl Fragment<'_> {
    /// How many bytes of a reply it is.
    pub(super) fn size(&self) -> usize {
        let Function {
            name,
            arguments,
            extra,
        } = &self.function;
        self.id.len() + name.len() + arguments.len() + extra.size() + self.extra.size()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fragment<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fragment<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tool call")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fragment<'de>, A::Error> {
                let mut fragment = Fragment::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "index" => fragment.index = map.next_value::<&RawValue>()?.get().parse().ok(),
                        "id" => fragment.id = map.next_value::<Text<'_>>()?.0,
                        // Always "function": nothing else is offered.
                        "type" => drop(map.next_value::<IgnoredAny>()?),
                        "function" => fragment.function = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        _ => fragment.extra.push(key, map.next_value()?),
                    }
                }
                Ok(fragment)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Function<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Function<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a function")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Function<'de>, A::Error> {
                let mut function = Function::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "name" => function.name = map.next_value::<Text<'_>>()?.0,
                        "arguments" => function.arguments = arguments(map.next_value()?)?,
                        _ => function.extra.push(key, map.next_value()?),
                    }
                }
                Ok(function)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The arguments as written. Some servers give the object itself instead of its text.
fn arguments<E: Error>(raw: &RawValue) -> Result<Cow<'_, str>, E> {
    if raw.get().starts_with('{') {
        return Ok(Cow::Borrowed(raw.get()));
    }
    let text: Result<Text<'_>, _> = serde_json::from_str(raw.get());
    text.map(|text| text.0).map_err(E::custom)
}

/// Whether a tool is offered under this name of the wire.
fn offers(offered: &ToolSet, wire: &str) -> bool {
    offered.by_chat_name(wire, wire_tool_name).is_some()
}

fn is_complete_json(text: &str) -> bool {
    // The last character tells most fragments apart without reading them whole.
    text.trim_end().ends_with(['}', ']', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
