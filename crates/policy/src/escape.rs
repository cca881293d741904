//! Making text safe to show: a name may hold anything.

use std::borrow::Cow;

/// `text` with every character escaped that is not seen as itself: controls (so ANSI sequences and line
/// breaks), bidirectional marks, zero-width and other invisible characters, spaces other than the ASCII
/// one, noncharacters.
///
/// Line break and tab become `\n` and `\t`, all others `\u{…}`. A backslash stays as it is, so that
/// escaping twice changes nothing more and log and terminal may both escape without asking who did so
/// before. Look-alike letters stay: they are visible.
///
/// ```
/// use tidegate_policy::escaped;
///
/// assert_eq!(escaped("notes/plan.md"), "notes/plan.md");
/// assert_eq!(escaped("a\nb\u{1b}[2J"), r"a\nb\u{1b}[2J");
/// assert_eq!(escaped("invoice\u{202e}fdp.exe"), r"invoice\u{202e}fdp.exe");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_seen_as_itself) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_seen_as_itself(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
    }
    Cow::Owned(shown)
}

/// [`escaped`] in double quotes, with those inside it as `\u{22}`: a quotation ends where it seems to.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', r"\u{22}"))
}

/// Unicode 16: `Default_Ignorable_Code_Point`, `Bidi_Control`, the categories Cc, Zl, Zp, Zs (but the ASCII
/// space), interlinear annotation, Egyptian format controls, the blank Braille pattern, noncharacters.
fn is_seen_as_itself(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return true;
    }
    let invisible = character.is_control()
        || character.is_whitespace()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(character) & 0xfffe == 0xfffe;
    !invisible
}
