//! What erasing leaves, in the tables and in the bytes of the file.

use crate::common::*;
use std::path::{Path, PathBuf};
use tidegate_message::{
    ApprovalDecision, BreakCause, BrokenPart, CompactionTrigger, EventKind, FinishReason, Limit,
    MemoryTrouble, QuestionEnd, RecalledItem, ResultStatus, SummaryBy, Tier, TurnStatus, Unavailable, Usage,
    Warning,
};
use tidegate_policy::{
    ApprovalId, CallId, Classification, Decision, Evaluation, FlowKind, Label, Origin, RuleId, RuleOutcome,
    RuleTrace, SourceId, Taint, ToolName,
};
use tidegate_store::*;

/// So many that SQLite moves rows from page to page and leaves some of their bytes behind.
const ROWS: u64 = 1500;

/// What must not be found anywhere afterwards.
const MARK: &str = "XYZZY";

fn marked(text: &str) -> String {
    format!("{MARK} {text}")
}

fn evaluation() -> Evaluation {
    Evaluation {
        flow: FlowKind::ToolCall,
        decision: Decision::Block,
        rule: Some(RuleId::new("no-write-down")),
        rules: vec![RuleTrace {
            rule: RuleId::new("no-write-down"),
            outcome: RuleOutcome::Refused,
            why: marked("may not go there").into(),
        }],
        taint_before: Label::BOTTOM,
        taint_after: SECRET,
        label: SECRET,
        redactions: Vec::new(),
        explanation: Some(marked("wants to send")),
        told: Some(marked("is not allowed")),
    }
}

/// An event of every kind, with content wherever a text can hold some.
fn every_kind() -> Vec<EventKind> {
    let (call, tool) = (CallId::new("call_2_0"), ToolName::new("read_file"));
    let origin = Origin::Tool {
        tool: tool.clone(),
        resources: vec![marked("a.md"), marked("b.md")],
        source: Some(SourceId::new(marked("full"))),
    };
    let kinds = vec![
        EventKind::SessionCreated {
            name: Some(name(MARK)),
            clearance: Classification::Confidential,
        },
        EventKind::TurnStarted,
        EventKind::TurnResumed {
            unknown_calls: vec![call.clone()],
        },
        EventKind::ModelCalled {
            model: model(),
            tier: Some(Tier::Lite),
            round: 1,
            entries: 3,
            tools: Some(4),
            targets: vec![Tier::Flash],
            must_answer: true,
        },
        EventKind::ModelReplied {
            model: model(),
            usage: Usage {
                uncached: 1,
                cache_read: 2,
                cache_write: 3,
                output: 4,
            },
            finish: FinishReason::ToolCalls,
            calls: 1,
            duration_ms: 12,
        },
        EventKind::ModelFailed {
            model: model(),
            class: "overloaded".into(),
            message: marked("said the model"),
        },
        EventKind::ModelRetracted {
            model: model(),
            characters: 12,
        },
        EventKind::ModelRetried {
            model: model(),
            class: "overloaded".into(),
            attempt: 2,
            wait_ms: 2_000,
        },
        EventKind::ModelDelayed {
            model: model(),
            wait_ms: 30_000,
        },
        EventKind::ModelUnavailable {
            model: model(),
            class: Unavailable::AskedToWait,
            wait_ms: 3_600_000,
        },
        EventKind::ModelFallback {
            from: model(),
            to: model(),
        },
        EventKind::ModelSkipped {
            model: model(),
            evaluation: evaluation(),
        },
        EventKind::FlowJudged {
            call: Some(call.clone()),
            tool: Some(tool.clone()),
            evaluation: evaluation(),
        },
        EventKind::ApprovalAsked {
            approval: ApprovalId::from_bits(7),
            call: call.clone(),
            tool: tool.clone(),
            rule: RuleId::new("tool-approval"),
        },
        EventKind::ApprovalDecided {
            approval: ApprovalId::from_bits(7),
            call: call.clone(),
            tool: tool.clone(),
            rule: RuleId::new("bumper"),
            decision: ApprovalDecision::Granted,
        },
        EventKind::ApprovalUsed {
            approval: ApprovalId::from_bits(7),
            call: call.clone(),
            tool: tool.clone(),
            rule: RuleId::new("bumper"),
        },
        EventKind::QuestionAsked {
            approval: ApprovalId::from_bits(8),
            call: call.clone(),
            tool: tool.clone(),
        },
        EventKind::QuestionSettled {
            approval: ApprovalId::from_bits(8),
            call: call.clone(),
            end: QuestionEnd::Answered,
        },
        EventKind::ToolStarted {
            call: call.clone(),
            tool: ToolName::new(marked("invented")),
        },
        EventKind::ToolFinished {
            call,
            tool,
            status: ResultStatus::Ok,
            duration_ms: 3,
            source: Some(SourceId::new(marked("full"))),
        },
        EventKind::TaintRaised {
            from: Label::BOTTOM,
            to: SECRET,
            origin,
        },
        EventKind::TaintRaised {
            from: SECRET,
            to: SECRET,
            origin: Origin::Session {
                session: session(7).to_string(),
            },
        },
        EventKind::TaintRaised {
            from: SECRET,
            to: SECRET,
            origin: Origin::Session {
                session: marked("of"),
            },
        },
        EventKind::TierSwitched {
            from: Tier::Lite,
            to: Tier::Flash,
            reason: Some(marked("hard")),
        },
        EventKind::TurnLimited {
            limit: Limit::Calls,
            allowed: 25,
        },
        EventKind::CompactionStarted {
            cause: CompactionTrigger::Overflow,
            tokens: 130_000,
            window: 128_000,
        },
        EventKind::CompactionFinished {
            cause: CompactionTrigger::Threshold,
            summary: Some(SummaryBy::Plain),
            reason: Some(marked("no model")),
            model: Some(model()),
            usage: Usage::default(),
            messages_before: 220,
            messages_after: 220,
            tokens_before: 288_000,
            tokens_after: 183_000,
            passes: 2,
            stubs: 17,
        },
        EventKind::CompactionFailed {
            cause: CompactionTrigger::Manual,
            error: marked("too large"),
            wait_ms: 60_000,
            model: Some(model()),
            usage: Usage::default(),
        },
        EventKind::PrefixBreak {
            cause: BreakCause::Compaction,
            part: BrokenPart::Message,
            index: 3,
            tokens: 90_000,
        },
        EventKind::MemoryRecalled {
            memories: vec![RecalledItem {
                memory: marked("886313e1"),
                label: Label::BOTTOM,
            }],
            left_out: 2,
            words_alone: Some(MemoryTrouble::NotCleared),
        },
        EventKind::MemoryUnavailable {
            class: MemoryTrouble::TimedOut,
            message: marked("too slow"),
        },
        EventKind::MemoryReleased {
            memory: marked("ferry").as_str().into(),
            from: Label::trusted(Classification::Confidential),
            to: Label::BOTTOM,
        },
        EventKind::TurnFinished {
            status: TurnStatus::Error,
            warning: Some(Warning::RoundsExhausted),
            error: Some(marked("went wrong")),
            usage: Usage::default(),
        },
    ];
    // A new kind has to be looked at here: which of its texts are content?
    for name in EventKind::NAMES {
        assert!(kinds.iter().any(|kind| kind.name() == name), "{name}");
    }
    kinds
}

/// A session full of marks, written in many small commits, so that pages are split and balanced.
fn write_marked(store: &SqliteStore, n: u128) {
    let mut taint = Taint::default();
    let resources = vec![marked("a.md")];
    taint.raise(
        SECRET,
        Origin::Tool {
            tool: ToolName::new("read_file"),
            resources,
            source: None,
        },
        1,
    );
    let new = NewSession {
        taint,
        workspace: PathBuf::from(format!("/home/{MARK}")),
        system_prompt: marked("You are").repeat(300).into(),
        tools: vec![tool("read_file"), tool(MARK)],
        ..new_session(n, Some(&format!("{MARK}-{n}")))
    };
    commit(store, vec![Write::CreateSession(Box::new(new))]).unwrap();
}

fn write_row(store: &SqliteStore, n: u128, row: u64) {
    let id = session(n);
    let text = marked(&"tell ".repeat((row * 37 % 400) as usize));
    let mut finished = result(row, &text);
    finished.provider_id = marked("p");
    let mut writes = vec![
        Write::Append(id, vec![said(row, &text)]),
        Write::Checkpoint(
            id,
            Checkpoint {
                turn: turn(1),
                version: 1,
                data: text.clone().into_bytes(),
            },
        ),
        Write::CallFinished {
            session: id,
            turn: turn(1),
            result: Box::new(finished),
        },
        Write::Source(id, full_text(&format!("{MARK}{row}"), &text.repeat(5))),
    ];
    let kinds = every_kind();
    writes.push(Write::Events(
        id,
        vec![happened(kinds[row as usize % kinds.len()].clone())],
    ));
    commit(store, writes).unwrap();
}

/// How often the mark is in the files of the store, as it is or hidden in a name.
fn marks(path: &Path) -> usize {
    let folder = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let files = folder.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files
        .map(|bytes| {
            // The search index holds words in small letters.
            let text = String::from_utf8_lossy(&bytes).to_uppercase();
            text.matches(MARK).count()
        })
        .sum()
}

#[test]
fn nothing_that_was_erased_is_found_in_the_bytes_of_the_file() {
    let (_folder, path) = place();
    let store = open(&path);
    // Interleaved with a session that stays, so that they share pages.
    for n in [1, 2] {
        write_marked(&store, n);
    }
    commit(&store, vec![create(3)]).unwrap();
    for row in 1..=ROWS {
        write_row(&store, 1, row);
        commit(
            &store,
            vec![Write::Append(
                session(3),
                vec![said(row, &"stays ".repeat(row as usize % 50))],
            )],
        )
        .unwrap();
        if row % 3 == 0 {
            write_row(&store, 2, row / 3);
        }
    }
    assert!(marks(&path) > 1000);
    for n in [1, 2, 3] {
        let found = run(store.search(session(n), "xyzzy tell")).unwrap();
        assert_eq!(found.is_empty(), n == 3, "session {n}");
    }
    let note = NewNote {
        label: Label::BOTTOM,
        body: marked("note"),
    };
    commit(&store, vec![Write::LeaveNote(session(1), note)]).unwrap();
    for n in [1, 2] {
        commit(&store, vec![Write::EraseSession(session(n))]).unwrap();
    }
    assert_eq!(marks(&path), 0);
    let stays = run(store.entries(session(3))).unwrap();
    assert_eq!(stays.len() as u64, ROWS);
    assert!(!run(store.search(session(3), "stays")).unwrap().is_empty());
    run(store.close());
    assert_eq!(marks(&path), 0);
    let intact: String = sqlite(&path)
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(intact, "ok");
}

#[test]
fn a_tombstone_keeps_label_and_counts() {
    let (_folder, path) = place();
    let store = open(&path);
    write_marked(&store, 1);
    for row in 1..=5 {
        write_row(&store, 1, row);
    }
    let before = run(store.summary(session(1))).unwrap().unwrap();
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    let after = run(store.summary(session(1))).unwrap().unwrap();
    let expected = SessionSummary {
        record: SessionRecord {
            session: NewSession {
                name: None,
                taint: Taint::new(SECRET),
                workspace: PathBuf::new(),
                system_prompt: "".into(),
                tools: vec![],
                ..before.record.session
            },
            state: SessionState::Erased,
            changed_ms: after.record.changed_ms,
            ..before.record
        },
        entries: 0,
        usage: before.usage,
        title: String::new(),
    };
    assert_eq!(after, expected);
    assert_eq!(run(store.sessions()).unwrap().sessions, [after]);
    run(async {
        assert_eq!(store.session_named(&name("XYZZY-1")).await.unwrap(), None);
        assert_eq!(store.entries(session(1)).await.unwrap(), vec![]);
        assert_eq!(store.checkpoint(session(1)).await.unwrap(), None);
        assert_eq!(store.calls(session(1), turn(1)).await.unwrap(), vec![]);
        assert_eq!(store.sources(session(1)).await.unwrap(), vec![]);
    });
    // The name is free again; the id is not.
    commit(
        &store,
        vec![Write::CreateSession(Box::new(new_session(2, Some("XYZZY-1"))))],
    )
    .unwrap();
    assert!(matches!(
        commit(&store, vec![create(1)]),
        Err(StoreError::SessionExists { .. })
    ));
}

#[test]
fn events_of_an_erased_session_keep_their_shape() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(1), create(7)]).unwrap();
    let events = || every_kind().into_iter().map(happened).collect::<Vec<_>>();
    commit(
        &store,
        vec![
            Write::Events(session(1), events()),
            Write::Events(session(7), events()),
        ],
    )
    .unwrap();
    let read = || run(store.events(EventFilter::default())).unwrap();
    let before = read();
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    let after = read();
    assert_eq!(after.len(), before.len(), "each can still be read");

    let mut shapes = Vec::new();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.position, after.position);
        let (old, new) = (&before.event, &after.event);
        assert_eq!(
            (
                old.session,
                old.sequence,
                old.at_ms,
                old.turn,
                old.label,
                old.kind.name()
            ),
            (
                new.session,
                new.sequence,
                new.at_ms,
                new.turn,
                new.label,
                new.kind.name()
            ),
        );
        if old.session == session(7) {
            assert_eq!(old, new, "another session's events are as they were");
        } else {
            shapes.push(serde_json::to_string(&new.kind).unwrap());
        }
    }
    // Hashes differ from file to file; their first occurrence numbers them here.
    let mut seen: Vec<String> = Vec::new();
    let shapes = numbered(&shapes.join("\n"), &mut seen);
    insta::assert_snapshot!("events_of_an_erased_session", shapes);
    assert!(!shapes.contains(MARK));
}

/// Replaces `hash:` or `hash-` and 32 digits by a number for each different one.
fn numbered(text: &str, seen: &mut Vec<String>) -> String {
    let mut parts = text.split("hash").peekable();
    let mut out = parts.next().unwrap().to_string();
    for part in parts {
        let (sign, rest) = part.split_at(1);
        let (digits, rest) = rest.split_at(32);
        assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digits}");
        let number = seen.iter().position(|known| known == digits).unwrap_or_else(|| {
            seen.push(digits.into());
            seen.len() - 1
        });
        out.push_str(&format!("hash{sign}#{number}{rest}"));
    }
    out
}

#[test]
fn the_key_of_the_hashes_differs_from_file_to_file() {
    let hash = || {
        let (_folder, path) = place();
        let store = open(&path);
        let reason = EventKind::TierSwitched {
            from: Tier::Lite,
            to: Tier::Flash,
            reason: Some("hard".into()),
        };
        let writes = vec![
            create(1),
            Write::Events(session(1), vec![happened(reason)]),
            Write::EraseSession(session(1)),
        ];
        commit(&store, writes).unwrap();
        match run(store.events(EventFilter::default()))
            .unwrap()
            .remove(0)
            .event
            .kind
        {
            EventKind::TierSwitched {
                reason: Some(reason), ..
            } => reason,
            other => panic!("{other:?}"),
        }
    };
    let (one, other) = (hash(), hash());
    assert!(one.starts_with("hash:") && other.starts_with("hash:"));
    assert_ne!(one, other);
}

#[test]
fn events_that_cannot_be_read_are_hashed_too() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(
        &store,
        vec![create(1), Write::Events(session(1), vec![tool_started("a"); 3])],
    )
    .unwrap();
    let newer =
        format!(r#"{{"kind":"moon.rose","phase":["{MARK}",{{"deep":"{MARK}"}}],"model":"local:small"}}"#);
    for (position, body) in [(1, newer), (2, format!("{{{MARK}")), (3, format!("\"{MARK}\""))] {
        sqlite(&path)
            .execute(
                "UPDATE events SET body = ?2 WHERE position = ?1",
                (position, body),
            )
            .unwrap();
    }
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    assert_eq!(marks(&path), 0);
    let body = |position: i64| -> String {
        let sql = "SELECT body FROM events WHERE position = ?1";
        sqlite(&path)
            .query_row(sql, [position], |row| row.get(0))
            .unwrap()
    };
    assert!(
        body(1).contains(r#""kind":"moon.rose""#)
            && body(1).contains(r#""model":"local:small""#)
            && body(1).contains("hash:"),
        "{}",
        body(1)
    );
    assert_eq!(body(2), "null");
    assert!(body(3).starts_with("\"hash:"));
}

#[test]
fn nothing_is_added_to_an_erased_session_and_erasing_again_is_fine() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(1), Write::EraseSession(session(1))]).unwrap();
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    let writes = [
        Write::PatchSession(
            session(1),
            SessionPatch {
                state: Some(SessionState::Idle),
                ..SessionPatch::default()
            },
        ),
        Write::Append(session(1), vec![said(1, "hi")]),
        Write::Checkpoint(
            session(1),
            Checkpoint {
                turn: turn(1),
                version: 1,
                data: vec![],
            },
        ),
        Write::CallStarted {
            session: session(1),
            turn: turn(1),
            call: "c".into(),
            tool: "t".into(),
        },
        Write::CallFinished {
            session: session(1),
            turn: turn(1),
            result: Box::new(result(1, "r")),
        },
        Write::Source(session(1), full_text("s", "t")),
        Write::Events(session(1), vec![tool_started("c")]),
    ];
    for write in writes {
        let error = commit(&store, vec![write.clone()]).unwrap_err();
        assert!(matches!(error, StoreError::Erased { .. }), "{write:?}: {error}");
    }
}

#[test]
fn a_commit_that_fails_erases_nothing() {
    let (_folder, path) = place();
    let store = open(&path);
    write_marked(&store, 1);
    write_row(&store, 1, 1);
    let before = run(store.summary(session(1))).unwrap();
    commit(&store, vec![Write::EraseSession(session(1)), create(1)]).unwrap_err();
    assert_eq!(run(store.summary(session(1))).unwrap(), before);
    assert_eq!(run(store.entries(session(1))).unwrap().len(), 1);
}

#[test]
fn what_a_reader_kept_from_being_overwritten_goes_when_the_store_is_opened_again() {
    let (_folder, path) = place();
    let store = open(&path);
    write_marked(&store, 1);
    write_row(&store, 1, 1);
    let reader = sqlite(&path);
    reader.execute_batch("BEGIN; SELECT * FROM sessions").unwrap();
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    assert_eq!(
        run(store.entries(session(1))).unwrap(),
        vec![],
        "it is erased for everybody who asks"
    );
    assert_ne!(marks(&path), 0, "the reader's view has to stay");
    run(store.close());
    drop(reader);
    run(open(&path).close());
    assert_eq!(marks(&path), 0);
}

#[test]
fn a_damaged_session_can_be_erased() {
    for sql in [
        "UPDATE sessions SET state = 'busy', turns = -1, usage = 'XYZZY', entries = -3, events = -1, name = \
         'XYZZY !'",
        "DELETE FROM setups",
        "UPDATE entries SET body = 'XYZZY {'",
        "UPDATE meta SET value = 'XYZZY' WHERE name = 'hash_key'",
        "DELETE FROM meta WHERE name = 'hash_key'",
    ] {
        let (_folder, path) = place();
        let store = open(&path);
        write_marked(&store, 1);
        write_row(&store, 1, 1);
        run(store.close());
        sqlite(&path).execute_batch(sql).unwrap();
        let store = open(&path);
        commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
        let list = run(store.sessions()).unwrap();
        assert_eq!(
            (list.sessions[0].record.state, list.damaged.len()),
            (SessionState::Erased, 0),
            "{sql}"
        );
        assert_eq!(marks(&path), 0, "{sql}");
    }
}

#[test]
fn a_store_in_memory_hashes_what_its_events_could_tell_too() {
    let store = MemoryStore::new();
    let made_up = happened(EventKind::ToolStarted {
        call: CallId::new("call_2_0"),
        tool: ToolName::new("made up by the model"),
    });
    let writes = vec![
        Write::CreateSession(Box::new(new_session(1, Some("secret")))),
        Write::Events(session(1), vec![tool_started("call_2_0"), made_up]),
        Write::EraseSession(session(1)),
    ];
    commit(&store, writes).unwrap();
    let stored = run(store.events(EventFilter::default())).unwrap();
    let tools: Vec<&str> = stored
        .iter()
        .map(|stored| match &stored.event.kind {
            EventKind::ToolStarted { tool, .. } => tool.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tools[0], "read_file");
    assert!(tools[1].starts_with("hash:"), "{tools:?}");
}
