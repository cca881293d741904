//! Typed pieces of text: dates, times, lengths of time, numbers and amounts, account numbers.
//!
//! One reader serves owner text and the values of calls, so that `May 15th, 2024` and `2024-05-15` are one date.

use super::numeral::{
    canonical_number, day_or_range, is_currency_name, is_currency_sign, iso, numeric_dates, split_letters,
};
use super::text::{Kind, Lexeme, Text};
use super::words::Vocabulary;

/// A date; the year may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Date {
    pub(crate) year: Option<i32>,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl Date {
    pub(crate) fn new(year: Option<i32>, month: u8, day: u8) -> Option<Self> {
        let longest = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 => 29,
            _ => return None,
        };
        let sane = year.is_none_or(|year| (1900..=2999).contains(&year));
        ((1..=longest).contains(&day) && sane).then_some(Self { year, month, day })
    }

    /// Whether `self`, as the owner wrote it, is the whole date `value`.
    pub(crate) fn names(self, value: Self) -> bool {
        self.month == value.month && self.day == value.day && (self.year.is_none() || self.year == value.year)
    }

    /// Days since 1970-01-01, by the Gregorian calendar (H. Hinnant's algorithm); none without a year.
    pub(crate) fn days(self) -> Option<i64> {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year?) - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
        Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
    }

    pub(crate) fn from_days(days: i64) -> Option<Self> {
        let days = days.checked_add(719_468)?;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self::new(
            Some(i32::try_from(year).ok()?),
            u8::try_from(month).ok()?,
            u8::try_from(day).ok()?,
        )
    }
}

/// A time of day, in minutes since midnight.
pub(crate) type Minutes = i64;

/// What a typed piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Date(Date),
    /// Days from today.
    Relative(i64),
    /// A day of the week, Monday 0.
    Weekday(u8),
    Time(Minutes),
    /// A length of time in minutes.
    Length(Minutes),
    /// A number in canonical decimal form; whether a currency stands beside it.
    Number {
        canonical: String,
        digits: usize,
        currency: bool,
    },
    /// An account or card number, without spaces and hyphens.
    Account(String),
}

/// A typed piece and the lexemes it is made of.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) shape: Shape,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Every typed piece of `text`, in order.
pub(crate) fn pieces(text: &Text, vocabulary: &Vocabulary) -> Vec<Piece> {
    let mut reader = Shapes {
        lexemes: &text.lexemes,
        vocabulary,
        found: Vec::new(),
    };
    reader.read();
    reader.share_years();
    reader.found
}

struct Shapes<'t> {
    lexemes: &'t [Lexeme],
    vocabulary: &'t Vocabulary,
    found: Vec<Piece>,
}

impl<'t> Shapes<'t> {
    fn word(&self, index: usize) -> Option<&'t str> {
        self.lexemes
            .get(index)
            .filter(|lexeme| lexeme.kind == Kind::Word)
            .map(|lexeme| lexeme.folded.as_str())
    }

    fn is_mark(&self, index: usize, mark: char) -> bool {
        self.lexemes.get(index).is_some_and(|lexeme| lexeme.is_mark(mark))
    }

    fn add(&mut self, shape: Shape, first: usize, last: usize) {
        self.found.push(Piece { shape, first, last });
    }

    fn read(&mut self) {
        let mut index = 0;
        while index < self.lexemes.len() {
            let last = self
                .date(index)
                .or_else(|| self.account(index))
                .or_else(|| self.length(index))
                .or_else(|| self.time(index))
                .or_else(|| self.number(index));
            index = last.map_or(index + 1, |last| last + 1);
        }
    }

    fn date(&mut self, index: usize) -> Option<usize> {
        let word = self.word(index)?;
        if let Some((date, time)) = iso(word) {
            self.add(Shape::Date(date), index, index);
            if let Some(time) = time {
                self.add(Shape::Time(time), index, index);
            }
            return Some(index);
        }
        let both = numeric_dates(word);
        if !both.is_empty() {
            for date in both {
                self.add(Shape::Date(date), index, index);
            }
            return Some(index);
        }
        if let Some(days) = self.vocabulary.relative_days.get(word) {
            self.add(Shape::Relative(*days), index, index);
            return Some(index);
        }
        if let Some(day) = self.vocabulary.weekdays.get(word) {
            self.add(Shape::Weekday(*day), index, index);
            return Some(index);
        }
        self.chinese_date(index)
            .or_else(|| self.day_first(index))
            .or_else(|| self.month_first(index))
    }

    /// `2024年5月15日`, `5月15号`.
    fn chinese_date(&mut self, index: usize) -> Option<usize> {
        let number = |index: usize| self.word(index).and_then(|word| word.parse::<i32>().ok());
        let mut at = index;
        let mut year = None;
        if self.word(at + 1) == Some("年") {
            year = Some(number(at)?);
            at += 2;
        }
        let month = if self.word(at + 1) == Some("月") {
            let month = number(at)?;
            at += 2;
            month
        } else {
            let month = self.word(at).filter(|word| word.ends_with('月'))?;
            let month = i32::from(*self.vocabulary.months.get(month)?);
            at += 1;
            month
        };
        let day = number(at)?;
        if !matches!(self.word(at + 1), Some("日" | "号")) {
            return None;
        }
        let date = Date::new(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?)?;
        self.add(Shape::Date(date), index, at + 1);
        Some(at + 1)
    }

    /// `15 May 2024`, `15. Mai`, `the 15th of May`, `15 de mayo de 2024`, and ranges `1-5 May`, `1 to 5 May`.
    fn day_first(&mut self, index: usize) -> Option<usize> {
        let (day, until) = day_or_range(self.word(index)?)?;
        let mut at = index + 1;
        if self.is_mark(at, '.') {
            at += 1;
        }
        let mut until = until;
        if let (Some("to" | "-" | "–" | "until" | "bis" | "au" | "al" | "a"), Some((second, None))) =
            (self.word(at), self.word(at + 1).and_then(day_or_range))
        {
            let after = at + 2 + usize::from(self.is_mark(at + 2, '.'));
            if self.month_at(skip_of(self, after)).is_some() {
                until = Some(second);
                at = after;
            }
        }
        at = skip_of(self, at);
        let month = self.month_at(at)?;
        let (year, last) = self.year_after(at);
        let first = Date::new(year, month, day)?;
        self.add(Shape::Date(first), index, last);
        if let Some(second) = until.and_then(|day| Date::new(year, month, day)) {
            self.add(Shape::Date(second), index, last);
        }
        Some(last)
    }

    /// `May 15th, 2024`, `May 1-5`, `May 1 to 5`.
    fn month_first(&mut self, index: usize) -> Option<usize> {
        let month = self.month_at(index)?;
        let at = index + 1 + usize::from(self.is_mark(index + 1, '.'));
        let (day, mut until) = day_or_range(self.word(at)?)?;
        let mut last = at;
        if let (Some("to" | "-" | "–" | "until" | "through"), Some((second, None))) =
            (self.word(at + 1), self.word(at + 2).and_then(day_or_range))
            && self.month_at(at + 3).is_none()
            && !matches!(self.word(at + 3), Some("of"))
        {
            until = Some(second);
            last = at + 2;
        }
        let (year, last) = self.year_after(last);
        let first = Date::new(year, month, day)?;
        self.add(Shape::Date(first), index, last);
        if let Some(second) = until.and_then(|day| Date::new(year, month, day)) {
            self.add(Shape::Date(second), index, last);
        }
        Some(last)
    }

    fn month_at(&self, index: usize) -> Option<u8> {
        let lexeme = self.lexemes.get(index)?;
        let month = *self.vocabulary.months.get(self.word(index)?)?;
        // `may` and `march` are verbs where they are not capitalised.
        (!matches!(lexeme.text.as_str(), "may" | "march" | "mars")).then_some(month)
    }

    /// A year after the lexeme `last`: the year, and the last lexeme of the date.
    fn year_after(&self, last: usize) -> (Option<i32>, usize) {
        let mut at = last + 1;
        if self.is_mark(at, ',')
            || self.is_mark(at, '.')
            || matches!(self.word(at), Some("de" | "of" | "del"))
        {
            at += 1;
        }
        let year = self
            .word(at)
            .filter(|word| word.len() == 4)
            .and_then(|word| word.parse().ok())
            .filter(|year| (1900..=2999).contains(year));
        match year {
            Some(year) => (Some(year), at),
            None => (None, last),
        }
    }

    /// `10:00`, `10am`, `10 AM`, `3:30 pm`, `at 10`, `10 Uhr 30`, `10h30`, `上午10点半`, `noon`.
    fn time(&mut self, index: usize) -> Option<usize> {
        let word = self.word(index)?;
        if let Some((hour, minute)) = self.vocabulary.clock.get(word) {
            self.add(
                Shape::Time(i64::from(*hour) * 60 + i64::from(*minute)),
                index,
                index,
            );
            return Some(index);
        }
        let before = index.checked_sub(1).and_then(|before| self.word(before));
        let afternoon = matches!(before, Some("下午" | "晚上"));
        let (body, suffix) = split_letters(word);
        let (hour, minute, colon) = match body.split_once([':', '.']) {
            Some((hour, minute)) if minute.len() == 2 || minute.len() == 5 => {
                let minute = minute.get(..2).unwrap_or_default();
                (
                    hour.parse::<i64>().ok()?,
                    minute.parse::<i64>().ok()?,
                    body.contains(':'),
                )
            }
            Some(_) => return None,
            None => (body.parse::<i64>().ok()?, 0, false),
        };
        if !(0..=24).contains(&hour) || !(0..60).contains(&minute) || body.len() > 8 {
            return None;
        }
        let mut last = index;
        let next = self.word(index + 1);
        let (hour, minute) = match (suffix, next) {
            ("am" | "a.m", _) => (hour % 12, minute),
            ("pm" | "p.m", _) => (hour % 12 + 12, minute),
            ("", Some("am" | "a.m" | "a.m.")) => {
                last += 1;
                (hour % 12, minute)
            }
            ("", Some("pm" | "p.m" | "p.m.")) => {
                last += 1;
                (hour % 12 + 12, minute)
            }
            ("", Some("uhr" | "h" | "heures" | "o'clock" | "horas"))
                if colon
                    || self.is_clock(index, before)
                    || next == Some("uhr")
                    || next == Some("o'clock") =>
            {
                last += 1;
                let minute = match self.word(index + 2).and_then(|word| word.parse::<i64>().ok()) {
                    Some(minute) if next == Some("uhr") && (0..60).contains(&minute) => {
                        last += 1;
                        minute
                    }
                    _ => minute,
                };
                (hour, minute)
            }
            ("", Some("点" | "时")) => {
                last += 1;
                let minute = match self.word(index + 2) {
                    Some("半") => {
                        last += 1;
                        30
                    }
                    Some(word) => match word.parse::<i64>() {
                        Ok(minute) if (0..60).contains(&minute) => {
                            last += 1 + usize::from(self.word(index + 3) == Some("分"));
                            minute
                        }
                        _ => 0,
                    },
                    None => 0,
                };
                (if afternoon && hour < 12 { hour + 12 } else { hour }, minute)
            }
            ("", _) if colon => (hour, minute),
            ("h", _) if self.is_clock(index, before) => (hour, minute),
            (suffix, _) if suffix.starts_with('h') && suffix.len() == 3 => (
                hour,
                suffix
                    .get(1..)?
                    .parse::<i64>()
                    .ok()
                    .filter(|minute| (0..60).contains(minute))?,
            ),
            ("", _) if self.is_clock(index, before) && !body.contains('.') => (hour, 0),
            _ => return None,
        };
        self.add(Shape::Time(hour * 60 + minute), index, last);
        Some(last)
    }

    /// Whether the word before says that a bare number is a time.
    fn is_clock(&self, index: usize, before: Option<&str>) -> bool {
        match before {
            Some("at" | "um" | "à" | "gegen") => true,
            Some("las") => index
                .checked_sub(2)
                .and_then(|index| self.word(index))
                .is_some_and(|word| word == "a" || word == "de"),
            _ => false,
        }
    }

    /// `one hour`, `1-hour`, `90 min`, `half an hour`, `eine Stunde`, `两小时`.
    fn length(&mut self, index: usize) -> Option<usize> {
        let word = self.word(index)?;
        if let Some((number, unit)) = word.split_once('-')
            && let (Some(number), Some(unit)) = (self.counting(number), self.vocabulary.units.get(unit))
        {
            self.add(Shape::Length(number * i64::from(*unit)), index, index);
            return Some(index);
        }
        let (body, suffix) = split_letters(word);
        if !body.is_empty()
            && suffix != "h"
            && let (Ok(number), Some(unit)) = (body.parse::<i64>(), self.vocabulary.units.get(suffix))
            && (0..=10_000).contains(&number)
        {
            self.add(Shape::Length(number * i64::from(*unit)), index, index);
            return Some(index);
        }
        if word == "half"
            && matches!(self.word(index + 1), Some("an" | "a"))
            && self.word(index + 2) == Some("hour")
        {
            self.add(Shape::Length(30), index, index + 2);
            return Some(index + 2);
        }
        if matches!(word, "an" | "a" | "ein" | "eine" | "einer" | "un" | "une" | "una") {
            let unit = self
                .word(index + 1)
                .and_then(|unit| self.vocabulary.units.get(unit))?;
            self.add(Shape::Length(i64::from(*unit)), index, index + 1);
            return Some(index + 1);
        }
        let number = self.counting(word)?;
        let mut at = index + 1;
        if matches!(self.word(at), Some("个" | "full" | "whole")) {
            at += 1;
        }
        let unit = self.word(at)?;
        // `at 10 h` is a time.
        if unit == "h" && self.is_clock(index, index.checked_sub(1).and_then(|before| self.word(before))) {
            return None;
        }
        let unit = self.vocabulary.units.get(unit)?;
        self.add(Shape::Length(number * i64::from(*unit)), index, at);
        Some(at)
    }

    fn counting(&self, word: &str) -> Option<i64> {
        if let Ok(number) = word.parse::<i64>() {
            return (0..=10_000).contains(&number).then_some(number);
        }
        self.vocabulary.number(word).map(i64::from)
    }

    /// An IBAN, a card number, a long run of digits; written with spaces or hyphens or without.
    fn account(&mut self, index: usize) -> Option<usize> {
        let lexeme = self
            .lexemes
            .get(index)
            .filter(|lexeme| lexeme.kind == Kind::Word)?;
        let first = lexeme.text.trim_start_matches(['+', '#']);
        let is_part = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-')
        };
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
        if !is_part(first) || digits(first) < 2 {
            return None;
        }
        let mut whole = first.replace('-', "");
        let mut last = index;
        let is_iban = whole.len() >= 4
            && whole.chars().take(2).all(|c| c.is_ascii_uppercase())
            && whole.chars().skip(2).take(2).all(|c| c.is_ascii_digit());
        let international = lexeme.text.starts_with('+');
        if is_iban || (whole.len() <= 4 && digits(&whole) == whole.len() && whole.len() >= 3) || international
        {
            // Groups of the same number, each a space apart.
            while let Some(next) = self.lexemes.get(last + 1) {
                let end = self.lexemes.get(last).map_or(0, |lexeme| lexeme.end);
                let group = next.kind == Kind::Word
                    && next.start == end + 1
                    && next.text.len() <= if international { 10 } else { 4 }
                    && is_part(&next.text)
                    && (digits(&next.text) >= 1 || (is_iban && whole.len() == 4))
                    && (is_iban || digits(&next.text) == next.text.len());
                if !group || whole.len() > 34 {
                    break;
                }
                whole.push_str(&next.text.replace('-', ""));
                last += 1;
            }
        }
        let count = digits(&whole);
        let fits = (is_iban && whole.len() >= 12 && count >= 8)
            || (count >= 8 && (count == whole.len() || whole.len() >= 10));
        if !fits {
            return None;
        }
        self.add(Shape::Account(whole), index, last);
        Some(last)
    }

    fn number(&mut self, index: usize) -> Option<usize> {
        let lexeme = self
            .lexemes
            .get(index)
            .filter(|lexeme| lexeme.kind == Kind::Word)?;
        let bare = lexeme.folded.trim_matches(is_currency_sign);
        let bare = bare.strip_prefix('#').unwrap_or(bare);
        let (number, suffix) = match bare.find(|c: char| c.is_alphabetic()) {
            Some(at) => (bare.get(..at)?, bare.get(at..)?),
            None => (bare, ""),
        };
        let canonical = canonical_number(number)?;
        let next = self.word(index + 1);
        let before = index.checked_sub(1).and_then(|before| self.word(before));
        let signed = lexeme.folded.chars().any(is_currency_sign);
        let named_after = is_currency_name(suffix) || next.is_some_and(is_currency_name);
        let named_before = before.is_some_and(|word| is_currency_name(word) && word.len() == 3);
        if !suffix.is_empty() && !is_currency_name(suffix) {
            return None;
        }
        let digits = canonical.chars().filter(char::is_ascii_digit).count();
        self.add(
            Shape::Number {
                canonical,
                digits,
                currency: signed || named_after || named_before,
            },
            index,
            index,
        );
        Some(index)
    }

    /// `January 11th to January 15th 2025`: the year belongs to both.
    fn share_years(&mut self) {
        let mut after: Option<(usize, i32)> = None;
        for piece in self.found.iter_mut().rev() {
            if let Shape::Date(date) = &mut piece.shape {
                match (date.year, after) {
                    (Some(year), _) => after = Some((piece.first, year)),
                    (None, Some((first, year))) if first > piece.last && first - piece.last <= 2 => {
                        date.year = Some(year);
                        after = Some((piece.first, year));
                    }
                    (None, _) => after = None,
                }
            }
        }
    }
}

fn skip_of(shapes: &Shapes<'_>, index: usize) -> usize {
    match shapes.word(index) {
        Some("of" | "de" | "d") => index + 1,
        _ => index,
    }
}
