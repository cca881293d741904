//! What holds for every flow there is.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_policy::{
    AnswerFlow, Classification::*, ContextFlow, Decision, Integrity, ModelFlow, ResponseFlow, ResponseStatus,
    RuleOutcome, rule,
};

/// Any text, with what breaks displays in it more often than chance would have it.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        r"[a-z_/.]{1,12}",
        r"\PC*",
        r"(\pC|\pZ|\n|\x1b\[2J|\u{202e}|\u{200b}|\u{e0041}|.){0,12}",
        (any::<char>(), 0..600_usize).prop_map(|(character, count)| character.to_string().repeat(count)),
    ]
}

fn any_level() -> impl Strategy<Value = Classification> {
    select(Classification::ALL.to_vec())
}

fn any_label() -> impl Strategy<Value = Label> {
    (
        any_level(),
        select(vec![Integrity::Trusted, Integrity::Untrusted]),
    )
        .prop_map(|(level, integrity)| Label::new(level, integrity))
}

fn any_resource() -> impl Strategy<Value = Resource> {
    use ResourceKind::{Command, Path, Recipient, Session, Url};
    let what = (select(vec![Path, Url, Command, Recipient, Session]), any_name())
        .prop_map(|(kind, name)| ResourceRef { kind, name });
    let sink_level = prop_oneof![
        6 => any_level().prop_map(SinkLevel::Level),
        1 => Just(SinkLevel::OwnFile),
    ];
    (what, any_label(), sink_level, 0..3_u8).prop_map(|(what, label, level, which)| match which {
        0 => Resource::Source { what, label },
        1 => Resource::Payload { what, label },
        _ => Resource::Sink { what, level },
    })
}

fn any_taint() -> impl Strategy<Value = Taint> {
    let origin = prop_oneof![
        Just(Origin::Owner),
        (any_name(), prop::collection::vec(any_name(), 0..5)).prop_map(|(tool, resources)| Origin::Tool {
            tool: ToolName::new(tool),
            resources,
            source: None,
        }),
        any_name().prop_map(|session| Origin::Session { session }),
    ];
    (
        any_label(),
        prop::collection::vec((any_label(), origin, any::<u32>()), 0..4),
    )
        .prop_map(|(start, steps)| {
            let mut taint = Taint::new(start);
            for (label, origin, turn) in steps {
                taint.raise(label, origin, turn);
            }
            taint
        })
}

fn any_call() -> impl Strategy<Value = Call> {
    let role = || select(Role::ALL.to_vec());
    let admission = prop_oneof![
        8 => Just(Admission::Offered),
        1 => prop::collection::vec(any_name(), 0..4).prop_map(|names| Admission::NotOffered {
            available: names.into_iter().map(ToolName::new).collect(),
        }),
    ];
    let arguments = prop_oneof![
        8 => Just(ArgumentCheck::Valid),
        1 => any_name().prop_map(|problem| ArgumentCheck::Invalid { problem }),
    ];
    let tool = (
        any_name(),
        role(),
        any_label(),
        any_level(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(name, role, source, floor, consequential, approval)| ToolPolicy {
                role,
                source,
                floor,
                consequential,
                approval,
                integrity: Default::default(),
                ..tool_policy(&name)
            },
        );
    let asking = (prop::option::of((any_level(), any_level())), any::<bool>());
    let resources = prop::collection::vec(any_resource(), 0..5);
    (
        tool,
        admission,
        role(),
        arguments,
        prop::option::of(any_label()),
        resources,
        any_taint(),
        (any_level(), asking),
    )
        .prop_map(
            |(tool, admission, role, arguments, produced_by, resources, taint, (clearance, asking))| Call {
                tool,
                admission,
                role,
                arguments,
                produced_by,
                resources,
                taint,
                clearance,
                bumper: asking
                    .0
                    .map(|(above, acknowledged)| Bumper { above, acknowledged }),
                granted: asking.1,
                released: false,
            },
        )
}

/// What holds of every evaluation, whatever was asked.
fn check_shape(evaluation: &Evaluation, taint: &Taint) -> Result<(), TestCaseError> {
    prop_assert_eq!(evaluation.taint_before, taint.label());
    prop_assert!(taint.label().is_within(evaluation.taint_after), "the taint fell");
    let refusals: Vec<_> = evaluation
        .rules
        .iter()
        .filter(|trace| trace.outcome == RuleOutcome::Refused)
        .collect();
    let asking: Vec<_> = evaluation
        .rules
        .iter()
        .filter(|trace| trace.outcome == RuleOutcome::Asked)
        .collect();
    match evaluation.decision {
        Decision::Allow => {
            prop_assert!(refusals.is_empty() && asking.is_empty() && evaluation.rule.is_none());
            prop_assert!(evaluation.explanation.is_none() && evaluation.for_model().is_empty());
        }
        Decision::Block => {
            prop_assert_eq!(
                evaluation.taint_after,
                taint.label(),
                "a refusal changed the taint"
            );
            prop_assert_eq!(refusals.len(), 1);
            prop_assert_eq!(
                evaluation.rules.last().map(|trace| &trace.rule),
                evaluation.rule.as_ref()
            );
            prop_assert_eq!(
                evaluation.rules.last().map(|trace| trace.outcome),
                Some(RuleOutcome::Refused)
            );
        }
        Decision::RequireApproval => {
            prop_assert_eq!(
                evaluation.taint_after,
                taint.label(),
                "a question changed the taint"
            );
            prop_assert!(refusals.is_empty());
            prop_assert_eq!(asking.first().map(|trace| &trace.rule), evaluation.rule.as_ref());
        }
    }
    match evaluation.decision {
        Decision::Allow => {}
        Decision::Block | Decision::RequireApproval => {
            let explanation = evaluation.explanation.clone().unwrap_or_default();
            prop_assert!(explanation.contains("\n  possible: "), "{}", explanation);
            prop_assert!(!evaluation.for_model().is_empty());
            // Line breaks are the explanation's own: after each comes an indented line of ours.
            for line in explanation.split('\n').skip(1) {
                prop_assert!(
                    line.starts_with("  ") && line.trim_start().len() == line.len() - 2,
                    "{explanation:?}"
                );
            }
            prop_assert!(is_safe(&explanation.replace('\n', "")), "{:?}", explanation);
            prop_assert!(is_safe(&evaluation.for_model()), "{:?}", evaluation.for_model());
        }
    }
    for trace in &evaluation.rules {
        prop_assert!(
            is_safe(&trace.why) && !trace.why.ends_with('\n'),
            "{:?}",
            trace.why
        );
    }
    let stored = serde_json::to_string(evaluation).unwrap();
    prop_assert_eq!(&serde_json::from_str::<Evaluation>(&stored).unwrap(), evaluation);
    Ok(())
}

fn is_safe(text: &str) -> bool {
    tidegate_policy::escaped(text) == text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The whole of the promise, said once more without the gate's own words: an allowed call carries
    /// nothing down, reads nothing above the clearance, and writes to none of the program's files.
    #[test]
    fn no_allowed_call_leaks(call in any_call()) {
        let evaluation = call.judge();
        check_shape(&evaluation, &call.taint)?;
        prop_assert_eq!(evaluation.taint_after, call.taint.label(), "a call changed the taint");
        // What the owner is asked about is as harmless as what is allowed, once it is granted.
        if evaluation.needs_approval() {
            prop_assert!(!call.granted, "a grant does not satisfy a question");
            prop_assert!(call.clone().granted().judge().is_allowed());
        } else {
            let granted = call.clone().granted().judge();
            prop_assert_eq!(granted.decision, evaluation.decision);
            prop_assert_eq!(granted.rule, evaluation.rule.clone());
        }
        if evaluation.decision == Decision::Block {
            return Ok(());
        }
        prop_assert_eq!(&call.admission, &Admission::Offered);
        prop_assert_eq!(&call.arguments, &ArgumentCheck::Valid);
        prop_assert!(call.role >= call.tool.role);
        prop_assert!(call.taint.label().classification >= call.tool.floor);
        prop_assert!(call.tool.source.classification <= call.clearance);

        let mut carried = vec![call.produced_by.unwrap_or(call.taint.label()).classification];
        let mut sinks = Vec::new();
        for resource in &call.resources {
            match resource {
                Resource::Source { what, label } => {
                    prop_assert!(label.classification <= call.clearance);
                    if what.kind != ResourceKind::Command {
                        carried.push(label.classification);
                    }
                }
                Resource::Payload { label, .. } => {
                    prop_assert!(label.classification <= call.clearance);
                    carried.push(label.classification);
                }
                Resource::Sink { level: SinkLevel::Level(level), .. } => sinks.push(*level),
                Resource::Sink { level: SinkLevel::OwnFile, .. } => prop_assert!(false, "wrote to an own file"),
            }
        }
        for level in carried {
            for sink in &sinks {
                prop_assert!(level <= *sink, "{level} went to {sink}");
            }
        }
    }

    /// The other half: what breaks none of the rules is not refused.
    #[test]
    fn no_harmless_call_is_refused(call in any_call()) {
        let harmless = Call {
            admission: Admission::Offered,
            arguments: ArgumentCheck::Valid,
            role: Role::Admin,
            clearance: Restricted,
            tool: ToolPolicy { floor: Public, ..call.tool.clone() },
            resources: call
                .resources
                .iter()
                .map(|resource| match resource {
                    Resource::Sink { what, .. } => {
                        Resource::Sink { what: what.clone(), level: SinkLevel::Level(Restricted) }
                    }
                    other => other.clone(),
                })
                .collect(),
            ..call
        };
        prop_assert_ne!(harmless.judge().decision, Decision::Block);
        prop_assert!(harmless.clone().granted().judge().is_allowed());
        let plain = Call { bumper: None, tool: ToolPolicy { approval: false, ..harmless.tool.clone() }, ..harmless };
        prop_assert!(plain.judge().is_allowed());
    }

    /// More taint or less room never turns a refusal into a permission.
    #[test]
    fn raising_what_moves_never_helps(call in any_call(), more in any_label()) {
        let produced_by = call.produced_by.unwrap_or(call.taint.label());
        let raised = Call { produced_by: Some(produced_by.join(more)), ..call.clone() };
        prop_assert!(call.judge().is_allowed() || !raised.judge().is_allowed());
        let narrowed = Call { clearance: call.clearance.min(more.classification), ..call.clone() };
        prop_assert!(call.judge().is_allowed() || !narrowed.judge().is_allowed());
    }

    /// What was let in before is let in again, and a level that was granted covers those below it.
    #[test]
    fn an_acknowledged_level_is_not_asked_about_again(call in any_call(), level in any_level()) {
        let asks = |acknowledged| {
            let bumper = call.bumper.map(|bumper| Bumper { acknowledged, ..bumper });
            Call { bumper, ..call.clone() }.judge().is_asked_by(rule::BUMPER)
        };
        prop_assert!(!asks(call.tool.source.classification.max(Restricted)));
        prop_assert!(asks(Public) || !asks(level), "more was asked after something was granted");
    }

    #[test]
    fn the_same_question_has_the_same_answer(call in any_call()) {
        prop_assert_eq!(call.judge(), call.judge());
    }

    #[test]
    fn a_result_enters_with_its_whole_label_or_not_at_all(
        name in any_name(),
        (source, read) in (any_label(), any_label()),
        declared in prop::option::of(prop_oneof![any_name(), any_level().prop_map(|level| level.to_string())]),
        taint in any_taint(),
        clearance in any_level(),
        failed in any::<bool>(),
    ) {
        let tool = ToolPolicy { source, ..tool_policy(&name) };
        let status = if failed { ResponseStatus::Error } else { ResponseStatus::Ok };
        let flow = ResponseFlow { tool: &tool, status, read, declared: declared.as_deref(), texts: None };
        let evaluation = Gate::default().judge(Flow::Response(&flow), SessionFacts { taint: &taint, clearance, bumper: None, caller: Caller::default() });
        check_shape(&evaluation, &taint)?;
        prop_assert!(source.is_within(evaluation.label) && read.is_within(evaluation.label));
        match declared.map(|text| text.parse::<Classification>()) {
            Some(Ok(level)) => prop_assert!(evaluation.label.classification >= level),
            Some(Err(_)) => prop_assert_eq!(evaluation.label, Label::UNREADABLE),
            None => prop_assert_eq!(evaluation.label, source.join(read)),
        }
        prop_assert_eq!(evaluation.is_allowed(), evaluation.label.classification <= clearance);
        if evaluation.is_allowed() {
            prop_assert_eq!(evaluation.taint_after, taint.label().join(evaluation.label));
        }
    }

    #[test]
    fn what_enters_and_leaves_otherwise_is_judged_alike(
        name in any_name(),
        label in any_label(),
        taint in any_taint(),
        clearance in any_level(),
        limit in any_level(),
    ) {
        let session = SessionFacts { taint: &taint, clearance, bumper: None, caller: Caller::default() };
        let level = taint.label().classification;

        let context = Gate::default().judge(Flow::Context(&ContextFlow { what: &name, label, texts: None }), session);
        check_shape(&context, &taint)?;
        prop_assert_eq!(context.is_allowed(), label.classification <= clearance);
        if context.is_allowed() {
            prop_assert_eq!(context.taint_after, taint.label().join(label));
        }

        let model = Gate::default().judge(Flow::Model(&ModelFlow { model: &name, clearance: limit }), session);
        check_shape(&model, &taint)?;
        prop_assert_eq!((model.is_allowed(), model.taint_after), (level <= limit, taint.label()));

        let answer = Gate::default().judge(Flow::Answer(&AnswerFlow { reader: &name, clearance: limit, texts: None, recipients: &[], granted: false }), session);
        check_shape(&answer, &taint)?;
        prop_assert_eq!((answer.is_allowed(), answer.taint_after), (level <= limit, taint.label()));
    }

    /// What the model is told of a refused read depends on the name and the levels alone.
    #[test]
    fn a_refused_read_tells_only_of_the_name_and_the_levels(
        name in any_name(),
        one in any_taint(),
        other in any_taint(),
        trusted in any::<bool>(),
    ) {
        let label = if trusted { Label::trusted(Restricted) } else { Label::untrusted(Restricted) };
        let told = |taint: &Taint| {
            let source = Resource::Source { what: named(ResourceKind::Path, &name), label };
            let call = Call { taint: taint.clone(), ..Call::of("read_file").clearance(Internal).with(source) };
            let evaluation = call.judge();
            (evaluation.rule.clone(), evaluation.for_model(), evaluation.explanation)
        };
        let untrusted = Call::of("read_file").clearance(Internal).with(reads(&name, Restricted)).judge();
        prop_assert_eq!(told(&one), told(&other));
        prop_assert_eq!(told(&one), (Some(rule::READ_CEILING.into()), untrusted.for_model(), untrusted.explanation));
    }
}
