//! Large results are put aside before they are first sent, once the conversation is long: they can be searched then.

use super::Turn;
use crate::tool_call::Answered;
use std::sync::Arc;
use std::time::Duration;
use tidegate_memory::{EmbedWork, Passages};
use tidegate_message::{Content, ResultStatus};
use tidegate_policy::{SourceId, escaped};
use tidegate_prompt::{Fixed, estimate_request, estimate_text};
use tidegate_store::SourceText;
use tidegate_tools::graphemes_within;
use tokio::time::timeout;

/// From which share of the window on, in percent: "about 30 %" (spec/memory.md).
const PERCENT: u64 = 30;

/// How much of the text the stub shows, in characters.
const BEGINNING: usize = 300;

/// What these return was searched for: putting it aside again would lead nowhere.
const SEARCHES: [&str; 2] = ["search_sessions_context", "search_meta_artifacts"];

impl Turn<'_> {
    /// The answer with a stub in the place of a large text, if the conversation is long and there is somewhere to put it.
    /// What cannot be put aside stays as it is.
    pub(super) async fn put_aside(&mut self, mut answered: Answered) -> Answered {
        let shared = Arc::clone(&self.session.shared);
        let limit = shared.configuration.memory.put_aside_chars;
        let (Some(memory), true) = (&shared.memory, limit > 0) else {
            return answered;
        };
        let result = &answered.result;
        let ran = matches!(result.status, ResultStatus::Ok | ResultStatus::Error);
        let [Content::Text { text }] = result.content.as_slice() else {
            return answered;
        };
        // A character has at least one byte.
        if !ran || text.len() <= limit || SEARCHES.contains(&result.name.as_str()) {
            return answered;
        }
        let whole = answered
            .sources
            .first()
            .map_or(text, |source| &source.text)
            .clone();
        let characters = whole.chars().count();
        if characters <= limit || !self.is_long() {
            return answered;
        }
        let source = SourceId::new(format!("src_{}", result.call));
        let mut scope = self.scope();
        scope.label = scope.label.join(result.label);
        let work = EmbedWork::until(Arc::new(self.cancel.clone()));
        let time = Duration::from_secs(shared.configuration.agent.tool_timeout_s);
        let saved = memory.save_session_context(&scope, &source, Passages::Text(whole.clone()), work);
        match timeout(time, saved).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, %source, "a large result cannot be put aside; it is sent as it is");
                return answered;
            }
            Err(_) => {
                tracing::warn!(%source, "a large result could not be put aside in time; it is sent as it is");
                return answered;
            }
        }
        let stub = include_str!("../../templates/put_aside.txt")
            .trim_end()
            .replace("{characters}", &characters.to_string())
            .replace("{tool}", &escaped(result.name.as_str()))
            .replace("{source}", source.as_str())
            .replace("{beginning}", graphemes_within(&whole, BEGINNING));
        if answered.sources.is_empty() {
            answered.sources.push(SourceText {
                id: source.clone(),
                label: answered.result.label,
                text: whole,
            });
        }
        answered.result.content = vec![Content::text(stub)];
        answered.result.source = Some(source);
        answered
    }

    /// Whether the conversation takes so much of the window that large results are put aside.
    fn is_long(&self) -> bool {
        let session = &self.session;
        let window = session.window(self.run.routing().current());
        let fixed = Fixed {
            system: estimate_text(&session.record.session.system_prompt),
            tools: session.tools_tokens,
        };
        let size = estimate_request(session.transcript.entries(), fixed, &session.shared.prices());
        size.tokens.saturating_mul(100) >= window.tokens.saturating_mul(PERCENT)
    }
}
