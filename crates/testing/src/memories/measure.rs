//! Times, and how many writes there are in one.

use super::material::{fact, scope};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_memory::{Memory, MemoryError, NewMemory};
use tidegate_policy::MemoryId;
use tidegate_tools::{Cancel, NeverCancelled};
use tokio::task::JoinSet;

/// Times in order. Displayed as the median and the 95th percentile, in milliseconds.
#[derive(Clone, Debug)]
pub struct Sample(Vec<Duration>);

impl Sample {
    /// Of times in any order.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that `percent` of them did not exceed (nearest rank), in milliseconds; 0 if there are none.
    pub fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map_or(0.0, Duration::as_secs_f64) * 1_000.0
    }

    /// The median, in milliseconds.
    pub fn median(&self) -> f64 {
        self.percentile(50)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, p95) = (self.median(), self.percentile(95));
        write!(formatter, "p50 {median:>8.3} ms   p95 {p95:>8.3} ms")
    }
}

/// How many memories `writers` write a second at once, over `length`: each is durable and can be found when its write
/// returns. `named` ones are written under names of their own; of others what is near is looked for. `series` keeps the
/// memories of one measurement apart from those of another.
///
/// # Errors
/// Those of [`Memory::remember`].
pub async fn writes_a_second(
    memory: &Memory,
    series: u64,
    writers: u64,
    named: bool,
    length: Duration,
) -> Result<f64, MemoryError> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for writer in 0..writers {
        let memory = memory.clone();
        tasks.spawn(async move {
            let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
            let mut done = 0_u64;
            while start.elapsed() < length {
                let number = (series * 1_000 + writer + 1) * 1_000_000 + done;
                let mut new = NewMemory::new("group 1", fact(number));
                new.memory_id = named.then(|| MemoryId::new(format!("new-{number}")));
                memory.remember(&scope(), new, &never).await?;
                done += 1;
            }
            Ok::<u64, MemoryError>(done)
        });
    }
    let mut done = 0;
    while let Some(written) = tasks.join_next().await {
        // A writer that panicked has written nothing that counts.
        done += written.unwrap_or(Ok(0))?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of writes")]
    let a_second = done as f64 / start.elapsed().as_secs_f64();
    Ok(a_second)
}
