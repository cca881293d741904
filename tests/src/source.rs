//! Looking at Rust source as tokens: comments and string literals cannot be mistaken for code, and code inside
//! macro calls (as in `proptest!`) is seen.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// The tokens of one source file.
#[derive(Clone, Debug)]
pub struct Source {
    tokens: TokenStream,
}

/// A function found in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it carries `#[test]` or an attribute that ends so, as `#[tokio::test]`.
    pub is_test: bool,
}

/// An attribute found in a source file.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// The line of its opening bracket, from 1.
    pub(crate) line: usize,
    /// The identifiers between the brackets, not those of nested groups: `tokio`, `test`.
    pub(crate) path: Vec<String>,
    /// Every identifier within.
    pub(crate) words: Vec<String>,
}

impl Source {
    /// The tokens of `text`, or where it stops being Rust.
    pub fn parse(text: &str) -> Result<Self, LexError> {
        Ok(Self {
            tokens: text.parse()?,
        })
    }

    /// Every function, at any depth.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        each_sequence(&self.tokens, &mut |trees| {
            collect_functions(trees, &mut functions)
        });
        functions
    }

    /// Every attribute, at any depth. Doc comments count as `#[doc = …]`.
    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        each_sequence(&self.tokens, &mut |trees| {
            attributes.extend(attribute_groups(trees).into_iter().map(Attribute::new));
        });
        attributes
    }

    /// Every identifier outside attributes, at any depth, with its line from 1.
    pub(crate) fn words(&self) -> Vec<(usize, String)> {
        let mut words = Vec::new();
        collect_words(&self.tokens, &mut words);
        words
    }
}

impl Attribute {
    fn new(group: &Group) -> Self {
        let mut words = Vec::new();
        collect_words(&group.stream(), &mut words);
        Self {
            line: group.span_open().start().line,
            path: group
                .stream()
                .into_iter()
                .filter_map(|tree| identifier(&tree))
                .collect(),
            words: words.into_iter().map(|(_, word)| word).collect(),
        }
    }

    fn is_test(&self) -> bool {
        // The last word, so that `cfg(test)`, where it is nested, is none.
        self.path.last().is_some_and(|word| word == "test")
    }
}

/// Shows `look` the file's own sequence of tokens and that of every group within.
fn each_sequence(tokens: &TokenStream, look: &mut impl FnMut(&[TokenTree])) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    look(&trees);
    for tree in &trees {
        if let TokenTree::Group(group) = tree {
            each_sequence(&group.stream(), look);
        }
    }
}

/// The bracketed groups behind `#` or `#!` in one sequence.
fn attribute_groups(trees: &[TokenTree]) -> Vec<&Group> {
    let mut groups = Vec::new();
    let mut opened = false;
    for tree in trees {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' => opened = true,
            TokenTree::Punct(punct) if punct.as_char() == '!' && opened => {}
            TokenTree::Group(group) if opened && group.delimiter() == Delimiter::Bracket => {
                groups.push(group);
                opened = false;
            }
            _ => opened = false,
        }
    }
    groups
}

fn collect_words(tokens: &TokenStream, words: &mut Vec<(usize, String)>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let attributes: Vec<_> = attribute_groups(&trees)
        .iter()
        .map(|group| position(group))
        .collect();
    for tree in &trees {
        match tree {
            TokenTree::Ident(word) => words.push((word.span().start().line, word.to_string())),
            TokenTree::Group(group) if !attributes.contains(&position(group)) => {
                collect_words(&group.stream(), words);
            }
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn position(group: &Group) -> (usize, usize) {
    let start = group.span_open().start();
    (start.line, start.column)
}

fn collect_functions(trees: &[TokenTree], functions: &mut Vec<Function>) {
    // Attributes since the last item ended: a body, or a semicolon.
    let mut is_test = false;
    let mut opened = false;
    let mut after_fn = false;
    for tree in trees {
        match tree {
            TokenTree::Ident(word) if after_fn => {
                functions.push(Function {
                    name: word.to_string(),
                    is_test,
                });
                is_test = false;
                after_fn = false;
            }
            TokenTree::Ident(word) => {
                after_fn = word == "fn";
                opened = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' => opened = true,
            TokenTree::Punct(punct) if punct.as_char() == '!' && opened => {}
            TokenTree::Punct(punct) => {
                is_test &= punct.as_char() != ';';
                opened = false;
                after_fn = false;
            }
            TokenTree::Group(group) => {
                match group.delimiter() {
                    Delimiter::Bracket if opened => is_test |= Attribute::new(group).is_test(),
                    Delimiter::Brace => is_test = false,
                    Delimiter::Bracket | Delimiter::Parenthesis | Delimiter::None => {}
                }
                opened = false;
                after_fn = false;
            }
            TokenTree::Literal(_) => {
                opened = false;
                after_fn = false;
            }
        }
    }
}

fn identifier(tree: &TokenTree) -> Option<String> {
    match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(text: &str) -> Vec<(String, bool)> {
        let functions = Source::parse(text).unwrap().functions();
        functions
            .into_iter()
            .map(|function| (function.name, function.is_test))
            .collect()
    }

    #[test]
    fn functions_are_found_where_they_are_code_and_tests_told_from_others() {
        for (text, expected) in [
            ("fn a() {}", vec![("a", false)]),
            ("#[test] fn a() {} fn b() {}", vec![("a", true), ("b", false)]),
            (
                "#[test]\n#[should_panic]\npub(crate) async fn a() {}",
                vec![("a", true)],
            ),
            (
                "#[tokio::test(flavor = \"multi_thread\")] async fn a() {}",
                vec![("a", true)],
            ),
            ("#[cfg(test)] fn a() {}", vec![("a", false)]),
            (
                "#[cfg(test)] mod tests { #[test] fn a() { fn b() {} } }",
                vec![("a", true), ("b", false)],
            ),
            ("proptest! { #[test] fn a(x in 0..9) { } }", vec![("a", true)]),
            ("#[test] const X: u8 = 1; fn a() {}", vec![("a", false)]),
            (
                "// fn a() {}\n/* fn b() {} */\nconst X: &str = \"fn c() {}\";",
                vec![],
            ),
            ("type X = fn(u8) -> u8;", vec![]),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(name, test)| (name.to_owned(), test))
                .collect();
            let mut found = functions(text);
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }
}
