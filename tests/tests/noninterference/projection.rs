//! What an observer at a level may see of a run, in lines that two runs can be compared by.

use regex::{Captures, Regex};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use tidegate_policy::{Classification, Label, SessionId};
use tidegate_store::{ApprovalFilter, EventFilter, FileLabelRange, Store};

use Classification::{Confidential, Internal, Public, Restricted};

/// Lines by what they are about: events of a session, rows, files, sends, answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Projection(BTreeMap<String, Vec<String>>);

impl Projection {
    pub(crate) fn add(&mut self, section: impl Into<String>, lines: impl IntoIterator<Item = String>) {
        self.0.entry(section.into()).or_default().extend(lines);
    }

    /// What it has lines about, without whose they are.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        let sections = self.0.iter().filter(|(_, lines)| !lines.is_empty());
        sections.map(|(section, _)| section.split_once(' ').map_or(section.as_str(), |(kind, _)| kind))
    }

    /// How many of its lines hold `text`.
    pub(crate) fn count(&self, text: &str) -> usize {
        let lines = self.0.values().flatten();
        lines.filter(|line| line.contains(text)).count()
    }

    /// The first difference to another run, if there is one.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        for (section, lines) in &self.0 {
            let theirs = other.0.get(section).map_or(&[][..], Vec::as_slice);
            for index in 0..lines.len().max(theirs.len()) {
                let (mine, theirs) = (lines.get(index), theirs.get(index));
                if mine != theirs {
                    let shown = |line: Option<&String>| line.map_or("(nothing)", String::as_str).to_owned();
                    return Some(format!(
                        "{section}, line {index}:\n- {}\n- {}",
                        shown(mine),
                        shown(theirs)
                    ));
                }
            }
        }
        let more = other.0.keys().find(|section| !self.0.contains_key(*section));
        more.map(|section| format!("only the other has {section}"))
    }

    /// Everything stored up to `level`.
    pub(crate) async fn add_rows(&mut self, store: &dyn Store, level: Classification) {
        let may_see = |label: Label| label.can_flow_to(level);
        let mut names: BTreeMap<SessionId, String> = BTreeMap::new();
        let sessions = store.sessions().await.unwrap();
        assert!(sessions.damaged.is_empty());
        for summary in &sessions.sessions {
            let session = &summary.record.session;
            let name = session
                .name
                .as_ref()
                .map_or("unnamed", |name| name.as_str())
                .to_owned();
            names.insert(session.id, name.clone());
            if may_see(session.taint.label()) {
                let row = json!({
                    "taint": session.taint, "clearance": session.clearance, "title": summary.title,
                    "state": format!("{:?}", summary.record.state), "turns": summary.record.turns,
                    "entries": summary.entries, "acknowledged": summary.record.acknowledged,
                    "tools": session.tools, "system": session.system_prompt,
                });
                self.add(format!("session {name}"), [canonical(row, &names)]);
            }
        }
        for (id, name) in &names {
            let entries = store.entries(*id).await.unwrap();
            let mut turns = Vec::new();
            for entry in &entries {
                if !turns.contains(&entry.turn) {
                    turns.push(entry.turn);
                }
            }
            let seen = entries.iter().filter(|entry| may_see(entry.label));
            let lines = seen.map(|entry| canonical(serde_json::to_value(&**entry).unwrap(), &names));
            self.add(format!("entries {name}"), lines);
            for (number, turn) in turns.into_iter().enumerate() {
                for call in store.calls(*id, turn).await.unwrap() {
                    if let tidegate_store::CallState::Finished(result) = &call.state
                        && may_see(result.label)
                    {
                        let row = json!({
                            "turn": number, "attempts": call.attempts, "tool": call.tool, "result": result
                        });
                        self.add(format!("journal {name}"), [canonical(row, &names)]);
                    }
                }
            }
            let sources = store.sources(*id).await.unwrap();
            let seen = sources.iter().filter(|source| may_see(source.label));
            let lines = seen.map(|source| format!("{:?} {} {}", source.id, source.label, source.text));
            self.add(format!("sources {name}"), lines);
        }
        for stored in store.events(EventFilter::default()).await.unwrap() {
            let event = stored.event;
            if may_see(event.label) {
                let section = format!("events {}", names[&event.session]);
                self.add(
                    section,
                    [canonical(serde_json::to_value(&event).unwrap(), &names)],
                );
            }
        }
        for approval in store.approvals(ApprovalFilter::default()).await.unwrap() {
            if may_see(approval.label) {
                let shown: Value = serde_json::from_str(&approval.shown).unwrap();
                let row =
                    json!({ "shown": shown, "state": approval.state.as_str(), "label": approval.label });
                self.add(
                    format!("approvals {}", names[&approval.session]),
                    [canonical(row, &names)],
                );
            }
        }
        let all = FileLabelRange {
            from: String::new(),
            until: "\u{10ffff}".to_owned(),
            not_within: Label::BOTTOM,
            limit: usize::MAX >> 1,
        };
        for (path, known) in store.file_labels(all).await.unwrap() {
            if may_see(known.label) {
                self.add("labels", [format!("{path} {:?} {}", known.hash, known.label)]);
            }
        }
    }

    /// Every file and folder of the workspace up to `level`.
    pub(crate) fn add_files(&mut self, workspace: &Path, level: Classification) {
        let mut todo = vec![workspace.to_owned()];
        while let Some(folder) = todo.pop() {
            let mut entries: Vec<_> = fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            entries.sort();
            for path in entries {
                let relative = path.strip_prefix(workspace).unwrap();
                let of_path = match relative.iter().next().and_then(|first| first.to_str()) {
                    Some("public") => Public,
                    Some("confidential") => Confidential,
                    Some("restricted") => Restricted,
                    _ => Internal,
                };
                if !of_path.can_flow_to(level) {
                    continue;
                }
                let shown = relative.display();
                if path.is_dir() {
                    self.add("files", [format!("{shown}/")]);
                    todo.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    let content = String::from_utf8_lossy(&content).into_owned();
                    self.add("files", [format!("{shown}: {content}")]);
                }
            }
        }
    }
}

static RANDOM_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[a-z]+_[0-9a-f]{32}").unwrap());

/// A row as a line: without times, and random ids numbered in the order in which they occur. Sessions have their names.
fn canonical(mut row: Value, names: &BTreeMap<SessionId, String>) -> String {
    timeless(&mut row);
    let text = row.to_string();
    let mut known: Vec<String> = Vec::new();
    RANDOM_ID
        .replace_all(&text, |found: &Captures<'_>| {
            let id = found[0].to_owned();
            if let Some(name) = id.parse().ok().and_then(|id: SessionId| names.get(&id)) {
                return name.clone();
            }
            let number = known.iter().position(|known| *known == id).unwrap_or_else(|| {
                known.push(id);
                known.len() - 1
            });
            format!("id-{number}")
        })
        .into_owned()
}

/// Takes times away, and places in a sequence: what is above the observer stands in it, too.
fn timeless(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_ms") && name != "sequence" && name != "seq");
            fields.values_mut().for_each(timeless);
        }
        Value::Array(items) => items.iter_mut().for_each(timeless),
        _ => {}
    }
}
