//! Answers that have to fit a JSON schema: the model is told of the schema, its answer is checked, and if it does not fit
//! the model has one more turn to correct it.

use crate::{RuntimeError, Session, TurnOptions, TurnReport};
use serde_json::Value;
use tidegate_message::{TurnStatus, UserMessage};
use tidegate_policy::{Classification, Label};
use tidegate_prompt::{Note, NoteKind};
use tidegate_tools::graphemes_within;

/// Problems of one answer that are told.
const MOST_PROBLEMS: usize = 20;

/// Characters of one of them.
const MOST_CHARACTERS: usize = 300;

/// Bytes of a schema.
const MOST_BYTES: usize = 64 << 10;

/// A JSON schema for answers.
#[derive(Clone, Debug)]
pub struct AnswerSchema {
    validator: jsonschema::Validator,
    text: String,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    NoJson(#[source] serde_json::Error),
    /// It is no schema that can be followed here. References to other files are not.
    #[error("it is no JSON schema that can be used{}: {problem}", .at.as_ref().map(|at| format!(" (at {at})")).unwrap_or_default())]
    NoSchema {
        /// Where, as a JSON pointer; none for the whole.
        at: Option<String>,
        /// What is wrong.
        problem: String,
    },
    /// It is too long to be told to a model.
    #[error("it has {length} bytes; a schema may have {MOST_BYTES}")]
    TooLong {
        /// Its length as compact JSON.
        length: usize,
    },
}

impl AnswerSchema {
    /// A schema from its JSON text.
    ///
    /// # Errors
    /// If it is no JSON, no JSON schema, refers to other files, or is longer than 64 KiB.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let schema: Value = serde_json::from_str(text).map_err(SchemaError::NoJson)?;
        Self::new(&schema)
    }

    /// A schema from JSON.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let text = schema.to_string();
        if text.len() > MOST_BYTES {
            return Err(SchemaError::TooLong { length: text.len() });
        }
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map_err(|cause| SchemaError::NoSchema {
                at: Some(cause.instance_path().as_str().to_owned()).filter(|at| !at.is_empty()),
                problem: cause.to_string(),
            })?;
        Ok(Self { validator, text })
    }

    /// The JSON of an answer that fits. A fence of Markdown around it does no harm.
    ///
    /// # Errors
    /// What does not fit, each with its place.
    pub fn check(&self, answer: &str) -> Result<Value, Misfit> {
        let json: Value = serde_json::from_str(without_fence(answer)).map_err(|error| Misfit {
            problems: vec![format!("the answer is no JSON: {error}")],
            left_out: 0,
        })?;
        let mut errors = self.validator.iter_errors(&json);
        let problems: Vec<String> = errors
            .by_ref()
            .take(MOST_PROBLEMS)
            .map(|error| {
                let at = error.instance_path().as_str().to_owned();
                let at = if at.is_empty() { "the whole".to_owned() } else { at };
                in_short(format!("{at}: {error}"))
            })
            .collect();
        let left_out = errors.count();
        if problems.is_empty() {
            return Ok(json);
        }
        Err(Misfit { problems, left_out })
    }

    fn request(&self) -> Note {
        let text = format!(
            "When you answer, answer with JSON alone that fits this JSON schema, without any other text:\n{}",
            self.text
        );
        Note {
            label: Label::BOTTOM,
            kind: NoteKind::Nudge { text },
        }
    }
}

/// Why an answer does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// What does not fit, each with its place; 20 at most.
    pub problems: Vec<String>,
    /// How many more there are.
    pub left_out: usize,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(|line| format!("- {line}")).collect();
        f.write_str(&lines.join("\n"))?;
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more"),
        }
    }
}

/// What to do for an answer that has to fit a schema.
#[derive(Clone, Debug)]
pub enum StructuredTask {
    /// Run this task.
    Run(UserMessage),
    /// Go on with the open turn, or take the last answer.
    Resume,
    /// Answer the model's question and go on: which one, or the oldest.
    Answer(Option<tidegate_policy::ApprovalId>, String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Structured {
    /// The last turn. Its answer is the JSON alone if it fits; if it does not after the correction, the status is `error`,
    /// the error tells why, and the answer is kept as the model gave it.
    pub report: TurnReport,
    /// The answer, if there is one that fits.
    pub value: Option<Value>,
}

impl Session {
    /// Does something whose answer has to fit a schema. One that does not fit is told to the model, which has one more turn
    /// to correct it, without the attachments and steering of `options`. A turn that ends without an answer is
    /// reported as it is.
    ///
    /// # Errors
    /// As [`run`](Self::run), [`resume`](Self::resume) and [`answer`](Self::answer).
    pub async fn run_structured(
        &mut self,
        task: StructuredTask,
        schema: &AnswerSchema,
        mut options: TurnOptions<'_>,
    ) -> Result<Structured, RuntimeError> {
        let again = TurnOptions {
            level: Classification::Public,
            cancel: options.cancel.clone(),
            observer: options.observer,
            approver: options.approver,
            ..TurnOptions::default()
        };
        let first = match task {
            StructuredTask::Run(message) => {
                options.notes.push(schema.request());
                self.run_message(message, options).await?
            }
            StructuredTask::Resume => self.resume(options).await?,
            StructuredTask::Answer(which, text) => self.answer(which, text, options).await?,
        };
        let misfit = match schema.check(&first.answer) {
            _ if first.status != TurnStatus::Success || first.turn.is_none() => {
                return Ok(Structured {
                    report: first,
                    value: None,
                });
            }
            Ok(value) => return Ok(fits(first, value)),
            Err(misfit) => misfit,
        };
        let correction = format!(
            "Your answer does not fit the JSON schema that was asked for:\n{misfit}\n\nAnswer again, with JSON alone that fits."
        );
        let mut again = again;
        again.notes.push(schema.request());
        // What is wrong with the answer tells of it.
        let label = self.taint().label();
        let corrected = self
            .run_labelled(UserMessage::program(correction), label, again)
            .await?;
        let mut report = TurnReport {
            rounds: first.rounds.saturating_add(corrected.rounds),
            calls_used: first.calls_used.saturating_add(corrected.calls_used),
            usage: {
                let mut usage = first.usage;
                usage += corrected.usage;
                usage
            },
            ..corrected
        };
        if report.status != TurnStatus::Success {
            // What there is is better than nothing.
            if report.answer.is_empty() && matches!(report.status, TurnStatus::Error | TurnStatus::Cancelled)
            {
                report.answer = first.answer;
            }
            return Ok(Structured { report, value: None });
        }
        match schema.check(&report.answer) {
            Ok(value) => Ok(fits(report, value)),
            Err(misfit) => {
                report.status = TurnStatus::Error;
                report.error = Some(format!(
                    "the answer does not fit the schema, after one correction:\n{misfit}"
                ));
                Ok(Structured { report, value: None })
            }
        }
    }
}

fn fits(report: TurnReport, value: Value) -> Structured {
    Structured {
        report: TurnReport {
            answer: without_fence(&report.answer).to_owned(),
            ..report
        },
        value: Some(value),
    }
}

/// A problem without the most of what it quotes of the answer.
fn in_short(problem: String) -> String {
    let kept = graphemes_within(&problem, MOST_CHARACTERS);
    if kept.len() == problem.len() {
        return problem;
    }
    format!("{kept}…")
}

/// The text without blanks around it and without a fence of Markdown.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer
        .strip_prefix("```json")
        .or_else(|| answer.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(answer, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_checked_and_what_does_not_fit_has_its_place() {
        let schema = AnswerSchema::parse(
            r#"{"type": "object", "properties": {"n": {"type": "integer"}, "day": {"format": "date"}}, "required": ["n"], "additionalProperties": false}"#,
        )
        .unwrap();
        for fitting in [
            r#"{"n": 1}"#,
            " {\"n\": 1}\n",
            "```json\n{\"n\": 1}\n```",
            "```\n{\"n\": 1}```",
        ] {
            assert_eq!(
                schema.check(fitting).unwrap(),
                serde_json::json!({"n": 1}),
                "{fitting}"
            );
        }
        for (answer, expected) in [
            (
                "",
                "the answer is no JSON: EOF while parsing a value at line 1 column 0",
            ),
            (
                "Here it is: {\"n\": 1}",
                "the answer is no JSON: expected value at line 1 column 1",
            ),
            (r#"{"n": "1"}"#, "/n: \"1\" is not of type \"integer\""),
            ("{}", "the whole: \"n\" is a required property"),
            (r#"{"n": 1, "day": "soon"}"#, "/day: \"soon\" is not a \"date\""),
        ] {
            assert_eq!(schema.check(answer).unwrap_err().problems, [expected]);
        }
        let long = format!(r#"{{"n": "{}"}}"#, "é".repeat(5_000));
        let problem = schema.check(&long).unwrap_err().problems.remove(0);
        assert_eq!(problem.chars().count(), 301);
        assert!(problem.ends_with('…'), "{problem}");
        let many = AnswerSchema::parse(r#"{"items": {"type": "string"}}"#).unwrap();
        let numbers = serde_json::json!(vec![1; 25]).to_string();
        let misfit = many.check(&numbers).unwrap_err();
        assert_eq!((misfit.problems.len(), misfit.left_out), (20, 5));
        assert!(misfit.to_string().ends_with("\n- and 5 more"));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for (text, expected) in [
            ("{", "it is no JSON"),
            (r#"{"type": "strnig"}"#, "it is no JSON schema that can be used"),
            (
                r#"{"$ref": "https://example.com/other.json"}"#,
                "it is no JSON schema that can be used",
            ),
        ] {
            let told = AnswerSchema::parse(text).unwrap_err().to_string();
            assert!(told.starts_with(expected), "{told}");
        }
        let long = format!(r#"{{"title": "{}"}}"#, "x".repeat(MOST_BYTES));
        assert!(matches!(
            AnswerSchema::parse(&long),
            Err(SchemaError::TooLong { .. })
        ));
    }
}
