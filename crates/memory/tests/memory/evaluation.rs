//! The evaluation, on a conversation made up for it.

use crate::common::*;
use std::io::Cursor;
use tidegate_memory::MemoryError;
use tidegate_memory::evaluation::{Report, evaluate, read_conversations};

const FILE: &str = r#"
{"type": "conversation", "id": "c", "speakers": ["Nora", "Ilyas"]}
{"type": "turn", "conversation": "c", "id": "1:1", "session": 1, "time": "2024-02-03T10:00:00Z", "speaker": "Nora", "text": "We adopted a puppy from the shelter."}
{"type": "turn", "conversation": "c", "id": "1:2", "session": 1, "time": "2024-02-03T10:00:00Z", "speaker": "Ilyas", "text": "Congratulations! What is it called?"}
{"type": "turn", "conversation": "c", "id": "1:3", "session": 1, "time": "2024-02-03T10:00:00Z", "speaker": "Nora", "text": "Biscuit."}
{"type": "turn", "conversation": "c", "id": "2:1", "session": 2, "time": "2024-05-20T10:00:00Z", "speaker": "Ilyas", "text": "I repaired the sailing boat at last."}
{"type": "turn", "conversation": "c", "id": "2:2", "session": 2, "time": "2024-05-20T10:00:00Z", "speaker": "Nora", "text": "Then let us sail to the lighthouse."}
{"type": "question", "conversation": "c", "category": "1", "text": "Who adopted puppies?", "evidence": ["1:1"]}
{"type": "question", "conversation": "c", "category": "2", "text": "What happened in May 2024 to the boat?", "evidence": ["2:1", "2:2"]}
{"type": "question", "conversation": "c", "category": "5", "text": "Where do they sail?", "evidence": ["2:2"]}
"#;

#[tokio::test]
async fn a_small_file_is_stored_asked_and_measured() {
    let conversations = read_conversations(Cursor::new(FILE)).unwrap();
    let memory = hashed().open().await.unwrap();
    let last = std::sync::Mutex::new((0, 0));
    let report = evaluate(&memory, &conversations, |done, all| {
        *last.lock().unwrap() = (done, all)
    })
    .await
    .unwrap();
    assert_eq!(*last.lock().unwrap(), (8, 8));
    assert_eq!(
        (report.turns, report.questions, report.categories_1_4.questions),
        (5, 3, 2)
    );
    assert_eq!(report.categories.keys().collect::<Vec<_>>(), ["1", "2", "5"]);
    assert_eq!(report.categories["1"].recall_at_5, 100.0);
    assert_eq!(
        report.categories["1"].mrr, 100.0,
        "stems of other forms are found first"
    );
    assert_eq!(report.categories["2"].recall_at_10, 100.0);
    assert_eq!(report.categories["5"].hit_at_10, 100.0);

    let json = serde_json::to_value(&report).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "embedder",
            "mode",
            "turns",
            "questions",
            "seconds_store",
            "seconds_query",
            "query_ms",
            "categories",
            "categories_1_4"
        ]
    );
    assert_eq!(json["mode"], "hybrid");
    let measures: Vec<&String> = json["categories_1_4"].as_object().unwrap().keys().collect();
    assert_eq!(
        measures,
        [
            "questions",
            "recall_at_5",
            "recall_at_10",
            "recall_at_20",
            "hit_at_10",
            "ndcg_at_10",
            "mrr"
        ]
    );
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}

#[test]
fn a_line_that_is_not_of_the_format_is_named() {
    let begun = r#"{"type": "conversation", "id": "c", "speakers": []}"#;
    let question = |evidence: &str| {
        format!(
            r#"{{"type": "question", "conversation": "c", "category": "1", "text": "?", "evidence": {evidence}}}"#
        )
    };
    let table = [
        ("nonsense".to_owned(), 1, "expected"),
        (r#"{"type": "turn", "conversation": "c", "id": "1", "session": 1, "time": "", "speaker": "", "text": ""}"#.to_owned(), 1, "not begun"),
        (format!("{begun}\n{begun}"), 2, "there twice"),
        (format!("{begun}\n\n{}", question(r#"["9"]"#)), 3, "is no turn"),
        (format!("{begun}\n{}", question("[]")), 2, "no evidence"),
    ];
    for (file, line, part) in table {
        let error = read_conversations(Cursor::new(file.clone())).unwrap_err();
        let MemoryError::Evaluation { line: found, problem } = error else {
            panic!("{error}")
        };
        assert_eq!(found, line, "{file}");
        assert!(problem.contains(part), "{problem}");
    }
}

#[tokio::test]
async fn turns_are_found_by_their_day_however_it_is_written() {
    for time in [
        "2024-05-20T10:00:00Z",
        "2024-05-20T10:00:00",
        "2024-05-20 10:00",
        "2024-05-20",
    ] {
        let turn = |session: u32, time: &str| {
            format!(
                r#"{{"type": "turn", "conversation": "c", "id": "{session}", "session": {session}, "time": "{time}", "speaker": "Nora", "text": "The boat is repaired."}}"#
            )
        };
        let file = [
            r#"{"type": "conversation", "id": "c", "speakers": ["Nora"]}"#.to_owned(),
            turn(1, "2023-01-02T10:00:00Z"),
            turn(2, time),
            turn(3, "2025-03-04T10:00:00Z"),
            r#"{"type": "question", "conversation": "c", "category": "2", "text": "What of the boat on 20 May 2024?", "evidence": ["2"]}"#.to_owned(),
        ]
        .join("\n");
        let conversations = read_conversations(Cursor::new(file)).unwrap();
        let memory = hashed().open().await.unwrap();
        let report = evaluate(&memory, &conversations, |_, _| {}).await.unwrap();
        assert_eq!(report.categories["2"].mrr, 100.0, "{time}");
    }
}
