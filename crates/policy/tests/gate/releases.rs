//! A release answers no-write-down, in a TRUSTED context, and nothing else.

use crate::{Call, reads, writes, writes_own_file};
use tidegate_policy::Classification::{Confidential, Internal, Public};
use tidegate_policy::{Label, Role, rule};

#[test]
fn a_release_answers_no_write_down_alone_and_only_where_all_that_moves_is_trusted() {
    let down = || {
        Call::of("write_file")
            .produced_by(Label::trusted(Confidential))
            .with(writes("public/a.txt", Public))
    };
    for (call, released, expected) in [
        (down(), false, Some(rule::NO_WRITE_DOWN)),
        (down(), true, None),
        // Whatever had a say in what is sent.
        (
            down().produced_by(Label::untrusted(Confidential)),
            true,
            Some(rule::NO_WRITE_DOWN),
        ),
        (
            down().with(reads("confidential/b.txt", Confidential)),
            true,
            Some(rule::NO_WRITE_DOWN),
        ),
        // Every other rule stays as it is.
        (down().needs(Role::Admin), true, Some(rule::ROLE)),
        (down().invalid("no"), true, Some(rule::ARGUMENTS)),
        (down().not_offered(&[]), true, Some(rule::ALLOWED_SET)),
        (down().floor(Confidential), true, Some(rule::TOOL_FLOOR)),
        (
            down().with(writes_own_file("tidegate.toml")),
            true,
            Some(rule::NEVER_WRITE_OWN_FILES),
        ),
        (
            down().clearance(Internal).returns(Label::trusted(Confidential)),
            true,
            Some(rule::READ_CEILING),
        ),
        (down().approval(), true, Some(rule::TOOL_APPROVAL)),
    ] {
        let call = Call { released, ..call };
        let evaluation = call.judge();
        assert_eq!(
            evaluation.rule.as_ref().map(|rule| rule.as_str()),
            expected,
            "{call:?}"
        );
    }
}
