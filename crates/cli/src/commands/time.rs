//! Moments, for people and for programs.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// RFC 3339 in UTC.
pub(super) fn time(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms)
        .map(|at| at.to_string())
        .unwrap_or_default()
}

/// Date and time of day in the system's zone.
pub(super) fn local_time(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms)
        .map(|at| {
            at.to_zoned_datetime(TimeZone::system())
                .strftime("%Y-%m-%d %H:%M:%S")
                .to_string()
        })
        .unwrap_or_default()
}
