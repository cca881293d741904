use crate::made::{PUBLIC, TURN, Talk};
use tidegate_message::{Content, Transcript, UserMessage};
use tidegate_policy::{Label, TurnId};
use tidegate_prompt::{CurrentMessage, reanchor_current_turn_user_idx};

const EARLIER: TurnId = TurnId::from_bits(6);

/// p: a person's "x" in this turn; o: a person's "x" in an earlier one; q: a person's "other" in this turn; a: an answer; n: a
/// notice of the program; S: a summary that says "x"; c: a person's "x" with a sidecar "x+" in this turn; d: a person's message
/// that says "x+".
fn transcript(pattern: &str) -> Transcript {
    let mut talk = Talk::default();
    let push = |talk: &mut Talk, turn, message| talk.0.push_user(turn, PUBLIC, message).unwrap().seq;
    for letter in pattern.chars() {
        match letter {
            'p' => drop(push(&mut talk, TURN, UserMessage::person("x"))),
            'o' => drop(push(&mut talk, EARLIER, UserMessage::person("x"))),
            'q' => drop(push(&mut talk, TURN, UserMessage::person("other"))),
            'n' => drop(push(&mut talk, TURN, UserMessage::program("x?"))),
            'S' => drop(push(&mut talk, TURN, UserMessage::summary("x"))),
            'd' => drop(push(&mut talk, EARLIER, UserMessage::person("x+"))),
            'c' => {
                let seq = push(&mut talk, TURN, UserMessage::person("x"));
                talk.0
                    .set_sidecar(seq, Label::BOTTOM, vec![Content::text("x+")])
                    .unwrap();
            }
            'a' => drop(talk.says("ok")),
            other => panic!("{other}"),
        }
    }
    talk.0
}

#[test]
fn the_turns_message_is_found_again_and_no_other() {
    let raw = [Content::text("x")];
    let composed = [Content::text("x+")];
    for (pattern, index, expected) in [
        ("oap", Some(2), Some(2)),
        ("pap", Some(0), Some(0)),   // It is where it was.
        ("Sap", Some(1), Some(2)),   // The index points at an answer now.
        ("Sapaq", Some(4), Some(2)), // A steering text of the same turn is not the message.
        ("oapa", Some(9), Some(2)),
        ("oapa", None, Some(2)),
        ("opaS", None, Some(1)), // A summary of the same text never is.
        ("oaS", Some(2), Some(0)),
        ("S", Some(0), None),
        ("Sn", None, None),
        ("n", Some(0), None),
        ("", Some(0), None),
        ("qaqan", None, Some(2)), // None has the text: the last that a person wrote.
        ("oac", None, Some(2)),
        ("odaq", None, Some(1)), // Its composed form counts, too.
    ] {
        let current = CurrentMessage {
            turn: TURN,
            raw: &raw,
            composed: Some(&composed),
        };
        let transcript = transcript(pattern);
        let found = reanchor_current_turn_user_idx(transcript.entries(), index, current);
        assert_eq!(found, expected, "{pattern} {index:?}");
    }
}
