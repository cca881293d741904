//! Times and what to say of them.

use std::fmt;
use std::time::Duration;

/// The times of one kind of run, in order.
#[derive(Debug)]
pub(super) struct Sample {
    sorted: Vec<Duration>,
}

impl Sample {
    pub(super) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { sorted: times }
    }

    /// The time that `percent` of the runs did not exceed (nearest rank); zero if there were no runs.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied().unwrap_or_default()
    }

    pub(super) fn median(&self) -> Duration {
        self.percentile(50)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(
            formatter,
            "median {:7.2} ms   p90 {:7.2} ms",
            milliseconds(self.median()),
            milliseconds(self.percentile(90))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_that_so_many_runs_did_not_exceed() {
        for (times, percent, expected) in [
            (vec![], 50, 0),
            (vec![7], 50, 7),
            (vec![7], 90, 7),
            (vec![3, 1, 2], 50, 2),
            (vec![4, 3, 2, 1], 50, 2),
            ((1..=10).collect(), 90, 9),
            ((1..=30).collect(), 90, 27),
            ((1..=30).collect(), 100, 30),
        ] {
            let sample = Sample::new(times.iter().copied().map(Duration::from_millis).collect());
            assert_eq!(
                sample.percentile(percent),
                Duration::from_millis(expected),
                "{percent} of {times:?}"
            );
        }
    }
}
