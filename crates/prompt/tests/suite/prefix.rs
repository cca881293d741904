use bytes::Bytes;
use tidegate_message::ModelId;
use tidegate_prompt::{EncodedRequest, PrefixBreakCause, PrefixPart, RequestComparison, compare_requests};

struct Request {
    model: ModelId,
    tools: Vec<Bytes>,
    system: String,
    messages: Vec<Bytes>,
}

/// `model|tool,tool|system|message,message`.
fn request(text: &str) -> Request {
    let parts: Vec<&str> = text.split('|').collect();
    let list = |text: &str| -> Vec<Bytes> {
        text.split(',')
            .filter(|part| !part.is_empty())
            .map(|part| Bytes::from(part.to_owned()))
            .collect()
    };
    Request {
        model: format!("test:{}", parts[0]).parse().unwrap(),
        tools: list(parts[1]),
        system: parts[2].into(),
        messages: list(parts[3]),
    }
}

fn compare(previous: &str, next: &str, announced: &[PrefixBreakCause]) -> RequestComparison {
    let (previous, next) = (request(previous), request(next));
    let encoded = |request: &'static Request| EncodedRequest {
        model: &request.model,
        tools: &request.tools,
        system: request.system.as_bytes(),
        messages: &request.messages,
    };
    compare_requests(
        &encoded(Box::leak(Box::new(previous))),
        &encoded(Box::leak(Box::new(next))),
        announced,
    )
}

#[test]
fn a_request_that_goes_on_is_an_extension() {
    for (next, added) in [
        ("m|t,u|sys|a,b", 0),
        ("m|t,u|sys|a,b,c", 1),
        ("m|t,u|sys|a,b,c,d", 2),
    ] {
        assert_eq!(
            compare("m|t,u|sys|a,b", next, &[]),
            RequestComparison::Extends { added }
        );
    }
    assert_eq!(
        compare("m||s|", "m||s|a", &[]),
        RequestComparison::Extends { added: 1 }
    );
}

#[test]
fn a_break_is_found_where_it_is_and_explained_by_what_was_announced() {
    use PrefixBreakCause::*;
    use PrefixPart::*;
    let all = [Rewrite, Compaction, PromptRebuild, ModelSwitch, AppendedTool];
    for (next, announced, part, at, kept, cause) in [
        ("m|t,u|sys|a,bx,c", &[][..], Message(1), 1, 13, Unannounced),
        ("m|t,u|sys|a,by,c", &[Rewrite][..], Message(1), 1, 13, Rewrite),
        (
            "m|t,u|sys|a,by,c",
            &[PromptRebuild, Compaction][..],
            Message(1),
            1,
            13,
            Compaction,
        ),
        ("m|t,u|sys|a", &[Compaction][..], Message(1), 0, 12, Compaction),
        (
            "m|t,u|syS|a,b",
            &[Rewrite, PromptRebuild][..],
            System,
            2,
            10,
            PromptRebuild,
        ),
        ("m|t,u|syS|a,b", &[Rewrite][..], System, 2, 10, Unannounced),
        ("m|t,u,v|sys|a,b", &[][..], Tool(2), 0, 8, AppendedTool),
        ("m|a,t,u|sys|a,b", &[][..], Tool(0), 0, 0, Unannounced),
        ("m|u,t|sys|a,b", &[Rewrite][..], Tool(0), 0, 0, Unannounced),
        ("n|t,u|sys|a,b", &[][..], Model, 0, 0, ModelSwitch),
        ("n|t,u|sys|a,b", &all[..], Model, 0, 0, ModelSwitch),
    ] {
        let previous = "m|t,u|sys|a,bb";
        let previous = previous.replace("t,u", "tool,uool");
        let next = next.replace("t,u", "tool,uool").replace("u,t", "uool,tool");
        let RequestComparison::Breaks(found) = compare(&previous, &next, announced) else {
            panic!("{next} extends");
        };
        assert_eq!((found.part, found.at, found.cause), (part, at, cause), "{next}");
        assert_eq!(found.kept, kept, "{next}");
        assert_eq!(found.total, 14);
    }
}

#[test]
fn a_break_costs_its_share_of_the_tokens() {
    let RequestComparison::Breaks(found) = compare("m||sys|aaaa,bbb", "m||sys|aaaa,c", &[]) else {
        panic!("it extends");
    };
    assert_eq!((found.kept, found.total), (7, 10));
    assert_eq!(found.tokens_lost(1_000), 300);
    assert_eq!(found.tokens_lost(0), 0);
}
