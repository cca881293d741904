//! The file: JSON lines of conversations, turns and questions.

use crate::MemoryError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// A conversation with its questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
    /// Questions about it.
    pub questions: Vec<Question>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Turn {
    /// The conversation.
    pub conversation: String,
    /// Its id, what a question's evidence names.
    pub id: String,
    /// The session it belongs to.
    pub session: u64,
    /// When, ISO 8601 as [`Period::parse`](crate::Period::parse) reads it; anything else is as if it were not known.
    pub time: String,
    /// Who speaks.
    pub speaker: String,
    /// What is said.
    pub text: String,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// The conversation.
    pub conversation: String,
    /// What kind of question it is.
    pub category: String,
    /// The question.
    pub text: String,
    /// The turns that hold the answer.
    pub evidence: Vec<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Conversation {
        id: String,
        #[expect(dead_code, reason = "turns name their speakers")]
        speakers: Vec<String>,
    },
    Turn(Turn),
    Question(Question),
}

/// Reads the conversations of a file.
///
/// # Errors
/// [`MemoryError::Evaluation`] for the first line that is not of the format, has an empty field, belongs to no
/// conversation, names a turn that is not there, or is there twice; and for a file without a question.
pub fn read_conversations(file: impl BufRead) -> Result<Vec<Conversation>, MemoryError> {
    let mut conversations: Vec<Conversation> = Vec::new();
    let mut last = 1;
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for (index, line) in file.lines().enumerate() {
        let number = index + 1;
        let problem = |problem: String| MemoryError::Evaluation {
            line: number,
            problem,
        };
        let line = line.map_err(|error| problem(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|error| problem(without_line(&error)))?;
        if let Some(what) = blank(&line) {
            return Err(problem(format!("its {what} is empty")));
        }
        last = number;
        match line {
            Line::Turn(turn) => {
                let conversation = of(&mut conversations, &by_id, &turn.conversation).map_err(problem)?;
                if conversation.turns.iter().any(|known| known.id == turn.id) {
                    return Err(problem(format!("turn {:?} is there twice", turn.id)));
                }
                conversation.turns.push(turn);
            }
            Line::Question(question) => {
                let conversation = of(&mut conversations, &by_id, &question.conversation).map_err(problem)?;
                if question.evidence.is_empty() {
                    return Err(problem("the question has no evidence".into()));
                }
                for id in &question.evidence {
                    if !conversation.turns.iter().any(|turn| turn.id == *id) {
                        return Err(problem(format!("the evidence {id:?} is no turn before it")));
                    }
                }
                conversation.questions.push(question);
            }
            Line::Conversation { id, .. } => {
                if by_id.insert(id.clone(), conversations.len()).is_some() {
                    return Err(problem(format!("conversation {id:?} is there twice")));
                }
                conversations.push(Conversation {
                    id,
                    turns: Vec::new(),
                    questions: Vec::new(),
                });
            }
        }
    }
    if conversations
        .iter()
        .all(|conversation| conversation.questions.is_empty())
    {
        return Err(MemoryError::Evaluation {
            line: last,
            problem: "the file ends here, and there is no question in it, so there is nothing to measure"
                .into(),
        });
    }
    Ok(conversations)
}

/// What is wrong with a line; its number is told already.
fn without_line(error: &serde_json::Error) -> String {
    let told = error.to_string();
    match told.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what} (column {})", error.column()),
        None => told,
    }
}

/// A field of the line that says nothing and should.
fn blank(line: &Line) -> Option<&'static str> {
    let fields = match line {
        Line::Conversation { id, .. } => vec![("id", id)],
        Line::Turn(turn) => vec![("conversation", &turn.conversation), ("id", &turn.id)],
        Line::Question(question) => vec![
            ("conversation", &question.conversation),
            ("category", &question.category),
            ("text", &question.text),
        ],
    };
    let mut fields = fields.into_iter();
    fields
        .find(|(_, text)| text.trim().is_empty())
        .map(|(name, _)| name)
}

fn of<'a>(
    conversations: &'a mut [Conversation],
    by_id: &BTreeMap<String, usize>,
    id: &str,
) -> Result<&'a mut Conversation, String> {
    let place = by_id.get(id).copied();
    place
        .and_then(|place| conversations.get_mut(place))
        .ok_or_else(|| format!("conversation {id:?} was not begun by a line of its own"))
}
