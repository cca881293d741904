//! Untrusted data changes no grant's bytes or sink: what runs under a grant is what the owner was shown, whatever
//! happens to the data between the question and the run.

use crate::inputs::Inputs;
use crate::mutant::{Forgetful, Mutant};
use crate::tools::{TestTool, sink};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_policy::{ActionClass, CallId, Classification, Integrity, Label};
use tidegate_runtime::config::{Configuration, Unattended};
use tidegate_runtime::{
    ApprovalAnswer, ApprovalRequest, Approver, Runtime, SessionRequest, TurnOptions, Which, decide_approval,
};
use tidegate_store::{ApprovalState, MemoryStore, Store};
use tidegate_testing::{HashingModel, MeddledStore};
use tidegate_tools::{BoxFuture, ToolOutput};

use Classification::{Public, Restricted};

/// How many pairs of runs are tried, and how many a mutant has to survive to be called missed.
const PAIRS: u64 = 60;
const TRIES: u64 = 200;

/// Whom an alias means at the moment: untrusted data, which changes now and then.
struct Aliases {
    inputs: Inputs,
    changes: Mutex<u64>,
}

impl Aliases {
    fn address(&self, alias: &str) -> String {
        let changes = *self.changes.lock().unwrap();
        let mut chance = self
            .inputs
            .chance(Restricted, &format!("alias {alias} {changes}"));
        let name = ["ann", "mallory", "eve"][chance.usize(..3)];
        format!("{name}@example.com")
    }

    fn change(&self) {
        *self.changes.lock().unwrap() += 1;
    }
}

/// The owner grants everything. While it is asked, time passes, and the data changes in one run of three.
struct Granting {
    aliases: Arc<Aliases>,
    granted: Mutex<Vec<ApprovalRequest>>,
}

impl Granting {
    fn see(&self, request: &ApprovalRequest) {
        self.granted.lock().unwrap().push(request.clone());
        let name = format!("change {}", request.call);
        if self.aliases.inputs.chance(Restricted, &name).u8(..3) == 0 {
            self.aliases.change();
        }
    }
}

impl Approver for Granting {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        let later = self
            .aliases
            .inputs
            .chance(Public, &format!("later {}", request.call))
            .u8(..3)
            == 0;
        let answer = if later {
            ApprovalAnswer::Later
        } else {
            self.see(request);
            ApprovalAnswer::Grant
        };
        Box::pin(std::future::ready(answer))
    }
}

/// What went where in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    address: String,
    text: String,
    /// Whether the context had met nothing untrusted.
    is_free: bool,
}

/// What was granted, as it was shown, with what then happened.
type Observed = Vec<(Effect, Vec<Effect>)>;

fn observe(inputs: Inputs, mutant: Option<Mutant>) -> Observed {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(inputs, mutant))
}

async fn run(inputs: Inputs, mutant: Option<Mutant>) -> Observed {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let used: Arc<dyn Store> = match mutant {
        Some(mutant) => Arc::new(MeddledStore::new(Arc::clone(&store), Forgetful(mutant))),
        None => Arc::clone(&store),
    };
    let aliases = Arc::new(Aliases {
        inputs,
        changes: Mutex::new(0),
    });
    let effects: Arc<Mutex<BTreeMap<CallId, Vec<Effect>>>> = Arc::default();
    let mut configuration = Configuration::default();
    configuration.policy.unattended = Unattended::Wait;
    let model = HashingModel::new("model", inputs.seed)
        .values(["team", "boss"])
        .without(["current_time"])
        .rounds(8);
    let mut builder = Runtime::builder()
        .store(Arc::clone(&used))
        .configuration(configuration)
        .without_file_tools();
    for tool in tools(&aliases, &effects) {
        let tool = tool.shared();
        builder = builder.tool(match mutant {
            Some(mutant) => mutant.tool(tool),
            None => tool,
        });
    }
    let runtime = builder
        .provider(Arc::new(model), Restricted, 8)
        .tier(Tier::Lite, vec![ModelId::new(ProviderId::new("model"), "m")])
        .build()
        .unwrap();
    let owner = Granting {
        aliases,
        granted: Mutex::default(),
    };
    let mut session = runtime.session(SessionRequest::new(Which::New)).await.unwrap();
    let options = || TurnOptions {
        approver: Some(&owner),
        ..TurnOptions::default()
    };
    let mut report = session.run("Look at the feed.", options()).await.unwrap();
    while !report.approvals.is_empty() {
        for id in std::mem::take(&mut report.approvals) {
            let record = used.approval(id).await.unwrap().unwrap();
            owner.see(&ApprovalRequest::read(&record).unwrap());
            decide_approval(&*used, id, true).await.unwrap();
        }
        report = session.resume(options()).await.unwrap();
    }
    let mut effects = std::mem::take(&mut *effects.lock().unwrap());
    let granted = owner.granted.lock().unwrap().clone();
    let mut observed = Observed::new();
    for request in granted.iter() {
        let shown = Effect {
            address: request.sinks[0].name.clone(),
            text: request.arguments["text"].as_str().unwrap().to_owned(),
            is_free: false,
        };
        // A call whose data changed while it waited is asked about anew: what it then does is under that grant.
        let state = store.approval(request.id).await.unwrap().unwrap().state;
        let happened = match state {
            ApprovalState::Used => effects.remove(&request.call).unwrap_or_default(),
            _ => Vec::new(),
        };
        observed.push((shown, happened));
    }
    // Everything else that happened in a context that had met untrusted data.
    let nothing = Effect {
        address: "nobody was asked".to_owned(),
        text: String::new(),
        is_free: false,
    };
    let unasked = effects
        .into_values()
        .filter(|happened| happened.iter().any(|effect| !effect.is_free));
    observed.extend(unasked.map(|happened| (nothing.clone(), happened)));
    observed
}

fn tools(aliases: &Arc<Aliases>, effects: &Arc<Mutex<BTreeMap<CallId, Vec<Effect>>>>) -> Vec<TestTool> {
    let of_feed = Arc::clone(aliases);
    let feed = TestTool::new(
        "feed",
        &["about"],
        Label::untrusted(Public),
        move |arguments, _| {
            of_feed.change();
            let text = of_feed.inputs.text(Restricted, &format!("feed {arguments}"));
            Ok(ToolOutput::text(text))
        },
    );
    let (of_sinks, of_work, effects) = (Arc::clone(aliases), Arc::clone(aliases), Arc::clone(effects));
    let address =
        |aliases: &Aliases, arguments: &Value| aliases.address(arguments["alias"].as_str().unwrap());
    let of_exact = Arc::clone(aliases);
    let send = TestTool::new(
        "send_to_alias",
        &["alias", "text"],
        Label::BOTTOM,
        move |arguments, context| {
            let effect = Effect {
                address: address(&of_work, arguments),
                text: arguments["text"].as_str().unwrap().to_owned(),
                is_free: context.label.integrity == Integrity::Trusted,
            };
            let mut effects = effects.lock().unwrap();
            effects.entry(context.call.clone()).or_default().push(effect);
            Ok(ToolOutput::text("sent"))
        },
    );
    vec![
        feed,
        send.consequential(ActionClass::Egress, &["text"], &["alias"])
            .touches(move |arguments| vec![sink(&address(&of_sinks, arguments), Public)])
            .resolves(move |arguments| vec![address(&of_exact, arguments)]),
    ]
}

/// A grant whose effect is not what was shown, or happened twice; or a shown thing that leads elsewhere in the other run.
fn difference(one: &Observed, other: &Observed) -> Option<String> {
    one.iter()
        .chain(other)
        .find_map(|(shown, happened)| match happened.as_slice() {
            [] => None,
            [effect] if effect == shown => None,
            _ => Some(format!("shown {shown:?}, happened {happened:?}")),
        })
}

fn pair(seed: u64, mutant: Option<Mutant>) -> [Observed; 2] {
    [1, 2].map(|variant| {
        let inputs = Inputs {
            seed,
            observer: Public,
            variant,
        };
        observe(inputs, mutant)
    })
}

#[test]
fn what_was_granted_happens_as_it_was_shown_or_not_at_all() {
    let (mut happened, mut dropped) = (0, 0);
    for seed in 0..PAIRS {
        let [one, other] = pair(seed, None);
        assert_eq!(difference(&one, &other), None, "seed {seed}");
        for (_, effects) in one.iter().chain(&other) {
            if effects.is_empty() {
                dropped += 1
            } else {
                happened += 1
            }
        }
    }
    // Else it shows nothing.
    assert!(
        happened > 20 && dropped > 5,
        "{happened} granted calls ran, {dropped} did not"
    );
}

#[test]
fn each_missing_protection_of_grants_is_noticed() {
    let mut missed = Vec::new();
    for mutant in Mutant::OF_ROBUSTNESS {
        let found = (0..TRIES).find_map(|seed| {
            let [one, other] = pair(seed, Some(mutant));
            difference(&one, &other).map(|found| (seed, found))
        });
        match found {
            Some((seed, found)) => println!("{mutant:?}: seed {seed}: {found}"),
            None => missed.push(mutant),
        }
    }
    assert_eq!(missed, [], "no run showed that these are missing");
}
