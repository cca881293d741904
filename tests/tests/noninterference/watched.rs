//! A provider under watch: what it was sent, and when the turn is cancelled.

use std::sync::{Arc, Mutex};
use tidegate_message::ProviderId;
use tidegate_policy::{Classification, Label};
use tidegate_providers::{ModelRequest, Provider, ReplyStream};
use tidegate_runtime::CancelToken;
use tidegate_testing::HashingModel;

/// When the turn that runs is cancelled: in its how-manieth model call, of those above the observer's level and of
/// those up to it.
#[derive(Default)]
pub(crate) struct CancelPlan {
    pub(crate) token: CancelToken,
    pub(crate) above: Option<usize>,
    pub(crate) below: Option<usize>,
}

impl CancelPlan {
    fn step(&mut self, is_above: bool) {
        let count = if is_above {
            &mut self.above
        } else {
            &mut self.below
        };
        match count {
            Some(0) => self.token.cancel(),
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

/// The model of a provider that has a level.
pub(crate) struct Watched {
    pub(crate) model: HashingModel,
    /// Up to which level data may be sent there.
    pub(crate) level: Classification,
    pub(crate) observer: Classification,
    pub(crate) plan: Arc<Mutex<CancelPlan>>,
    pub(crate) received: Arc<Mutex<Vec<(Classification, String)>>>,
}

impl Provider for Watched {
    fn id(&self) -> &ProviderId {
        self.model.id()
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let label = Label::join_all(request.history.iter().map(|entry| entry.label));
        self.plan.lock().unwrap().step(!label.can_flow_to(self.observer));
        let bytes: Vec<String> = request
            .history
            .iter()
            .map(|entry| serde_json::to_string(&entry.body).unwrap())
            .collect();
        let wire = format!(
            "{}\n{}\n{}",
            request.system,
            bytes.join("\n"),
            request.tools.specs().len()
        );
        self.received.lock().unwrap().push((self.level, wire));
        self.model.stream(request)
    }
}
