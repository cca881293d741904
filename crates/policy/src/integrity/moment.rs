//! Whether a date or time is one the owner set, or follows from one.

use super::given::Given;
use super::scope::Scope;
use super::trust::{Finding, Form, Trust};
use crate::licence::{Date, Minutes, Shape};

impl Trust<'_> {
    fn dates(&self, scope: &Scope<'_>) -> Vec<Date> {
        let today = self.ledger.today;
        scope
            .nearest(|shape| match shape {
                Shape::Date(date) => Some(vec![*date]),
                Shape::Relative(days) => Some(Date::from_days(today? + days).into_iter().collect()),
                Shape::Weekday(day) => {
                    let today = today?;
                    // 1970-01-01 was a Thursday. The next such day, and the one of the week after.
                    let ahead = (i64::from(*day) - (today + 3)).rem_euclid(7);
                    let ahead = if ahead == 0 { 7 } else { ahead };
                    Some(
                        [ahead, ahead + 7]
                            .iter()
                            .filter_map(|days| Date::from_days(today + days))
                            .collect(),
                    )
                }
                _ => None,
            })
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn moment(
        &self,
        given: &Given,
        date: Option<Date>,
        time: Option<Minutes>,
    ) -> Result<Finding, String> {
        let refused = Err("it is no date or time the owner set".to_owned());
        let Some(scope) = self.scope else { return refused };
        let dates = self.dates(scope);
        let times = scope.nearest(|shape| match shape {
            Shape::Time(time) => Some(*time),
            _ => None,
        });
        let lengths = scope.nearest(|shape| match shape {
            Shape::Length(length) => Some(*length),
            _ => None,
        });
        let is_date = |date: Date| dates.iter().any(|named| named.names(date));
        if self.is_end(given)
            && let Some(finding) = self.end(given, date, time, &dates, &times, &lengths)
        {
            return Ok(finding);
        }
        let date_fits = date.is_none_or(is_date);
        let time_fits = time.is_none_or(|time| {
            times.contains(&time)
                || (times.is_empty()
                    && date.is_some()
                    && (time == 0 || (self.is_end(given) && time == 23 * 60 + 59)))
        });
        if date_fits && time_fits {
            return Ok(Finding::owner(&given.text));
        }
        refused
    }

    fn is_end(&self, given: &Given) -> bool {
        given
            .words
            .iter()
            .any(|word| self.ledger.vocabulary.end_arguments.contains(word))
    }

    /// An end that follows from the start: by a length the owner named, else by the usual hour, else as the whole day.
    fn end(
        &self,
        given: &Given,
        date: Option<Date>,
        time: Option<Minutes>,
        dates: &[Date],
        times: &[Minutes],
        lengths: &[Minutes],
    ) -> Option<Finding> {
        const USUAL: Minutes = 60;
        const DAY: Minutes = 1_440;
        let (start_date, start_time) = self
            .all
            .iter()
            .filter(|other| other.path != given.path && !self.is_end(other))
            .find_map(|other| match self.form(other) {
                Form::Moment(Some(date), time) => Some((Some(date), time)),
                _ => None,
            })?;
        // The start itself is judged on its own; here it only has to be one of the owner's days.
        let start_is_owners = start_date.is_none_or(|start| dates.iter().any(|named| named.names(start)));
        if !start_is_owners {
            return None;
        }
        let moment = |date: Option<Date>, time: Option<Minutes>| -> Option<Minutes> {
            let days = match date {
                Some(date) => date.days()?,
                None => 0,
            };
            Some(days * DAY + time.unwrap_or_default())
        };
        let (start, end) = (moment(start_date, start_time)?, moment(date, time)?);
        let after = end - start;
        if lengths.contains(&after) && after > 0 {
            return Some(Finding::derived("the start and the length the owner named"));
        }
        if lengths.is_empty()
            && start_time.is_some_and(|start| times.contains(&start))
            && times.len() < 2
            && after == USUAL
        {
            return Some(Finding::derived("the start and the usual length of an hour"));
        }
        if times.is_empty()
            && lengths.is_empty()
            && start_time == Some(0)
            && (after == DAY || after == DAY - 1)
        {
            return Some(Finding::derived("the day the owner named, whole"));
        }
        None
    }
}
