//! The commands of the chat: lines that begin with `/`.

use tidegate_message::ModelPolicy;

/// A line of the chat.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing but blanks.
    Blank,
    /// For the model.
    Message(String),
    /// For the program.
    Command(Command),
    /// It looks like a command and is none; what to say to it.
    Wrong(String),
}

/// A command.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Taint,
    Tools,
    Model(Option<ModelPolicy>),
    History,
    Resume,
    Reset,
    Compact,
    Clear,
    Quit,
}

/// Each command with what it takes and does.
pub(super) const COMMANDS: [(&str, &str, &str); 10] = [
    ("/help", "", "this list"),
    ("/taint", "", "the session's label, and how it came to it"),
    ("/tools", "", "the tools the model may call"),
    (
        "/model",
        "[POLICY]",
        "show or change how the model is chosen: auto, auto_pro, LITE, FLASH, PRO, provider:model",
    ),
    ("/history", "", "what was said in this session"),
    (
        "/resume",
        "",
        "go on with a turn that was interrupted, failed or waited for approval",
    ),
    (
        "/reset",
        "",
        "go on in a new session: nothing of this one is known there",
    ),
    (
        "/compact",
        "",
        "make the conversation shorter for the model; the history keeps all of it",
    ),
    ("/clear", "", "clear the screen; the session stays as it is"),
    ("/quit", "", "leave; so does Ctrl-D, and Ctrl-C twice"),
];

/// What a line is.
pub(super) fn read(text: &str) -> Line {
    if text.trim().is_empty() {
        return Line::Blank;
    }
    // Pasted text of several lines is a message, whatever it begins with.
    if !text.starts_with('/') || text.trim_end().contains('\n') {
        return Line::Message(text.to_owned());
    }
    let (name, rest) = match text.trim_end().split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (text.trim_end(), ""),
    };
    if !rest.is_empty() && name != "/model" && COMMANDS.iter().any(|(known, _, _)| *known == name) {
        return Line::Wrong(format!(
            "{name} takes nothing; begin with a space to send this as a message"
        ));
    }
    Line::Command(match name {
        "/help" => Command::Help,
        "/taint" => Command::Taint,
        "/tools" => Command::Tools,
        "/model" if rest.is_empty() => Command::Model(None),
        "/model" => match rest.parse() {
            Ok(policy) => Command::Model(Some(policy)),
            Err(error) => return Line::Wrong(format!("{error}")),
        },
        "/history" => Command::History,
        "/resume" => Command::Resume,
        "/reset" => Command::Reset,
        "/compact" => Command::Compact,
        "/clear" => Command::Clear,
        "/quit" => Command::Quit,
        _ => {
            return Line::Wrong(format!(
                "there is no command {name}; /help lists those there are. Begin with a space to send this as a message"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_a_slash_are_commands() {
        for (text, expected) in [
            ("/help", Line::Command(Command::Help)),
            ("/help  ", Line::Command(Command::Help)),
            ("/model", Line::Command(Command::Model(None))),
            (
                "/model auto_pro",
                Line::Command(Command::Model(Some("auto_pro".parse().unwrap()))),
            ),
            ("/quit", Line::Command(Command::Quit)),
            ("", Line::Blank),
            (" \t\n", Line::Blank),
            ("hello", Line::Message("hello".into())),
            (" /help", Line::Message(" /help".into())),
            ("/help\nme", Line::Message("/help\nme".into())),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_command_is_not_sent_to_the_model() {
        for text in ["/etc/hosts", "/halp", "/quit now", "/model nonsense here", "/"] {
            assert!(matches!(read(text), Line::Wrong(_)), "{text:?}: {:?}", read(text));
        }
    }

    #[test]
    fn every_listed_command_is_one() {
        for (name, _, _) in COMMANDS {
            assert!(matches!(read(name), Line::Command(_)), "{name}");
        }
    }
}
