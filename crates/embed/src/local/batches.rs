//! Which texts go through a model together.

/// How much goes through a model at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchLimits {
    /// The most texts.
    pub(super) texts: usize,
    /// The most tokens, padding included: a batch is as wide as its longest text.
    pub(super) tokens: usize,
    /// The most tokens a text has; what is behind them is cut.
    pub(super) most_tokens: usize,
}

/// So much shorter than the longest of its batch a text may always be: a pass of its own would cost as much as some tokens
/// more (with all-MiniLM-L6-v2 on two processors about seven).
const MOST_PADDING: usize = 8;

/// Or by this part of the longest.
const PADDED_PART: usize = 8;

/// Divides texts with these lengths in bytes into batches, given by their places. Texts of similar length stand together,
/// since each is padded to the longest of its batch, and a token that is padding takes as long as any other.
pub(super) fn batches(lengths: &[usize], limits: BatchLimits) -> Vec<Vec<usize>> {
    let mut places: Vec<(usize, usize)> = lengths
        .iter()
        // Three bytes a token is too few for English and too many for other scripts; it only has to be near.
        .map(|length| (length / 3 + 2).min(limits.most_tokens))
        .enumerate()
        .map(|(place, tokens)| (tokens, place))
        .collect();
    // Longest first: what needs the most memory comes at once.
    places.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut width: usize = 0;
    for (tokens, place) in places {
        let is_near = width.saturating_sub(tokens) <= MOST_PADDING.max(width / PADDED_PART);
        match batches.last_mut() {
            Some(batch)
                if is_near && batch.len() < limits.texts && (batch.len() + 1) * width <= limits.tokens =>
            {
                batch.push(place);
            }
            _ => {
                width = tokens;
                batches.push(vec![place]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: BatchLimits = BatchLimits {
        texts: 4,
        tokens: 100,
        most_tokens: 60,
    };

    #[test]
    fn texts_of_similar_length_stand_together_within_the_limits() {
        for (lengths, expected) in [
            (vec![], vec![]),
            (vec![9], vec![vec![0]]),
            (vec![3, 90, 6, 93], vec![vec![3, 1], vec![2, 0]]),
            (vec![120, 96], vec![vec![0, 1]]),
            (vec![120, 93], vec![vec![0], vec![1]]),
            (vec![3; 5], vec![vec![0, 1, 2, 3], vec![4]]),
            (vec![100_000, 100_000], vec![vec![0], vec![1]]),
        ] {
            assert_eq!(batches(&lengths, LIMITS), expected, "{lengths:?}");
        }
    }

    proptest! {
        #[test]
        fn each_text_is_in_one_batch_and_no_batch_is_too_large(lengths in prop::collection::vec(0_usize..400, 0..60)) {
            let batches = batches(&lengths, LIMITS);
            let mut places: Vec<usize> = batches.concat();
            places.sort_unstable();
            prop_assert_eq!(places, (0..lengths.len()).collect::<Vec<_>>());
            for batch in batches {
                let widest = batch.iter().map(|place| (lengths[*place] / 3 + 2).min(60)).max().unwrap_or(0);
                prop_assert!(batch.len() <= 4 && (batch.len() == 1 || batch.len() * widest <= 100));
                let least = batch.iter().map(|place| (lengths[*place] / 3 + 2).min(60)).min().unwrap_or(0);
                prop_assert!(widest - least <= 8, "padded from {least} to {widest}");
            }
        }
    }
}
