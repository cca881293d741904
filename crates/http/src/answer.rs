//! Answers.

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use std::time::{Duration, SystemTime};

/// Whether the same request may be answered another time: 408, 425, 429 and 5xx.
pub fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        )
}

/// How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3). A
/// date that has passed means now; what cannot be read means nothing.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |value: Option<&reqwest::header::HeaderValue>| {
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or_default().trim().to_owned()
    };
    let number = |text: &str| text.parse::<f64>().ok();
    let milliseconds = number(&header(headers.get("retry-after-ms")));
    if let Some(wait) = milliseconds.and_then(|wait| Duration::try_from_secs_f64(wait / 1000.0).ok()) {
        return Some(wait);
    }
    let text = header(headers.get(RETRY_AFTER));
    match number(&text) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let date = httpdate::parse_http_date(&text).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

/// The first `most` bytes of the body. What comes after them is not waited for.
///
/// # Errors
/// The connection broke before.
pub async fn read_up_to(mut response: Response, most: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < most {
        match response.chunk().await? {
            Some(bytes) => body.extend(bytes.iter().take(most - body.len())),
            None => break,
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn the_wait_a_server_asks_for_is_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let later = httpdate::fmt_http_date(now + Duration::from_secs(60));
        let past = httpdate::fmt_http_date(now - Duration::from_secs(60));
        for (name, value, expected) in [
            ("retry-after", "2", Some(2_000)),
            ("retry-after", " 0.5 ", Some(500)),
            ("retry-after-ms", "20", Some(20)),
            ("retry-after-ms", "-20", None),
            ("retry-after", later.as_str(), Some(60_000)),
            ("retry-after", past.as_str(), Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("retry-after", "soon", None),
            ("other", "2", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            );
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }

    #[test]
    fn only_what_may_go_better_is_tried_again() {
        for (status, expected) in [
            (408, true),
            (425, true),
            (429, true),
            (500, true),
            (503, true),
            (400, false),
            (401, false),
            (404, false),
            (302, false),
        ] {
            assert_eq!(
                is_transient(StatusCode::from_u16(status).unwrap()),
                expected,
                "{status}"
            );
        }
    }
}
