//! What one pass does: which results become stubs, which units are summed up.

use super::stub::can_be_stubbed;
use super::units::{Kind, Unit};
use super::{CompactionCause, CompactionSettings};
use std::ops::Range;
use tidegate_message::EntrySeq;

/// How many tokens a stub has, about.
const STUB: u64 = 60;
/// A run of one message is worth a summary from so many tokens on.
const WORTH_A_SUMMARY: u64 = 500;

/// How much is protected. Each level protects less than the one before; what people said last is protected on all.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Whether the first messages stay however large they are.
    head_stays: bool,
    /// Whether they stay at all.
    head: bool,
    /// The last messages are divided by this.
    tail_divisor: usize,
    /// The most the last messages may have, in hundredths of the threshold.
    tail_percent: u64,
}

const LEVELS: [Level; 3] = [
    Level {
        head_stays: true,
        head: true,
        tail_divisor: 1,
        tail_percent: 40,
    },
    Level {
        head_stays: false,
        head: true,
        tail_divisor: 2,
        tail_percent: 20,
    },
    Level {
        head_stays: false,
        head: false,
        tail_divisor: 5,
        tail_percent: 10,
    },
];

/// What a pass goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim<'a> {
    pub(super) cause: CompactionCause,
    pub(super) settings: &'a CompactionSettings,
    /// Where the current turn begins.
    pub(super) current: Option<EntrySeq>,
    /// Estimated tokens of the whole request, in the measure of the units.
    pub(super) tokens: u64,
    /// The threshold in that measure.
    pub(super) threshold: u64,
}

/// What a pass does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Units whose results become stubs, in order; none of them in `run`.
    pub(super) stubs: Vec<usize>,
    /// Units that are summed up.
    pub(super) run: Option<Range<usize>>,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.stubs.is_empty() && self.run.is_none()
    }
}

/// The plan of the pass of this level, from 0; `None` after the last.
pub(super) fn plan(units: &[Unit<'_>], level: usize, aim: Aim<'_>) -> Option<Plan> {
    let level = LEVELS.get(level)?;
    let tail = tail_start(units, level, aim);
    let head = head_end(units, level, aim).min(tail);
    let stubs: Vec<usize> = (head..tail)
        .filter(|unit| {
            units
                .get(*unit)
                .is_some_and(|unit| can_be_stubbed(unit.entries, aim.settings.stub_over))
        })
        .collect();
    let saved = stubs
        .iter()
        .filter_map(|unit| units.get(*unit))
        .map(|unit| unit.tokens.saturating_sub(STUB))
        .fold(0, u64::saturating_add);
    // Some room besides, or the next turn compacts again and loses the cache again.
    let goal = aim.threshold / 5 * 4;
    let stubs_are_enough = aim.cause != CompactionCause::Manual && aim.tokens.saturating_sub(saved) < goal;
    let run = if stubs_are_enough {
        None
    } else {
        longest_run(units, head, tail, aim)
    };
    let stubs = stubs
        .into_iter()
        .filter(|unit| !run.as_ref().is_some_and(|run| run.contains(unit)))
        .collect();
    Some(Plan { stubs, run })
}

/// The first unit of the end that stays: the last unit in any case, and before it as many as the level allows.
fn tail_start(units: &[Unit<'_>], level: &Level, aim: Aim<'_>) -> usize {
    let most_messages = aim.settings.protect_last / level.tail_divisor;
    let most_tokens = aim.threshold.saturating_mul(level.tail_percent) / 100;
    let (mut messages, mut tokens) = (0_usize, 0_u64);
    let mut start = units.len();
    for unit in units.iter().rev() {
        let is_last = start == units.len();
        if !is_last && (messages >= most_messages || tokens.saturating_add(unit.tokens) > most_tokens) {
            break;
        }
        messages = messages.saturating_add(unit.entries.len());
        tokens = tokens.saturating_add(unit.tokens);
        start = start.saturating_sub(1);
    }
    start
}

/// One past the last unit of the beginning that stays. A summary never is in it: it would not be brought up to date.
fn head_end(units: &[Unit<'_>], level: &Level, aim: Aim<'_>) -> usize {
    if !level.head {
        return 0;
    }
    let (mut messages, mut tokens, mut end) = (0_usize, 0_u64, 0_usize);
    for unit in units {
        if messages >= aim.settings.protect_first || unit.kind == Kind::Summary {
            break;
        }
        messages = messages.saturating_add(unit.entries.len());
        tokens = tokens.saturating_add(unit.tokens);
        end = end.saturating_add(1);
    }
    if !level.head_stays && tokens > aim.threshold / 4 {
        0
    } else {
        end
    }
}

/// The run of units between `head` and `tail` with the most tokens that does not reach into the current turn and does not
/// have the last message of a person in it.
fn longest_run(units: &[Unit<'_>], head: usize, tail: usize, aim: Aim<'_>) -> Option<Range<usize>> {
    let current = aim.current.and_then(|seq| {
        units
            .iter()
            .position(|unit| unit.entries.iter().any(|entry| entry.seq == seq))
    });
    let end = tail.min(current.unwrap_or(tail));
    let person = units.iter().rposition(|unit| unit.kind == Kind::Person);
    let runs = match person.filter(|person| (head..end).contains(person)) {
        Some(person) => [head..person, person.saturating_add(1)..end],
        None => [head..end, end..end],
    };
    runs.into_iter()
        .filter_map(|run| {
            let members = units.get(run.clone())?;
            let messages: usize = members.iter().map(|unit| unit.entries.len()).sum();
            let tokens = members
                .iter()
                .map(|unit| unit.tokens)
                .fold(0, u64::saturating_add);
            let is_worth_it = members.iter().any(|unit| unit.kind != Kind::Summary)
                && (messages > 1 || tokens >= WORTH_A_SUMMARY);
            is_worth_it.then_some((tokens, run))
        })
        // Of equal ones the later: what is older was summed up before.
        .max_by_key(|(tokens, _)| *tokens)
        .map(|(_, run)| run)
}
