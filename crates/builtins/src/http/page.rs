//! A web page as text.
//!
//! The page is read token by token and never made into a tree: the work grows with its length alone, whatever its
//! author nested in what.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;
use url::Url;

/// The longest tag that is looked into, in bytes: the work on a tag grows with the square of its attributes.
const LONGEST_TAG: usize = 64 << 10;

/// The longest address of a link that is told, in bytes.
const LONGEST_LINK: usize = 2_000;

/// Elements whose content is no text of the page.
const UNSEEN: [&str; 6] = ["iframe", "noembed", "noframes", "script", "style", "xmp"];

/// Elements that begin and end on a line of their own.
const BLOCKS: [&str; 38] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "legend",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tr",
    "ul",
];

/// Elements around which a line is left free.
const APART: [&str; 14] = [
    "blockquote",
    "dl",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ol",
    "p",
    "pre",
    "table",
    "ul",
];

/// The text of `page`, which was fetched from `url`: blocks on lines of their own, headings and items marked, links
/// with their whole address behind them. A page with a tag of absurd length is given as it is.
pub(super) fn text(page: String, url: &Url) -> String {
    if has_endless_tag(&page) {
        return page;
    }
    let tokenizer = Tokenizer::new(
        Reader {
            url: url.clone(),
            state: RefCell::default(),
        },
        TokenizerOpts::default(),
    );
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    // It stops before the end only for scripts that are to be run, and here none is.
    let _whole = tokenizer.feed(&input);
    tokenizer.end();
    let mut text = tokenizer.sink.state.take().text;
    text.truncate(text.trim_end().len());
    text
}

fn has_endless_tag(page: &str) -> bool {
    let mut rest = page.as_bytes();
    while let Some(begin) = rest.iter().position(|byte| *byte == b'<') {
        rest = rest.get(begin + 1..).unwrap_or_default();
        if !rest.first().is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let beginning = rest.get(..LONGEST_TAG).unwrap_or(rest);
        match beginning.iter().position(|byte| *byte == b'>') {
            Some(end) => rest = rest.get(end..).unwrap_or_default(),
            None => return rest.len() > LONGEST_TAG,
        }
    }
    false
}

struct Reader {
    url: Url,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    text: String,
    /// White space that is written before the next word, if one comes.
    gap: Gap,
    /// How deep in `pre`.
    preformatted: usize,
    /// The element whose content is left out.
    unseen: Option<String>,
    /// Where a link's text began, and its address.
    link: Option<(usize, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.say(&text),
            Token::TagToken(tag) => {
                let name = &*tag.name;
                return match tag.kind {
                    TagKind::StartTag => state.open(name, &tag, &self.url),
                    TagKind::EndTag => {
                        state.close(name);
                        TokenSinkResult::Continue
                    }
                };
            }
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn say(&mut self, text: &str) {
        if self.unseen.is_some() {
            return;
        }
        if self.preformatted > 0 {
            self.write_gap();
            self.text.push_str(text);
            return;
        }
        let mut words = text.split(|character: char| character.is_ascii_whitespace());
        if let Some(first) = words.next() {
            self.word(first);
        }
        for word in words {
            self.gap = self.gap.max(Gap::Space);
            self.word(word);
        }
    }

    fn word(&mut self, word: &str) {
        if !word.is_empty() {
            self.write_gap();
            self.text.push_str(word);
        }
    }

    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let breaks = self
            .text
            .chars()
            .rev()
            .take(2)
            .take_while(|last| *last == '\n')
            .count();
        match gap {
            _ if self.text.is_empty() => {}
            Gap::None => {}
            Gap::Space => {
                if !self.text.ends_with([' ', '\n']) {
                    self.text.push(' ');
                }
            }
            Gap::Line | Gap::Paragraph => {
                let wanted = if gap == Gap::Line { 1 } else { 2 };
                (breaks..wanted).for_each(|_| self.text.push('\n'));
            }
        }
    }

    fn apart(&mut self, name: &str) {
        let gap = if APART.contains(&name) || name == "title" {
            Gap::Paragraph
        } else if BLOCKS.contains(&name) {
            Gap::Line
        } else {
            return;
        };
        self.gap = self.gap.max(gap);
    }

    fn open(&mut self, name: &str, tag: &Tag, url: &Url) -> TokenSinkResult<()> {
        let attribute = |wanted: &str| {
            tag.attrs
                .iter()
                .find(|attribute| &*attribute.name.local == wanted)
                .map(|attribute| attribute.value.to_string())
        };
        self.apart(name);
        if UNSEEN.contains(&name) {
            self.unseen = Some(name.to_owned());
            return TokenSinkResult::RawData(if name == "script" {
                RawKind::ScriptData
            } else {
                RawKind::Rawtext
            });
        }
        match name {
            "title" | "textarea" => return TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => return TokenSinkResult::Plaintext,
            "pre" => self.preformatted += 1,
            "br" => self.gap = self.gap.max(Gap::Line),
            "td" | "th" => self.gap = self.gap.max(Gap::Space),
            "li" => self.mark("- "),
            "hr" => {
                self.mark("---");
                self.gap = Gap::Line;
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let depth = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.mark(&format!("{} ", "#".repeat(depth)));
            }
            "img" => {
                if let Some(alternative) = attribute("alt").filter(|text| !text.trim().is_empty()) {
                    self.say(&format!(" [image: {}] ", alternative.trim()));
                }
            }
            "a" => {
                self.end_link();
                let target = attribute("href").and_then(|target| url.join(&target).ok());
                let target = target.filter(|target| {
                    matches!(target.scheme(), "http" | "https" | "mailto")
                        && target.as_str().len() <= LONGEST_LINK
                });
                self.link = target.map(|target| (self.text.len(), target.into()));
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }

    fn mark(&mut self, mark: &str) {
        self.write_gap();
        self.text.push_str(mark);
    }

    fn close(&mut self, name: &str) {
        if self.unseen.as_deref() == Some(name) {
            self.unseen = None;
        }
        match name {
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "a" => self.end_link(),
            _ => {}
        }
        self.apart(name);
    }

    /// Puts a link's address behind its text; a link without a text is nothing one can see.
    fn end_link(&mut self) {
        let Some((begin, target)) = self.link.take() else {
            return;
        };
        let text = self.text.get(begin..).unwrap_or_default().trim();
        if !text.is_empty() && text != target {
            self.text.push_str(&format!(" <{target}>"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    fn read(page: &str) -> String {
        text(page.to_owned(), &"https://example.com/a/b".parse().unwrap())
    }

    #[test]
    fn a_page_is_told_as_people_read_it() {
        let page = "<!doctype html><html><head><title>High &amp; low</title><style>p { color: red }</style>
            <script>if (1 < 2) { document.write('<p>no</p>') }</script></head>
            <body><!-- no --><h1>Tides</h1><p>The   water\n rises <b>twice</b> a day<br>and falls.</p>
            <ul><li>one<li>two &lt;b&gt;</ul>
            <table><tr><th>when<th>how high<tr><td>6:00<td>3 m</table>
            <pre>  keep\n    this</pre><p>See <a href=\"../tables?x=1\">the tables</a>, <a href='javascript:x()'>not this</a>,
            <a href=https://example.org/>https://example.org/</a><img src=x.png alt='A chart'></body></html>";
        insta::assert_snapshot!(read(page), @"
        High & low

        # Tides

        The water rises twice a day
        and falls.

        - one
        - two <b>

        when how high
        6:00 3 m

          keep
            this

        See the tables <https://example.com/tables?x=1>, not this, https://example.org/ [image: A chart]
        ");
    }

    #[test]
    fn a_broken_page_is_read_as_far_as_it_goes() {
        let table = [
            ("", ""),
            ("plain", "plain"),
            ("<", "<"),
            ("<p", ""),
            ("<p>a<script>b", "a"),
            ("<p>a<!-- b", "a"),
            ("a</p></pre></a>b", "a\n\nb"),
            ("<a href='/x'>a<a href='/y'>b", "a <https://example.com/x>b"),
            ("&#0;&#x110000;&nosuch;", "\u{fffd}\u{fffd}&nosuch;"),
            ("<plaintext>a<b>", "a<b>"),
        ];
        for (page, expected) in table {
            assert_eq!(read(page), expected, "{page}");
        }
    }

    #[test]
    fn deep_or_long_pages_take_no_more_than_their_length() {
        for part in [
            "<div>",
            "<ul><li>",
            "<b id=x><p>",
            "<table><tr><td>",
            "<blockquote>",
            "<svg>",
            "<pre>",
            "<!--",
            "<a href=x>y",
        ] {
            let page = part.repeat(20_000);
            assert!(read(&page).len() <= 10 * page.len(), "{part}");
        }
        for part in ["<", "<!", "<a", "&", "</", "<p <"] {
            read(&part.repeat(1 << 20));
        }
        let endless = format!("<p {}>text", "a=b ".repeat(20_000));
        assert_eq!(read(&endless), endless);
    }
}
