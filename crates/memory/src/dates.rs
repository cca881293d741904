//! Dates of a search.

use crate::MemoryError;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ZonedDateTime};

/// A time from and to which something is, both included. Without bounds by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The first millisecond since 1970 (UTC) that belongs to it.
    pub from_ms: Option<i64>,
    /// The last one.
    pub to_ms: Option<i64>,
}

/// Milliseconds of a moment and of the end of its unit: a day, a minute, a second, or itself.
type Bounds = (i64, i64);

impl Period {
    /// From `start` to `end`, each ISO 8601 and perhaps missing:
    ///
    /// - `2026-11-29`: the whole day, in UTC; `2026-11-29[Europe/Paris]`: the whole day there, which may have 23 or 25
    ///   hours;
    /// - `2026-11-29T18:30` or `…:05`, with `Z`, an offset, a zone in brackets, or nothing for UTC. As an end it takes in
    ///   the whole minute or second it names.
    ///
    /// A time that a zone has twice (clocks go back) means the first as a start and the second as an end: nothing is left
    /// out. One that it does not have (clocks go forward) is as much later as the clocks were moved: 02:30 is 03:30.
    ///
    /// # Errors
    /// [`MemoryError::Date`], [`MemoryError::EmptyPeriod`].
    pub fn parse(start: Option<&str>, end: Option<&str>) -> Result<Self, MemoryError> {
        let from_ms = start.map(|text| bounds("start_date", text)).transpose()?.map(|(first, _)| first);
        let to_ms = end.map(|text| bounds("end_date", text)).transpose()?.map(|(_, last)| last);
        if let (Some(from), Some(to), Some(start), Some(end)) = (from_ms, to_ms, start, end)
            && from > to
        {
            return Err(MemoryError::EmptyPeriod {
                start: start.into(),
                end: end.into(),
            });
        }
        Ok(Self { from_ms, to_ms })
    }

    /// Whether a time, in milliseconds since 1970 (UTC), belongs to it.
    pub fn holds(self, time_ms: i64) -> bool {
        self.from_ms.is_none_or(|from| from <= time_ms) && self.to_ms.is_none_or(|to| time_ms <= to)
    }
}

fn bounds(what: &'static str, given: &str) -> Result<Bounds, MemoryError> {
    let text = given.trim();
    parse(text).map_err(|problem| MemoryError::Date {
        what,
        given: tidegate_tools::graphemes_within(given, 60).to_owned(),
        problem,
    })
}

fn parse(text: &str) -> Result<Bounds, String> {
    let (time, zone) = match text.split_once('[') {
        Some((time, rest)) => {
            let name = rest.strip_suffix(']').ok_or("the zone's bracket is not closed")?;
            let zone = TimeZoneDatabase::bundled()
                .get(name)
                .map_err(|_| format!("there is no time zone {name:?}"))?;
            (time, Some(zone))
        }
        None => (text, None),
    };
    let (date, clock) = match time.find(['T', 't', ' ']) {
        Some(place) => (time.get(..place).unwrap_or_default(), time.get(place + 1..)),
        None => (time, None),
    };
    // Nothing but YYYY-MM-DD: jiff also reads forms that people mistake for others.
    let is_plain = date.len() == 10 && date.bytes().filter(|byte| *byte == b'-').count() == 2;
    if !is_plain {
        return Err("it does not begin with a date like 2026-11-29".into());
    }
    let date: Date = date.parse().map_err(|error: jiff::Error| error.to_string())?;
    let Some(clock) = clock else {
        return day(date, zone.unwrap_or(TimeZone::UTC));
    };
    let offset = clock.find(['Z', 'z', '+', '-', '−']);
    let plain = offset.and_then(|place| clock.get(..place)).unwrap_or(clock);
    let unit_ms = match plain.bytes().filter(|byte| *byte == b':').count() {
        _ if plain.contains(['.', ',']) => 1,
        0 | 1 => 60_000,
        _ => 1_000,
    };
    let moment = format!("{date}T{clock}");
    match (offset, zone) {
        (Some(_), None) => {
            let first: Timestamp = moment.parse().map_err(|error: jiff::Error| error.to_string())?;
            Ok(unit(first.as_millisecond(), first.as_millisecond(), unit_ms))
        }
        (Some(_), Some(zone)) => {
            let name = zone.iana_name().unwrap_or("UTC");
            let zoned: ZonedDateTime = format!("{moment}[{name}]")
                .parse()
                .map_err(|error: jiff::Error| error.to_string())?;
            let first = zoned.timestamp().as_millisecond();
            Ok(unit(first, first, unit_ms))
        }
        (None, zone) => {
            let local: DateTime = moment.parse().map_err(|error: jiff::Error| error.to_string())?;
            let ambiguous = zone.unwrap_or(TimeZone::UTC).to_ambiguous_zoned_datetime(local);
            let first = ambiguous.clone().compatible().map_err(|error| error.to_string())?;
            let last = if matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. }) {
                ambiguous.later().map_err(|error| error.to_string())?
            } else {
                first.clone()
            };
            Ok(unit(
                first.timestamp().as_millisecond(),
                last.timestamp().as_millisecond(),
                unit_ms,
            ))
        }
    }
}

fn unit(first: i64, last: i64, unit_ms: i64) -> Bounds {
    (first, last.saturating_add(unit_ms - 1))
}

fn day(date: Date, zone: TimeZone) -> Result<Bounds, String> {
    let of = |date: Date| {
        let start = date.to_zoned_datetime(zone.clone()).and_then(|zoned| zoned.start_of_day());
        start.map(|start| start.timestamp().as_millisecond())
    };
    let first = of(date).map_err(|error| error.to_string())?;
    let next = date.tomorrow().and_then(of).map_err(|error| error.to_string())?;
    Ok((first, next - 1))
}
