//! `ask_user`.

use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tidegate_policy::{CallId, Label, SessionId, TurnId};
use tidegate_tools::{
    BoxFuture, CallContext, OpenQuestion, Tool, ToolError, ToolOutput, TypedTool, until_cancelled,
};

/// How long an answer is waited for if nothing else is said, in seconds.
const EXPIRY: u64 = 600;

/// The shortest and the longest time, in seconds.
const EXPIRIES: std::ops::RangeInclusive<u64> = 10..=86_400;

/// How many answers can be offered.
const MOST_CHOICES: usize = 20;

/// Asks people. The runtime implements it over the terminal or the channel of a session.
pub trait Asker: Send + Sync {
    /// Shows `question` to the owner of the session and waits for the answer. It is dropped when the time is over or
    /// the call is cancelled, and has to take the question back then.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answered>;
}

/// What is asked, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// The question, as the model wrote it: to be escaped where it is shown.
    pub text: String,
    /// Answers to choose from, as the model wrote them; any other answer is possible too. Perhaps none.
    pub choices: Vec<String>,
    /// How long the answer is waited for.
    pub expires: Duration,
    /// The label of question and choices.
    pub label: Label,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The owner typed this. It is owner text: PUBLIC and TRUSTED.
    Text(String),
    /// The owner chose one of the choices, counted from 0. The words are the model's and keep the label of its
    /// context: choosing them does not make them the owner's own.
    Choice(usize),
    /// Nobody answered in time.
    Expired,
    /// There is nobody to ask, and nobody will answer later.
    NobodyThere,
    /// There is nobody to ask now: the question is kept, and the turn waits for its answer.
    Later,
}

impl Answered {
    /// What the owner's words say: one of the choices by its number, from 1, or by its words; else just them.
    pub fn of(answer: String, choices: &[String]) -> Self {
        let by_number = answer
            .trim()
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let chosen = by_number
            .filter(|place| *place < choices.len())
            .or_else(|| choices.iter().position(|choice| choice.trim() == answer.trim()));
        match chosen {
            Some(place) => Self::Choice(place),
            None => Self::Text(answer),
        }
    }

    /// What a call that asked for this is answered with: `choices` are those that were offered, and `asked_in` is the
    /// label of the context that wrote them.
    ///
    /// # Errors
    /// If it is a choice that was not offered.
    pub fn told(self, choices: &[String], asked_in: Label) -> Result<ToolOutput, ToolError> {
        Ok(match self {
            Self::Text(text) if text.trim().is_empty() => ToolOutput::text("(the user answered nothing)"),
            Self::Text(text) => ToolOutput::text(text),
            Self::Choice(index) => match choices.get(index) {
                Some(choice) => ToolOutput::text(choice).with_label(asked_in),
                None => return Err(ToolError::new("the answer was none of the choices; ask again")),
            },
            Self::Expired => ToolOutput::text(
                "(nobody answered in time; go on without the answer if you can, else say what you need)",
            ),
            Self::NobodyThere | Self::Later => ToolOutput::text(NOBODY),
        })
    }
}

const NOBODY: &str =
    "(nobody is there to be asked; go on without the answer if you can, else say what you need)";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The question.
    question: String,
    /// Answers to choose from. Any other answer is possible too.
    #[schemars(length(max = MOST_CHOICES))]
    choices: Option<Vec<String>>,
    /// Seconds after which to go on without an answer. Default: 600.
    #[schemars(range(min = 10, max = 86_400))]
    expires_s: Option<u64>,
}

/// The tool `ask_user`, read-only, for role USER, over `asker`.
///
/// What the owner types is PUBLIC and TRUSTED. No answer is no failure: the model is told that there is none.
pub fn ask_user(asker: Arc<dyn Asker>) -> Arc<dyn Tool> {
    let ask = move |arguments: Arguments, context: CallContext| {
        let asker = Arc::clone(&asker);
        async move {
            let valid_for = arguments.expires_s.map(Duration::from_secs);
            let question = question(arguments, &context)?;
            let waits = OpenQuestion {
                text: question.text.clone(),
                choices: question.choices.clone(),
                valid_for,
            };
            ask(&*asker, question, waits, &context).await
        }
    };
    let description = include_str!("../templates/ask_user.txt").trim_end();
    let longest = Duration::from_secs(*EXPIRIES.end() + 60);
    Arc::new(
        TypedTool::new("ask_user", description, ask)
            .source(Label::BOTTOM)
            .timeout(longest),
    )
}

fn question(arguments: Arguments, context: &CallContext) -> Result<Question, ToolError> {
    let Arguments {
        question: text,
        choices,
        expires_s,
    } = arguments;
    let choices = choices.unwrap_or_default();
    let seconds = expires_s.unwrap_or(EXPIRY);
    let problem = if text.trim().is_empty() {
        Some("question is empty; write what to ask".to_owned())
    } else if choices.len() > MOST_CHOICES {
        Some(format!(
            "choices has {} answers; offer at most {MOST_CHOICES}",
            choices.len()
        ))
    } else if choices.iter().any(|choice| choice.trim().is_empty()) {
        Some("choices has an empty answer; leave it out".to_owned())
    } else if !EXPIRIES.contains(&seconds) {
        Some(format!(
            "expires_s is {seconds}; write a number of seconds from {} to {}",
            EXPIRIES.start(),
            EXPIRIES.end()
        ))
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(ToolError::new(problem));
    }
    Ok(Question {
        session: context.session,
        turn: context.turn,
        call: context.call.clone(),
        text,
        choices,
        expires: Duration::from_secs(seconds),
        label: context.label,
    })
}

async fn ask(
    asker: &dyn Asker,
    question: Question,
    waits: OpenQuestion,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let expires = question.expires;
    let asking = tokio::time::timeout(expires, asker.ask(question));
    let Some(answered) = until_cancelled(&*context.cancel, asking).await else {
        return Err(ToolError::new("cancelled; the question was taken back"));
    };
    match answered.unwrap_or(Answered::Expired) {
        Answered::Later => Err(ToolError::waits(NOBODY, waits)),
        Answered::Expired => Ok(ToolOutput::text(format!(
            "(nobody answered within {} s; go on without the answer if you can, else say what you need)",
            expires.as_secs()
        ))),
        answered => answered.told(&waits.choices, context.label),
    }
}
