//! `tidegate prompt`.

mod diff;
mod parts;
mod show;

use crate::args::{Global, PromptCommand};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use tidegate_policy::{SecretName, escaped};
use tidegate_runtime::{Runtime, SentRequest, ShownText, Wire};

pub(crate) async fn run(global: &Global, command: PromptCommand) -> anyhow::Result<Exit> {
    match command {
        PromptCommand::Show(args) => show::run(global, &args).await?,
        PromptCommand::Diff(args) => diff::run(global, &args).await?,
    }
    Ok(Exit::Ok)
}

/// A runtime that shows what is stored and needs no model.
fn showing(global: &Global) -> anyhow::Result<Runtime> {
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    Ok(Runtime::showing(&loaded, &data, &environment::variables())?.build()?)
}

/// A request in a few words.
fn about(request: &SentRequest) -> String {
    let SentRequest {
        turn,
        round,
        attempt,
        attempts,
        model,
        entries,
        bytes,
        ..
    } = request;
    let tries = match attempts {
        1 => String::new(),
        attempts => format!(", try {attempt} of {attempts}"),
    };
    let tier = request
        .tier
        .map_or_else(String::new, |tier| format!(" (tier {tier})"));
    let wire = match request.wire {
        Wire::ChatCompletions => "over Chat Completions",
        Wire::Own => "in the form of its provider",
        Wire::None => "which no wire carries; in the form of Chat Completions",
    };
    let messages = match entries {
        1 => "1 message".to_owned(),
        entries => format!("{entries} messages"),
    };
    let model = model.to_string();
    let model = escaped(&model);
    format!("turn {turn}, round {round}{tries}: {model}{tier} {wire}, {messages}, {bytes} bytes")
}

/// Says on standard error why what is shown may not be what was sent.
fn reservations(text: &ShownText, doubt: Option<&str>) {
    let names: Vec<&str> = text.secrets.iter().map(SecretName::as_str).collect();
    if !names.is_empty() {
        output::tell(&format!(
            "note: without the values of secrets ({}), so not byte for byte what was sent",
            names.join(", ")
        ));
    }
    let rules: Vec<String> = text.redacted_by.iter().map(ToString::to_string).collect();
    if !rules.is_empty() {
        output::tell(&format!(
            "note: redacted by {}, so not byte for byte what was sent",
            rules.join(", ")
        ));
    }
    if let Some(doubt) = doubt {
        output::tell(&format!("note: {doubt}; it may differ from what is shown"));
    }
}
