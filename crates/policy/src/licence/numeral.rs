//! Single words that are numbers, days or dates.

use super::shape::{Date, Minutes};

/// `15`, `15th`, `1er`, `1-5`.
pub(super) fn day_or_range(word: &str) -> Option<(u8, Option<u8>)> {
    if let Some((first, second)) = word.split_once(['-', '–']) {
        return Some((day(first)?, Some(day(second)?)));
    }
    Some((day(word)?, None))
}

fn day(word: &str) -> Option<u8> {
    let (number, suffix) = split_letters(word);
    let fits = matches!(suffix, "" | "st" | "nd" | "rd" | "th" | "er" | "º" | "ª");
    number
        .parse::<u8>()
        .ok()
        .filter(|day| fits && (1..=31).contains(day))
}

/// The leading part up to the first letter, and the rest.
pub(super) fn split_letters(word: &str) -> (&str, &str) {
    match word.find(char::is_alphabetic) {
        Some(at) => (
            word.get(..at).unwrap_or_default(),
            word.get(at..).unwrap_or_default(),
        ),
        None => (word, ""),
    }
}

/// `2024-05-15`, `2024/05/15`, `2024-05-15t10:00:00z`.
pub(super) fn iso(word: &str) -> Option<(Date, Option<Minutes>)> {
    let (date, time) = match word.split_once('t') {
        Some((date, time)) => (date, Some(time)),
        None => (word, None),
    };
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 || month.len() > 2 || day.len() > 2 {
        return None;
    }
    let date = Date::new(Some(year.parse().ok()?), month.parse().ok()?, day.parse().ok()?)?;
    let time = match time {
        None => None,
        Some(time) => {
            let (hour, rest) = time.split_once(':')?;
            let (minute, rest) = (rest.get(..2)?, rest.get(2..)?);
            // An offset other than UTC's would be another moment.
            let zone = rest.trim_start_matches([':', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            if !matches!(zone, "" | "z") {
                return None;
            }
            let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
            if !(0..=24).contains(&hour) || !(0..60).contains(&minute) {
                return None;
            }
            Some(hour * 60 + minute)
        }
    };
    Some((date, time))
}

/// `15.05.2024`, `15/05/2024`, `05/15/2024`, `15.05.`: both readings where both are dates.
pub(super) fn numeric_dates(word: &str) -> Vec<Date> {
    let separator = if word.contains('.') { '.' } else { '/' };
    let parts: Vec<&str> = word.split(separator).collect();
    let [first, second, year] = parts.as_slice() else {
        return Vec::new();
    };
    let (Ok(first), Ok(second)) = (first.parse::<u8>(), second.parse::<u8>()) else {
        return Vec::new();
    };
    let year = match (year.len(), year.parse::<i32>()) {
        (4, Ok(year)) => year,
        (2, Ok(year)) => 2000 + year,
        _ => return Vec::new(),
    };
    let mut dates: Vec<Date> = Date::new(Some(year), second, first).into_iter().collect();
    if separator == '/' && first != second {
        dates.extend(Date::new(Some(year), first, second));
    }
    dates
}

pub(super) fn is_currency_sign(character: char) -> bool {
    matches!(character, '$' | '€' | '£' | '¥' | '₹' | '₩' | '元' | '￥')
}

pub(super) fn is_currency_name(word: &str) -> bool {
    matches!(
        word,
        "usd"
            | "eur"
            | "gbp"
            | "chf"
            | "jpy"
            | "cny"
            | "rmb"
            | "cad"
            | "aud"
            | "sek"
            | "inr"
            | "dollar"
            | "dollars"
            | "euro"
            | "euros"
            | "pound"
            | "pounds"
            | "franken"
            | "francs"
            | "dólares"
            | "dolares"
            | "yuan"
            | "元"
            | "块"
            | "pesos"
            | "美元"
            | "欧元"
            | "€"
            | "$"
            | "£"
    )
}

/// A decimal number without needless zeros and without thousands separators.
pub(crate) fn canonical_number(text: &str) -> Option<String> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if text.is_empty()
        || text.len() > 40
        || !text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '_'))
    {
        return None;
    }
    let decimal = match (text.rfind('.'), text.rfind(',')) {
        (Some(dot), Some(comma)) => Some(dot.max(comma)),
        (Some(dot), None) => (text.matches('.').count() == 1).then_some(dot),
        (None, Some(comma)) => {
            let after = text.len() - comma - 1;
            (text.matches(',').count() == 1 && after != 3).then_some(comma)
        }
        (None, None) => None,
    };
    let (whole, fraction) = match decimal {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let digits = |part: &str| part.chars().filter(char::is_ascii_digit).collect::<String>();
    let whole = digits(whole);
    if !fraction.chars().all(|c| c.is_ascii_digit()) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    let sign = if negative { "-" } else { "" };
    Some(if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    })
}
