//! Dates.

use jiff::Timestamp;
use tidegate_memory::{MemoryError, Period};

fn ms(time: &str) -> i64 {
    time.parse::<Timestamp>().unwrap().as_millisecond()
}

#[test]
fn bounds_take_in_what_they_name() {
    let table = [
        // given, first and last moment
        ("2026-11-29", "2026-11-29T00:00:00Z", "2026-11-29T23:59:59.999Z"),
        ("2026-11-29[Asia/Tokyo]", "2026-11-28T15:00:00Z", "2026-11-29T14:59:59.999Z"),
        // Clocks go forward and back in Paris: days of 23 and 25 hours.
        ("2026-03-29[Europe/Paris]", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59.999Z"),
        ("2026-10-25[Europe/Paris]", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59.999Z"),
        // 02:30 does not exist then, and exists twice.
        ("2026-03-29T02:30[Europe/Paris]", "2026-03-29T01:30:00Z", "2026-03-29T01:30:59.999Z"),
        ("2026-10-25T02:30[Europe/Paris]", "2026-10-25T00:30:00Z", "2026-10-25T01:30:59.999Z"),
        ("2026-10-25T02:30:00+01:00[Europe/Paris]", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00.999Z"),
        ("2026-11-29T18:30", "2026-11-29T18:30:00Z", "2026-11-29T18:30:59.999Z"),
        ("2026-11-29T18:30:05", "2026-11-29T18:30:05Z", "2026-11-29T18:30:05.999Z"),
        ("2026-11-29 18:30:05", "2026-11-29T18:30:05Z", "2026-11-29T18:30:05.999Z"),
        ("2026-11-29T18:30:05.250Z", "2026-11-29T18:30:05.250Z", "2026-11-29T18:30:05.250Z"),
        ("2026-11-29T18:30:05+02:00", "2026-11-29T16:30:05Z", "2026-11-29T16:30:05.999Z"),
        (" 2026-11-29 ", "2026-11-29T00:00:00Z", "2026-11-29T23:59:59.999Z"),
    ];
    for (given, first, last) in table {
        let period = Period::parse(Some(given), Some(given)).unwrap();
        assert_eq!((period.from_ms, period.to_ms), (Some(ms(first)), Some(ms(last))), "{given}");
        assert!(period.holds(ms(first)) && period.holds(ms(last)), "{given}");
        assert!(!period.holds(ms(first) - 1) && !period.holds(ms(last) + 1), "{given}");
    }
}

#[test]
fn what_is_no_date_is_an_error_that_says_so() {
    for given in [
        "", "yesterday", "2026", "2026-11", "29.11.2026", "11/29/2026", "2026-13-01", "2026-02-30", "2026-11-29T25:00",
        "2026-11-29[Europe/Atlantis]", "2026-11-29[Europe/Paris", "20261129", "2026-W48-7", "2026-11-29T", "2026-11-29Z",
        "2026-11-29T18:30:00+99:00", "2026-11-29T18:30:00+05:00[Europe/Paris]",
    ] {
        let error = Period::parse(Some(given), None).unwrap_err();
        assert!(matches!(error, MemoryError::Date { what: "start_date", .. }), "{given:?}: {error}");
        assert!(error.to_string().contains("write ISO 8601"), "{error}");
    }
    let error = Period::parse(Some("2026-11-30"), Some("2026-11-29")).unwrap_err();
    assert_eq!(error.to_string(), "end_date 2026-11-29 lies before start_date 2026-11-30; swap them");
    assert_eq!(Period::parse(None, None).unwrap(), Period::default());
}
