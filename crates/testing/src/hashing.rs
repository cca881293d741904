//! A model that lets nothing pass unnoticed: what it does depends on every bit it is shown.

use futures::StreamExt as _;
use serde_json::{Map, Value, json};
use tidegate_message::{
    AssistantPart, Author, Body, Content, Entry, FinishReason, ModelId, ProviderId, Reply, ReplyPart,
    ResultStatus, ToolCall, ToolSpec, Usage, joined_text,
};
use tidegate_providers::{ModelRequest, Provider, ReplyStream, StreamEvent, ToolChoice};

/// How many words of the context are kept to choose from, the latest first.
const WORDS: usize = 96;

/// How many characters a word of the context may have.
const WORD_CHARS: usize = 64;

/// A model that chooses its actions by hashing its whole request: what it is told, by whom, the tools, how each call
/// ended. Two contexts that differ in one bit make it act differently; the same context makes it act the same, in
/// every process and version of Rust. So it is the model for non-interference tests: run a system twice with secrets
/// that differ, and compare what an observer may see. Any bit that got into a context where it does not belong shows
/// in what this model then writes, sends, asks for and answers.
///
/// Each reply is an answer, or one to three calls (parallel ones, too). Tools are chosen among those offered, arguments
/// are made from their JSON schemas and filled with
///
/// - words and paths out of the context, those of the latest results first: data really flows;
/// - the [`values`](Self::values) and [`paths`](Self::paths) that the test gives;
/// - the hash of the whole context, written out: a single leaked bit then is in every byte of what is written.
///
/// An argument that is called `path` or ends so gets a path, one called `url` a web address, one with an `enum` one of
/// its values; everything else gets text. Now and then it makes the mistakes of real models: a tool nobody has,
/// arguments that do not fit, JSON that breaks off.
///
/// Ids are no part of the hash: those that a runtime draws at random would make every run differ. **A request must
/// not hold other things that differ from run to run**: leave tools that read a clock out ([`without`](Self::without)),
/// and give both runs the same folders.
///
/// It answers at the latest after [`rounds`](Self::rounds) model calls of a turn, so every turn ends.
///
/// ```
/// use tidegate_testing::HashingModel;
///
/// let model = HashingModel::new("model", 7)
///     .values(["ann@example.com", "the report"])
///     .paths(["public/", "internal/plan.md"])
///     .without(["current_time"])
///     .rounds(5);
/// // As a provider of a runtime: `.provider(Arc::new(model), Classification::Restricted, 8)`.
/// # let _ = model;
/// ```
#[derive(Clone, Debug)]
pub struct HashingModel {
    id: ProviderId,
    seed: u64,
    values: Vec<String>,
    paths: Vec<String>,
    without: Vec<String>,
    rounds: usize,
    most_calls: usize,
}

impl HashingModel {
    /// A model of the provider `id`. With another seed it acts differently everywhere. The id is no part of the hash:
    /// models of several providers with one seed are one model.
    pub fn new(id: &str, seed: u64) -> Self {
        Self {
            id: ProviderId::new(id),
            seed,
            values: Vec::new(),
            paths: Vec::new(),
            without: Vec::new(),
            rounds: 6,
            most_calls: 3,
        }
    }

    /// Texts to use as arguments, beside those of the context. Default: none.
    #[must_use]
    pub fn values<T: Into<String>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// Paths to use, beside those of the context. One that ends with a slash is a folder: a file is made up in it.
    /// Default: none.
    #[must_use]
    pub fn paths<T: Into<String>>(mut self, paths: impl IntoIterator<Item = T>) -> Self {
        self.paths.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Tools never to call. Default: none.
    #[must_use]
    pub fn without<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.without.extend(tools.into_iter().map(Into::into));
        self
    }

    /// After how many model messages since the last message of a person it answers at the latest. Default 6.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// How many calls a message holds at most, at least 1. Default 3.
    #[must_use]
    pub fn most_calls(mut self, calls: usize) -> Self {
        self.most_calls = calls.max(1);
        self
    }

    /// The hash of everything a model is told by `request`, with the seed: system prompt, tools, whether it must
    /// answer, and of every entry its author, texts, data, calls with their arguments, and how they ended. Not the
    /// model's name, ids, labels, what earlier calls cost, or the provider's own form of a message.
    ///
    /// The same for the same request, for ever: it can be kept in files.
    pub fn hash(&self, request: &ModelRequest) -> u64 {
        let mut hash = Hash::new(self.seed);
        hash.text(&request.system);
        hash.number(u64::from(request.tool_choice == ToolChoice::None));
        for spec in request.tools.specs() {
            hash.text(spec.name.as_str());
            hash.text(&spec.description);
            hash.text(&spec.input_schema.to_string());
        }
        for entry in request.history.iter() {
            hash.entry(entry);
        }
        hash.end()
    }

    /// What it says to `request`. Constant: the same to the same.
    pub fn reply(&self, request: &ModelRequest) -> Vec<ReplyPart> {
        let hash = self.hash(request);
        let mut choice = Choice(hash);
        let context = Words::of(&request.history);
        let offered: Vec<&ToolSpec> = request
            .tools
            .specs()
            .iter()
            .filter(|spec| !self.without.iter().any(|name| name == spec.name.as_str()))
            .collect();
        let must_answer = request.tool_choice == ToolChoice::None
            || offered.is_empty()
            || replies_since_person(&request.history) + 1 >= self.rounds;
        if must_answer || choice.one_in(7) {
            let text = format!(
                "{} {} {hash:016x}",
                self.text(&mut choice, &context, hash),
                self.text(&mut choice, &context, hash)
            );
            return vec![ReplyPart::Text(text)];
        }
        let calls = 1 + choice.below(self.most_calls);
        let mut parts = Vec::new();
        if choice.one_in(4) {
            parts.push(ReplyPart::Text(self.text(&mut choice, &context, hash)));
        }
        parts.extend((0..calls).map(|index| {
            let spec = choice.of(&offered).copied();
            let (name, arguments) = match spec {
                Some(spec) if !choice.one_in(40) => (
                    spec.name.clone(),
                    self.arguments(spec, &mut choice, &context, hash),
                ),
                _ => ("no_such_tool".into(), "{}".to_owned()),
            };
            ReplyPart::Call {
                provider_id: format!("id_{index}"),
                name,
                arguments,
            }
        }));
        parts
    }

    fn arguments(&self, spec: &ToolSpec, choice: &mut Choice, context: &Words<'_>, hash: u64) -> String {
        let schema = &spec.input_schema;
        let empty = Map::new();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required = |name: &str| {
            let required = schema.get("required").and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|known| known == name))
        };
        let mut arguments = Map::new();
        for (name, property) in properties {
            let kept = if required(name) {
                !choice.one_in(40)
            } else {
                choice.one_in(3)
            };
            if kept {
                arguments.insert(name.clone(), self.value(name, property, choice, context, hash));
            }
        }
        let mut text = Value::Object(arguments).to_string();
        if choice.one_in(60) {
            text.pop();
        }
        text
    }

    fn value(
        &self,
        name: &str,
        schema: &Value,
        choice: &mut Choice,
        context: &Words<'_>,
        hash: u64,
    ) -> Value {
        if let Some(one) = schema
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|all| choice.of(all))
        {
            return one.clone();
        }
        match type_of(schema) {
            "boolean" => json!(choice.one_in(2)),
            "integer" | "number" => json!(1 + choice.below(5)),
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let count = 1 + choice.below(2);
                (0..count)
                    .map(|_| self.value(name, items, choice, context, hash))
                    .collect()
            }
            "object" => json!({}),
            _ if name.ends_with("path") => json!(self.path(choice, context)),
            _ if name.ends_with("url") => {
                let word = self.text(choice, context, hash).replace([' ', '\n'], "-");
                json!(format!("https://example.com/{word}"))
            }
            _ => json!(self.text(choice, context, hash)),
        }
    }

    /// A text: of the context, of the test, or the hash of all.
    fn text(&self, choice: &mut Choice, context: &Words<'_>, hash: u64) -> String {
        let word = |choice: &mut Choice| context.word(choice).unwrap_or("nothing").to_owned();
        match choice.below(6) {
            0 | 1 => word(choice),
            2 => format!("{} {}", word(choice), word(choice)),
            3 => format!("{} {hash:016x}", word(choice)),
            _ => match choice.of(&self.values) {
                Some(value) => value.clone(),
                None => word(choice),
            },
        }
    }

    fn path(&self, choice: &mut Choice, context: &Words<'_>) -> String {
        let own = choice.of(&self.paths).cloned();
        let seen = context.path(choice).map(str::to_owned);
        let path = match (own, seen) {
            (own, Some(seen)) if own.is_none() || choice.one_in(3) => seen,
            (Some(own), _) => own,
            (None, seen) => seen.unwrap_or_else(|| "notes.txt".to_owned()),
        };
        if path.ends_with('/') && !choice.one_in(4) {
            let word = context.word(choice).unwrap_or("new");
            let name: String = word
                .chars()
                .filter(|character| character.is_ascii_alphanumeric())
                .take(12)
                .collect();
            format!("{path}{name}.txt")
        } else {
            path
        }
    }
}

impl Provider for HashingModel {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let parts = self.reply(&request);
        let calls = parts.iter().any(|part| matches!(part, ReplyPart::Call { .. }));
        let reply = Reply {
            model: ModelId::new(self.id.clone(), &*request.model),
            parts,
            verbatim: None,
            usage: Usage::default(),
            finish: if calls {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            },
        };
        let done = Ok(StreamEvent::Done(Box::new(reply)));
        futures::stream::once(std::future::ready(done)).boxed()
    }
}

/// The type a schema names; of several the first that is not `null`.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or_default(),
        _ => "",
    }
}

fn replies_since_person(history: &[std::sync::Arc<Entry>]) -> usize {
    let is_person =
        |entry: &Entry| matches!(&entry.body, Body::User(message) if message.author == Author::Person);
    let since = history.iter().rev().take_while(|entry| !is_person(entry));
    since
        .filter(|entry| matches!(entry.body, Body::Assistant(_)))
        .count()
}

/// What can be taken out of a context, the latest first.
struct Words<'a> {
    words: Vec<&'a str>,
    paths: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn of(history: &'a [std::sync::Arc<Entry>]) -> Self {
        let texts = history
            .iter()
            .rev()
            .flat_map(|entry| match &entry.body {
                Body::User(message) => message.api_content(),
                Body::Assistant(_) => &[],
                Body::Results(results) => results
                    .results
                    .first()
                    .map_or(&[][..], |result| result.content.as_slice()),
            })
            .chain(history.iter().rev().flat_map(|entry| {
                let more: &[tidegate_message::ToolResult] = match &entry.body {
                    Body::Results(results) => results.results.get(1..).unwrap_or_default(),
                    Body::User(_) | Body::Assistant(_) => &[],
                };
                more.iter().flat_map(|result| result.content.as_slice())
            }))
            .filter_map(Content::as_text);
        let apart = |character: char| character.is_whitespace() || "\"'`,;()[]{}<>".contains(character);
        let words: Vec<&str> = texts
            .flat_map(|text| text.split(apart))
            .filter(|word| !word.is_empty() && word.chars().count() <= WORD_CHARS)
            .take(WORDS)
            .collect();
        let is_path = |word: &&str| {
            !word.contains(':') && (word.contains('/') || word.trim_end_matches('.').contains('.'))
        };
        let paths = words.iter().copied().filter(is_path).collect();
        Self { words, paths }
    }

    /// A word, more often a late one.
    fn word(&self, choice: &mut Choice) -> Option<&'a str> {
        let late = self.words.get(..12).unwrap_or(&self.words);
        let from = if choice.one_in(2) { late } else { &self.words };
        choice.of(from).copied()
    }

    fn path(&self, choice: &mut Choice) -> Option<&'a str> {
        choice.of(&self.paths).copied()
    }
}

/// FNV-1a over 64 bits, each text with its length.
struct Hash(u64);

impl Hash {
    fn new(seed: u64) -> Self {
        let mut hash = Self(0xcbf2_9ce4_8422_2325);
        hash.number(seed);
        hash
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(message) => {
                self.text(match message.author {
                    Author::Person => "person",
                    Author::Program => "program",
                    Author::Summary => "summary",
                });
                self.content(message.api_content());
            }
            Body::Assistant(message) => {
                self.text("assistant");
                for part in &message.parts {
                    match part {
                        AssistantPart::Text { text } => self.text(text),
                        AssistantPart::Reasoning { .. } => {}
                        AssistantPart::Call(call) => self.call(call),
                    }
                }
            }
            Body::Results(results) => {
                self.text("results");
                for result in &results.results {
                    self.text(result.name.as_str());
                    self.text(match result.status {
                        ResultStatus::Ok => "ok",
                        ResultStatus::Error => "error",
                        ResultStatus::Refused => "refused",
                        ResultStatus::Withheld => "withheld",
                        ResultStatus::NotRun => "not run",
                        ResultStatus::Unknown => "unknown",
                    });
                    self.content(&result.content);
                }
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.text(call.name.as_str());
        self.text(&call.arguments);
    }

    fn content(&mut self, content: &[Content]) {
        self.text(&joined_text(content));
        for part in content {
            match part {
                Content::Text { .. } => {}
                Content::Image { media_type, data } => {
                    self.text(media_type);
                    self.text(data.as_base64());
                }
                Content::File {
                    name,
                    media_type,
                    data,
                } => {
                    self.text(name);
                    self.text(media_type);
                    self.text(data.as_base64());
                }
            }
        }
    }

    fn end(self) -> u64 {
        Choice(self.0).next()
    }
}

/// Choices that follow from a hash: SplitMix64.
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        let end = (end as u64).max(1);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.below(all.len());
        all.get(index)
    }
}
