//! Cutting.

use proptest::prelude::*;
use tidegate_memory::{Piece, estimated_tokens, pieces};

fn cut(text: &str, most: usize) -> Vec<Piece> {
    let cut = pieces(text, most, 0, &estimated_tokens).unwrap();
    check(text, &cut, most);
    cut
}

/// What holds of every cut: in budget, verbatim, in order, and nothing but white space left out.
fn check(text: &str, cut: &[Piece], most: usize) {
    let characters: Vec<char> = text.chars().collect();
    let mut covered = 0;
    for piece in cut {
        let (first, last) = piece.characters;
        let (first, last) = (usize::try_from(first).unwrap(), usize::try_from(last).unwrap());
        let there: String = characters[first..last].iter().collect();
        assert_eq!(piece.text, there, "a piece stands where it says");
        let line = |place: usize| 1 + characters[..place].iter().filter(|character| **character == '\n').count();
        assert_eq!((piece.lines.0 as usize, piece.lines.1 as usize), (line(first), line(last)), "{piece:?}");
        assert!(estimated_tokens(&piece.text) <= most, "{} tokens: {piece:?}", estimated_tokens(&piece.text));
        assert!(!piece.text.trim().is_empty());
        if first > covered {
            let between: String = characters[covered..first].iter().collect();
            assert!(between.trim().is_empty(), "left out: {between:?}");
        }
        covered = covered.max(last);
    }
    let rest: String = characters[covered..].iter().collect();
    assert!(rest.trim().is_empty(), "left out at the end: {rest:?}");
}

fn texts(cut: &[Piece]) -> Vec<&str> {
    cut.iter().map(|piece| piece.text.as_str()).collect()
}

#[test]
fn abbreviations_numbers_and_characters_stay_whole_wherever_the_cut_falls() {
    let kept = ["M. Dupont", "3.14", "Dr. Weber", "J. R. R. Tolkien", "👩‍👩‍👧‍👦", "e\u{301}t\u{e9}", "🇫🇷"];
    for filler in 0..60 {
        for whole in kept {
            let before = "wort ".repeat(filler);
            let text = format!("{before}und dann {whole} und danach noch viel mehr Text, der weiter geht. Ende hier.");
            let cut = cut(&text, 24);
            assert!(cut.iter().any(|piece| piece.text.contains(whole)), "{whole} was cut: {:?}", texts(&cut));
        }
    }
}

#[test]
fn sentences_of_any_script_are_borders() {
    let text = "潮水在早晨退去。船只停在港口！谁会来开门？没有人知道答案。渔夫在岸边等待着。";
    let cut = cut(text, 20);
    for piece in &cut {
        assert!(piece.text.ends_with(['。', '！', '？']), "{:?}", texts(&cut));
    }
    assert!(cut.len() > 1);
}

#[test]
fn one_line_of_200_kb_is_cut() {
    for line in ["x".repeat(200_000), "word ".repeat(40_000), "潮".repeat(66_667)] {
        let cut = cut(&line, 256);
        assert!(cut.len() > 100, "{}", cut.len());
    }
}

#[test]
fn a_code_fence_that_fits_stays_whole() {
    let code = "```rust\nfn main() {\n    println!(\"hi. there\");\n}\n```";
    let text = format!("# Title\n\nSome words before the code that fill the chunk nearly up to its end.\n\n{code}\n\nAnd after it.\n");
    let cut = cut(&text, 40);
    assert!(cut.iter().any(|piece| piece.text.contains(code)), "{:?}", texts(&cut));
}

#[test]
fn sections_are_borders() {
    let text = "# One\n\nAbout the first thing in a few words.\n\n# Two\n\nAbout the second thing in a few words.\n";
    let cut = cut(text, 24);
    let beginnings: Vec<&str> = texts(&cut).iter().map(|text| text.get(..5).unwrap()).collect();
    assert_eq!(beginnings, ["# One", "# Two"]);
}

#[test]
fn an_overlap_repeats_the_end_of_the_piece_before() {
    let text = "one two three. four five six. seven eight nine. ten eleven twelve. ".repeat(10);
    let cut = pieces(&text, 32, 12, &estimated_tokens).unwrap();
    check(&text, &cut, 32);
    assert!(cut.windows(2).all(|pair| pair[1].characters.0 < pair[0].characters.1), "{:?}", texts(&cut));
}

#[test]
fn nothing_and_too_little_are_told() {
    assert_eq!(cut("", 64), []);
    assert_eq!(cut(" \n\t\n", 64), []);
    assert!(pieces("a", 15, 0, &estimated_tokens).is_err());
    assert!(pieces("a", 64, 33, &estimated_tokens).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_cut_in_budget_and_without_loss(text in "(\\PC|[ \n.#`。]|M\\. |3\\.14){0,400}", most in 24_usize..80) {
        let cut = pieces(&text, most, most / 5, &estimated_tokens).unwrap();
        check(&text, &cut, most);
    }
}
