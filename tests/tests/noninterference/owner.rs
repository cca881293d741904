//! The owner, who answers by a fixed rule.

use std::sync::Mutex;
use tidegate_runtime::{ApprovalAnswer, ApprovalRequest, Approver};
use tidegate_tools::BoxFuture;

/// An owner whose answer follows from what is shown, and from nothing else.
#[derive(Default)]
pub(crate) struct Owner {
    /// What was granted.
    pub(crate) granted: Mutex<Vec<ApprovalRequest>>,
}

impl Owner {
    /// Of eight requests five are granted, one is put off, and two are refused.
    pub(crate) fn answer(request: &ApprovalRequest) -> ApprovalAnswer {
        let shown = serde_json::to_string(&(&request.tool, &request.rule, &request.arguments)).unwrap();
        let hash = shown.bytes().fold(5_381_u32, |hash, byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        match (hash >> 5) % 8 {
            0..5 => ApprovalAnswer::Grant,
            5 => ApprovalAnswer::Later,
            _ => ApprovalAnswer::Refuse,
        }
    }
}

impl Approver for Owner {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        let answer = Self::answer(request);
        if answer == ApprovalAnswer::Grant {
            self.granted.lock().unwrap().push(request.clone());
        }
        Box::pin(std::future::ready(answer))
    }
}
