//! What a model is told of a call that was not approved. Snapshots guard it.

/// What became of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The owner said no.
    Refused,
    /// The owner did not answer in time.
    Expired,
    /// Nobody was there to ask.
    NobodyThere,
}

/// The result of a call that was not approved. `why` says why it had to be.
pub(super) fn denied(why: &str, denied: Denied) -> String {
    let end = match denied {
        Denied::Refused => {
            "The owner refused it, so it was not run. Do without it; if it cannot be done without, tell the user why."
        }
        Denied::Expired => {
            "The owner did not answer in time, so it was not run. Do without it, or tell the user what has to be \
             approved."
        }
        Denied::NobodyThere => {
            "Nobody is there to ask, so it was not run. Do without it, or tell the user what has to be approved."
        }
    };
    format!("{why} {end}")
}

/// The result of a call whose things changed after it was approved.
pub(crate) const CHANGED: &str = "What this call touches changed after the owner approved it, so it was not run. Look \
                                  again, and call it once more if it is still right.";

/// The result of a call that came to need approval while it was about to run.
pub(crate) fn denied_by_change(why: &str) -> String {
    format!(
        "What this call touches changed while it was about to run, so it was not run. {why} Call it once more to ask."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_is_told() {
        let why = "Each call of write_file has to be approved by the owner.";
        let texts = [
            denied(why, Denied::Refused),
            denied(why, Denied::Expired),
            denied(why, Denied::NobodyThere),
            CHANGED.to_owned(),
            denied_by_change(why),
        ];
        insta::assert_snapshot!(texts.join("\n"));
    }
}
