//! Results read with a real parser: JSON, else YAML. What is neither has no structure, and so no rows and fields.

use saphyr_parser::{Event, Parser};
use serde_json::Value;

/// A result, as far as its shape goes. Scalars are text, whatever their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Scalar(String),
    List(Vec<Node>),
    Mapping(Vec<(String, Node)>),
}

/// Longest result that is read for its structure, in bytes.
const LONGEST: usize = 1 << 20;

/// Deepest nesting that is read.
const DEEPEST: usize = 24;

impl Node {
    /// The structure of `text`; none where it has none, is too long or too deep.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let trimmed = text.trim_start();
        if trimmed.starts_with(['{', '[']) {
            if let Ok(value) = serde_json::from_str::<Value>(text) {
                return Self::of_json(&value, 0);
            }
            // A printed Python value is YAML's flow form only as long as nothing in it needs escaping: past that, the
            // text of a field could pretend to be fields.
            if trimmed.contains(['\\', '"', '#', '&', '*', '!']) {
                return None;
            }
        }
        Self::of_yaml(text)
    }

    pub(crate) fn of_json(value: &Value, depth: usize) -> Option<Self> {
        if depth > DEEPEST {
            return None;
        }
        Some(match value {
            Value::Null => Self::Scalar(String::new()),
            Value::Bool(value) => Self::Scalar(value.to_string()),
            Value::Number(value) => Self::Scalar(value.to_string()),
            Value::String(value) => Self::Scalar(value.clone()),
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::of_json(item, depth + 1))
                    .collect::<Option<_>>()?,
            ),
            Value::Object(fields) => Self::Mapping(
                fields
                    .iter()
                    .map(|(name, value)| Some((name.clone(), Self::of_json(value, depth + 1)?)))
                    .collect::<Option<_>>()?,
            ),
        })
    }

    /// One document of block or flow collections. Aliases are refused: their expansion may be exponential.
    fn of_yaml(text: &str) -> Option<Self> {
        let mut open: Vec<Open> = Vec::new();
        let mut root = None;
        for event in Parser::new_from_str(text) {
            let (event, _) = event.ok()?;
            let closed = match event {
                Event::Scalar(text, ..) => Node::Scalar(text.into_owned()),
                Event::SequenceStart(..) => {
                    open.push(Open::List(Vec::new()));
                    if open.len() > DEEPEST {
                        return None;
                    }
                    continue;
                }
                Event::MappingStart(..) => {
                    open.push(Open::Mapping(Vec::new(), None));
                    if open.len() > DEEPEST {
                        return None;
                    }
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                    Open::List(items) => Node::List(items),
                    // Which of two fields of one name counts is not for a guess.
                    Open::Mapping(fields, None) if has_twins(&fields) => return None,
                    Open::Mapping(fields, None) => Node::Mapping(fields),
                    Open::Mapping(_, Some(_)) => return None,
                },
                Event::Alias(_) => return None,
                Event::DocumentStart(_) if root.is_some() => return None,
                _ => continue,
            };
            match open.last_mut() {
                None => root = Some(closed),
                Some(Open::List(items)) => items.push(closed),
                Some(Open::Mapping(fields, key)) => match (key.take(), closed) {
                    (None, Node::Scalar(name)) => *key = Some(name),
                    // A collection as a key is nothing a listing has.
                    (None, _) => return None,
                    (Some(name), value) => fields.push((name, value)),
                },
            }
        }
        // Prose is a scalar to YAML.
        root.filter(|root| !matches!(root, Node::Scalar(_)))
    }

    /// Every mapping in it, outermost first.
    pub(crate) fn mappings(&self) -> Vec<&[(String, Node)]> {
        let mut found = Vec::new();
        let mut todo = vec![self];
        while let Some(node) = todo.pop() {
            match node {
                Self::Scalar(_) => {}
                Self::List(items) => todo.extend(items.iter().rev()),
                Self::Mapping(fields) => {
                    found.push(fields.as_slice());
                    todo.extend(fields.iter().rev().map(|(_, value)| value));
                }
            }
        }
        found
    }

    /// Every scalar with the name of the field it stands in, and all of the mapping around it.
    pub(crate) fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut found = Vec::new();
        let nowhere: &[(String, Self)] = &[];
        let mut todo = vec![(self, None::<&str>, nowhere)];
        while let Some((node, field, around)) = todo.pop() {
            match node {
                Self::Scalar(text) => found.push(Leaf { text, field, around }),
                Self::List(items) => todo.extend(items.iter().rev().map(|item| (item, field, around))),
                Self::Mapping(fields) => {
                    todo.extend(
                        fields
                            .iter()
                            .rev()
                            .map(|(name, value)| (value, Some(name.as_str()), fields.as_slice())),
                    );
                }
            }
        }
        found
    }
}

fn has_twins(fields: &[(String, Node)]) -> bool {
    let names: std::collections::HashSet<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.len() < fields.len()
}

/// A scalar in its place.
pub(crate) struct Leaf<'n> {
    pub(crate) text: &'n str,
    pub(crate) field: Option<&'n str>,
    pub(crate) around: &'n [(String, Node)],
}

enum Open {
    List(Vec<Node>),
    Mapping(Vec<(String, Node)>, Option<String>),
}

/// A mapping's scalar field.
pub(crate) fn scalar<'n>(fields: &'n [(String, Node)], name: &str) -> Option<&'n str> {
    fields.iter().find_map(|(field, value)| match value {
        Node::Scalar(text) if field == name => Some(text.as_str()),
        _ => None,
    })
}
