//! What a decision of the gate costs: a tool call without custom rules, with 100, with 100 of which 10 hold a regular
//! expression that looks through 1 KiB of arguments; and what stands around it.
//!
//! The baseline is the same call at a gate without custom rules, in the same run. Each row is measured in batches, the
//! rows taking turns, and the median counts.
#![expect(clippy::unwrap_used, reason = "a benchmark ends by panicking")]

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tidegate_policy::{
    Admission, ArgumentCheck, CallFacts, Caller, Classification, Flow, Gate, Label, ProvenanceLedger,
    Resource, ResourceKind, ResourceRef, Role, RuleSet, SecretValues, SessionFacts, SinkLevel, Taint,
    ToolCallFlow, ToolIntegrity, ToolPolicy,
};

/// Batches measured of each row; the median counts.
const BATCHES: usize = 201;
/// Evaluations a batch.
const BATCH: u32 = 200;

/// One thing measured.
struct Row<'a> {
    name: &'static str,
    /// What it may take at most, where the specification says so.
    limit: Option<Duration>,
    /// Runs in a batch.
    runs: u32,
    work: Box<dyn FnMut() + 'a>,
}

fn main() {
    let arguments = json!({
        "to": "team@example.com",
        "subject": "the figures of this week",
        "body": "All quiet on the western front; nothing to report but 42 boxes of paper. ".repeat(13),
    });
    let call = Call::new(&arguments);
    let none = Gate::default();
    let plain = Gate::default().with_rules(rules(0));
    let with_regexes = Gate::default().with_rules(rules(10));
    assert!(
        call.judge(&plain) == 111 && call.judge(&with_regexes) == 111,
        "every rule is looked at"
    );

    let mut values = SecretValues::default();
    for index in 0..10 {
        let name = format!("SECRET_{index}").parse().unwrap();
        values
            .insert(name, format!("value-of-secret-number-{index}").into())
            .unwrap();
    }
    let scrubber = values.scrubber();
    let result = serde_json::to_string(&json!({"lines": vec![arguments.to_string(); 28]})).unwrap();
    let file = rules_text(10);
    let owner_text = "Please send the report of 12 May to anna@example.com and move the meeting with Ben Carter to \
        Friday at 15:00; do not reply to anyone else. Pay 120.50 EUR to the account in the second invoice, unless it \
        says otherwise. "
        .repeat(9);

    let mut rows = [
        Row {
            name: "a call, no custom rules",
            limit: None,
            runs: BATCH,
            work: Box::new(|| {
                black_box(call.judge(&none));
            }),
        },
        Row {
            name: "a call, 100 rules without regex",
            limit: Some(Duration::from_micros(5)),
            runs: BATCH,
            work: Box::new(|| {
                black_box(call.judge(&plain));
            }),
        },
        Row {
            name: "a call, 100 rules, 10 regexes on 1 KiB",
            limit: Some(Duration::from_micros(20)),
            runs: BATCH,
            work: Box::new(|| {
                black_box(call.judge(&with_regexes));
            }),
        },
        Row {
            name: "licences of 2 KB of the owner's words",
            limit: Some(Duration::from_millis(1)),
            runs: 1,
            work: Box::new(|| {
                let mut ledger = ProvenanceLedger::default();
                ledger.owner_text(&owner_text);
                black_box(ledger);
            }),
        },
        Row {
            name: "reading those 100 rules",
            limit: None,
            runs: 1,
            work: Box::new(|| {
                black_box(RuleSet::parse("bench", &file).unwrap());
            }),
        },
        Row {
            name: "scrubbing 30 KB of 10 secrets",
            limit: None,
            runs: 1,
            work: Box::new(|| {
                black_box(scrubber.text(&result));
            }),
        },
    ];
    print(&mut rows);
}

/// Measures and prints the rows: the first is the baseline.
fn print(rows: &mut [Row<'_>]) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); rows.len()];
    for _ in 0..BATCHES {
        for (row, times) in rows.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..row.runs {
                (row.work)();
            }
            times.push(start.elapsed() / row.runs);
        }
    }
    println!("policy, median of {BATCHES} batches\n");
    println!("{:<42} {:>12} {:>10} {:>12}", "", "median", "ratio", "at most");
    let mut baseline = None;
    for (row, mut times) in rows.iter().zip(times) {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        let first = *baseline.get_or_insert(median);
        let mut line = format!(
            "{:<42} {:>9.2} us {:>10.1}",
            row.name,
            microseconds(median),
            median.as_secs_f64() / first.as_secs_f64()
        );
        if let Some(limit) = row.limit {
            let verdict = if median <= limit { "met" } else { "MISSED" };
            write!(line, " {:>9.0} us  {verdict}", microseconds(limit)).unwrap();
        }
        println!("{line}");
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A hundred rules that all have to be looked at, since none matches; so many of them with a regular expression.
fn rules(regexes: usize) -> RuleSet {
    RuleSet::parse("bench", &rules_text(regexes)).unwrap()
}

fn rules_text(regexes: usize) -> String {
    let mut text = String::new();
    for index in 0..100 {
        let when = if index < regexes {
            format!(
                "{{ field = \"arguments_text\", op = \"matches\", value = '\\b(card|iban|pin){index}\\s*[:=]\\s*\\d{{4,16}}\\b' }}"
            )
        } else {
            match index % 5 {
                0 => format!("{{ field = \"tool\", op = \"equals\", value = \"tool-{index}\" }}"),
                1 => "{ field = \"tool\", op = \"equals\", value = \"send\" }, { field = \"taint\", op = \"gte\", value = \"RESTRICTED\" }".to_owned(),
                2 => format!("{{ field = \"arguments.to\", op = \"in\", value = [\"a{index}@example.com\", \"b@example.com\"] }}"),
                3 => format!("{{ field = \"recipients\", op = \"contains\", value = \"@nowhere-{index}.example\" }}"),
                _ => "{ field = \"sink_level\", op = \"lt\", value = \"PUBLIC\" }".to_owned(),
            }
        };
        writeln!(
            text,
            "[[policy.rules]]\nid = \"r{index}\"\nhook = \"PRE_TOOL_CALL\"\npriority = {}\naction = \"BLOCK\"\nwhen = [{when}]",
            index % 7
        )
        .unwrap();
    }
    text
}

/// A call that sends to one recipient.
struct Call<'a> {
    tool: ToolPolicy,
    resources: Vec<Resource>,
    taint: Taint,
    arguments: &'a Value,
}

impl<'a> Call<'a> {
    fn new(arguments: &'a Value) -> Self {
        Self {
            tool: ToolPolicy {
                name: "send".into(),
                role: Role::User,
                consequential: true,
                source: Label::BOTTOM,
                floor: Classification::Public,
                control_arguments: vec!["to".into()],
                approval: false,
                integrity: ToolIntegrity::default(),
            },
            resources: vec![Resource::Sink {
                what: ResourceRef {
                    kind: ResourceKind::Recipient,
                    name: "team@example.com".into(),
                },
                level: SinkLevel::Level(Classification::Internal),
            }],
            taint: Taint::new(Label::untrusted(Classification::Internal)),
            arguments,
        }
    }

    /// Judges it; the number of rules looked at.
    fn judge(&self, gate: &Gate) -> usize {
        let flow = ToolCallFlow {
            tool: &self.tool,
            admission: &Admission::Offered,
            role: Role::User,
            arguments: &ArgumentCheck::Valid,
            produced_by: self.taint.label(),
            resources: &self.resources,
            granted: false,
            released: false,
            integrity: None,
            facts: CallFacts {
                arguments: Some(self.arguments),
                parallel: Some(1),
            },
        };
        let session = SessionFacts {
            taint: &self.taint,
            clearance: Classification::Restricted,
            bumper: None,
            caller: Caller {
                user: Some("local"),
                role: Some(Role::Admin),
                attended: true,
                ..Caller::default()
            },
        };
        let evaluation = gate.judge(Flow::ToolCall(&flow), session);
        assert!(evaluation.is_allowed());
        evaluation.rules.len()
    }
}
