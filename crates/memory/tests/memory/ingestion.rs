//! Files that are given to a session.

use crate::common::*;
use crate::crash::Mortal;
use serde_json::json;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    Auxiliary, Cause, Distilled, EmbedWork, Ingested, Memory, MemoryError, NewResource, ResourceKind,
    ResourceListing, SessionSearch, Way, registry_tools, smart_context, state_name,
};
use tidegate_policy::{Classification, Label, SessionId, TurnId};
use tidegate_prompt::Templates;
use tidegate_store::{Durability, MemoryRecords, Records, ResourceState, SourceQuery, SqliteStore};
use tidegate_tools::{BoxFuture, CallContext, NeverCancelled};

const KIB: u64 = 1_024;
const MIB: u64 = 1_024 * 1_024;

#[test]
fn size_and_type_decide() {
    use ResourceKind as Kind;
    let larger = Way::Chunks;
    for (mime_type, name, kind, edge, below, at) in [
        ("text/plain", "a", Kind::Text, 32 * KIB, Way::AsText, larger),
        ("text/x-python", "a.py", Kind::Text, 32 * KIB, Way::AsText, larger),
        ("application/json", "a", Kind::Json, 32 * KIB, Way::AsText, larger),
        (
            "application/ld+json",
            "a",
            Kind::Json,
            32 * KIB,
            Way::AsText,
            larger,
        ),
        (
            "text/markdown; charset=utf-8",
            "a",
            Kind::Markdown,
            32 * KIB,
            Way::AsText,
            larger,
        ),
        ("", "notes.MD", Kind::Markdown, 32 * KIB, Way::AsText, larger),
        ("text/html", "a", Kind::Html, 32 * KIB, Way::AsText, larger),
        ("application/pdf", "a", Kind::Pdf, MIB, Way::Whole, larger),
        (
            "application/octet-stream",
            "a.pdf",
            Kind::Pdf,
            MIB,
            Way::Whole,
            larger,
        ),
        ("image/png", "a", Kind::Image, 5 * MIB, Way::Whole, Way::Whole),
        ("image/svg+xml", "a", Kind::Image, 5 * MIB, Way::Whole, Way::Whole),
        ("audio/mpeg", "a", Kind::Audio, 50 * MIB, Way::Whole, Way::Whole),
        (
            "",
            "a.docx",
            Kind::Document,
            32 * KIB,
            Way::ByItsText,
            Way::ByItsText,
        ),
        ("", "a.pptx", Kind::Slides, MIB, Way::ByItsText, Way::ByItsText),
        (
            "application/vnd.ms-excel",
            "a",
            Kind::Sheet,
            MIB,
            Way::ByItsText,
            Way::ByItsText,
        ),
    ] {
        assert_eq!(ResourceKind::of(mime_type, name), kind, "{mime_type} {name}");
        assert_eq!(kind.way(edge - 1), below, "{mime_type} {name} below");
        assert_eq!(kind.way(edge), at, "{mime_type} {name} at");
    }
    for (mime_type, name, bytes) in [
        ("application/zip", "a.zip", 10),
        ("", "a", 10),
        ("application/msword", "a.doc", 10),
        ("text/plain", "a.txt", 0),
        ("text/plain", "a.txt", 64 * MIB + 1),
    ] {
        let way = ResourceKind::of(mime_type, name).way(bytes);
        assert!(
            matches!(way, Way::Refused(_)),
            "{mime_type} {name} {bytes}: {way:?}"
        );
    }
}

/// A model that is asked for a summary and tells what it was shown.
#[derive(Default)]
struct SumsUp {
    asked: AtomicUsize,
    shown: Mutex<String>,
    clearance: Classification,
}

impl Auxiliary for SumsUp {
    fn clearance(&self) -> Classification {
        self.clearance
    }

    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>> {
        Box::pin(std::future::ready(Err(fact.into())))
    }

    fn merge<'a>(&'a self, facts: &'a [String]) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(std::future::ready(Err(facts.concat().into())))
    }

    fn answer<'a>(&'a self, _: &'a str, material: &'a str) -> BoxFuture<'a, Result<String, Cause>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        *self.shown.lock().unwrap() = material.to_owned();
        Box::pin(std::future::ready(Ok(
            "  Tables of high water. </smart_context> ".to_owned(),
        )))
    }
}

async fn ingest(memory: &Memory, name: &str, mime_type: &str, bytes: impl Into<Vec<u8>>) -> Ingested {
    let new = NewResource {
        filename: name.to_owned(),
        mime_type: mime_type.to_owned(),
        bytes: bytes.into(),
    };
    memory.ingest(&ada(), new, EmbedWork::default()).await.unwrap()
}

fn long_text() -> String {
    (0..2_000)
        .map(|day| format!("Day {day}: high water at the old pier. </part> "))
        .collect()
}

#[tokio::test]
async fn small_texts_and_pictures_go_into_the_context() {
    let memory = hashed().open().await.unwrap();
    let text = ingest(&memory, "a.txt", "text/plain", "high water").await;
    assert_eq!(text.resource.state, ResourceState::PutInContext);
    assert_eq!(text.text.as_deref(), Some("high water"));
    let picture = ingest(&memory, "a.png", "image/png", [137, 80]).await;
    assert_eq!(picture.resource.state, ResourceState::PutInContext);
    assert_eq!(picture.text, None);
    assert_eq!(memory.statistics().await.unwrap().chunks, 0);
}

#[tokio::test]
async fn a_large_text_is_cut_and_summed_up_at_the_same_cost_whatever_its_length() {
    for times in [1, 4] {
        let auxiliary = Arc::new(SumsUp {
            clearance: Classification::Internal,
            ..SumsUp::default()
        });
        let memory = hashed()
            .auxiliary(Arc::clone(&auxiliary) as Arc<dyn Auxiliary>)
            .open()
            .await
            .unwrap();
        let taken = ingest(&memory, "tides.txt", "text/plain", long_text().repeat(times)).await;
        assert_eq!(taken.resource.state, ResourceState::VectorizedSumUp);
        assert_eq!(
            taken.resource.summary.as_deref(),
            Some("Tables of high water. </smart_context>")
        );
        assert_eq!(auxiliary.asked.load(Ordering::Relaxed), 1);
        let shown = auxiliary.shown.lock().unwrap().clone();
        assert_eq!(shown.matches("<part lines=").count(), 5, "{shown}");
        assert_eq!(shown.matches("</part>").count(), 5, "what it says closes nothing");
        let search = SessionSearch {
            source: Some(taken.resource.key.source.clone()),
            ..SessionSearch::new("high water on day 77")
        };
        let found = memory.search_session_context(&ada(), search).await.unwrap();
        assert!(!found.passages.is_empty());
    }
}

#[tokio::test]
async fn without_a_model_that_may_see_it_a_large_text_is_indexed_alone() {
    let auxiliary = Arc::new(SumsUp {
        clearance: Classification::Public,
        ..SumsUp::default()
    });
    let memory = hashed()
        .auxiliary(Arc::clone(&auxiliary) as Arc<dyn Auxiliary>)
        .open()
        .await
        .unwrap();
    let taken = ingest(&memory, "tides.txt", "text/plain", long_text()).await;
    assert_eq!(taken.resource.state, ResourceState::Indexed);
    assert_eq!(taken.resource.summary, None);
    assert_eq!(auxiliary.asked.load(Ordering::Relaxed), 0, "it may not see it");
}

fn zipped(parts: &[(&str, String)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in parts {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let body: String = paragraphs
        .iter()
        .map(|text| format!("<w:p><w:pPr><w:x/></w:pPr><w:r><w:t>{text}</w:t></w:r><w:r><w:tab/><w:t>end</w:t></w:r></w:p>"))
        .collect();
    zipped(&[(
        "word/document.xml",
        format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>"),
    )])
}

/// A PDF of one page.
fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let start = file.len();
    file += &format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1);
    for offset in &offsets {
        file += &format!("{offset:010} 00000 n \n");
    }
    file += &format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        offsets.len() + 1
    );
    file.into_bytes()
}

fn xlsx() -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let packages = "http://schemas.openxmlformats.org/package/2006/relationships";
    zipped(&[
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{packages}\"><Relationship Id=\"rId1\" \
                 Type=\"{relations}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{main}\" xmlns:r=\"{relations}\"><sheets>\
                 <sheet name=\"Tides\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{packages}\"><Relationship Id=\"rId1\" \
                 Type=\"{relations}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!(
                "<worksheet xmlns=\"{main}\"><sheetData><row r=\"1\">\
                 <c r=\"A1\" t=\"inlineStr\"><is><t>high water</t></is></c><c r=\"B1\"><v>12.5</v></c>\
                 </row></sheetData></worksheet>"
            ),
        ),
    ])
}

#[tokio::test]
async fn documents_become_text() {
    let memory = hashed().open().await.unwrap();
    let odt = zipped(&[(
        "content.xml",
        "<o:d xmlns:o=\"o\" xmlns:text=\"t\"><text:h>Tides</text:h><text:p>high<text:s/>water &amp; low</text:p></o:d>"
            .to_owned(),
    )]);
    let pptx = zipped(&[
        (
            "ppt/slides/slide10.xml",
            "<p:s xmlns:p=\"p\" xmlns:a=\"a\"><a:p><a:t>ten</a:t></a:p></p:s>".to_owned(),
        ),
        (
            "ppt/slides/slide2.xml",
            "<p:s xmlns:p=\"p\" xmlns:a=\"a\"><a:p><a:t>two</a:t></a:p></p:s>".to_owned(),
        ),
    ]);
    let page = "<html><head><title>no</title><style>p{}</style><script>no()</script></head><body><h1>Tides</h1>\
                <p>high &amp; <b>low</b></p><ul><li>one<li>two</ul></body></html>";
    for (name, bytes, expected) in [
        (
            "a.docx",
            docx(&["high &lt;water&gt; &#228;", "second"]),
            "high <water> ä\tend\nsecond\tend\n",
        ),
        ("a.odt", odt, "Tides\nhigh water & low\n"),
        ("a.pptx", pptx, "# Slide 2\n\ntwo\n\n# Slide 10\n\nten\n\n"),
        ("a.xlsx", xlsx(), "# Tides\n\nhigh water\t12.5\n\n"),
        (
            "a.html",
            page.as_bytes().to_vec(),
            "# Tides\n\nhigh & low\n* one\n* two",
        ),
        ("a.txt", b"\xef\xbb\xbfhigh".to_vec(), "high"),
        ("b.txt", b"\xff\xfeh\0i\0".to_vec(), "hi"),
        ("c.txt", b"\xfe\xff\0h\0i".to_vec(), "hi"),
    ] {
        let taken = ingest(&memory, name, "", bytes).await;
        assert_eq!(
            taken.text.as_deref(),
            Some(expected),
            "{name}: {:?}",
            taken.resource.state
        );
    }
    // A PDF below a megabyte goes into the context as it is; a larger one is read.
    let mut large = pdf("high water at noon");
    large.extend(vec![b'\n'; 1_100_000]);
    let taken = ingest(&memory, "a.pdf", "application/pdf", large).await;
    assert_eq!(taken.resource.state, ResourceState::Indexed);
    let search = SessionSearch {
        source: Some(taken.resource.key.source),
        ..SessionSearch::new("noon")
    };
    let found = memory.search_session_context(&ada(), search).await.unwrap();
    assert!(found.passages[0].text.contains("high water at noon"));
}

#[tokio::test]
async fn what_cannot_be_read_fails_with_the_reason() {
    let memory = hashed().open().await.unwrap();
    let damaged_pdf = [b"%PDF-1.4 nothing".to_vec(), vec![b' '; 2_000_000]].concat();
    let mut reasons = String::new();
    for (name, bytes) in [
        ("a.docx", b"no archive".to_vec()),
        ("b.docx", zipped(&[("other.xml", "<a/>".to_owned())])),
        (
            "c.docx",
            zipped(&[("word/document.xml", "<a><b></a>".to_owned())]),
        ),
        ("d.docx", docx(&[])),
        ("a.xlsx", b"no archive".to_vec()),
        ("a.pdf", damaged_pdf),
        ("a.txt", b"\xe4\xf6".to_vec()),
        ("b.txt", b"a\0b".to_vec()),
        ("c.txt", Vec::new()),
        ("a.doc", b"old".to_vec()),
        ("a.bin", b"what".to_vec()),
    ] {
        let taken = ingest(&memory, name, "", bytes).await;
        let ResourceState::Failed { why } = &taken.resource.state else {
            panic!("{name}: {:?}", taken.resource.state);
        };
        reasons += &format!("{name}: {why}\n");
    }
    insta::assert_snapshot!(reasons);
    assert_eq!(memory.statistics().await.unwrap().chunks, 0);
}

#[tokio::test]
async fn each_file_has_an_id_of_its_own_also_in_the_same_second() {
    let memory = hashed().clock(|| 1_748_246_400_123).open().await.unwrap();
    let ids: Vec<String> = futures::future::join_all((0..16).map(|_| ingest(&memory, "a.txt", "", "text")))
        .await
        .iter()
        .map(|taken| taken.resource.key.source.as_str().to_owned())
        .collect();
    let shape = |id: &str| {
        let parts: Vec<&str> = id.split('_').collect();
        let [u, user, c, chat, t, seconds] = parts[..] else {
            panic!("{id}")
        };
        assert_eq!((u, c, t), ("U", "C", "T"), "{id}");
        for part in [user, chat] {
            assert!(
                part.len() == 6 && part.chars().all(|character| character.is_ascii_alphanumeric()),
                "{id}"
            );
        }
        seconds.parse::<i64>().unwrap()
    };
    let mut seconds: Vec<i64> = ids.iter().map(|id| shape(id)).collect();
    seconds.sort_unstable();
    assert_eq!(seconds, (1_748_246_400..1_748_246_416).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_registry_tells_of_this_session_and_of_what_may_be_seen_alone() {
    let clock = Clock::at(1_748_246_400_000);
    let memory = hashed().clock(clock.reader()).open().await.unwrap();
    for (chat, level) in [
        ("s_1", Classification::Internal),
        ("s_1", Classification::Confidential),
        ("s_2", Classification::Internal),
    ] {
        let mut scope = scope("ada", Label::trusted(level), level);
        scope.chat = chat.into();
        let new = NewResource {
            filename: format!("{chat}-{level}.txt"),
            mime_type: "text/plain".to_owned(),
            bytes: b"text".to_vec(),
        };
        memory.ingest(&scope, new, EmbedWork::default()).await.unwrap();
        clock.advance(1_000);
    }
    let names = async |scope: &tidegate_memory::Scope, listing: ResourceListing| {
        let found = memory.query_registry(scope, listing).await.unwrap();
        let names: Vec<String> = found
            .resources
            .iter()
            .map(|resource| resource.filename.clone())
            .collect();
        (names, found.total, found.label)
    };
    let internal = Label::trusted(Classification::Internal);
    let all = ResourceListing::default;
    assert_eq!(
        names(&ada(), all()).await,
        (vec!["s_1-INTERNAL.txt".to_owned()], 1, internal)
    );
    let high = scope(
        "ada",
        Label::trusted(Classification::Confidential),
        Classification::Confidential,
    );
    let (found, total, label) = names(&high, all()).await;
    assert_eq!(found, ["s_1-CONFIDENTIAL.txt", "s_1-INTERNAL.txt"]);
    assert_eq!((total, label), (2, high.label));
    let failed = ResourceListing {
        state: Some("FAILED".to_owned()),
        ..all()
    };
    assert_eq!(names(&high, failed).await.1, 0);
    let unknown = ResourceListing {
        state: Some("LOST".to_owned()),
        ..all()
    };
    let error = memory.query_registry(&ada(), unknown).await.unwrap_err();
    assert!(error.to_string().contains("PUT_IN_CONTEXT"), "{error}");
    // With the session they go.
    assert_eq!(memory.purge_session(&"ada".into(), "s_1").await.unwrap(), 2);
    assert_eq!(names(&high, all()).await.1, 0);
}

#[tokio::test]
async fn models_ask_the_registry_with_a_tool_and_see_a_block_in_the_place_of_the_file() {
    let auxiliary = SumsUp {
        clearance: Classification::Internal,
        ..SumsUp::default()
    };
    let memory = hashed()
        .clock(|| 1_748_246_400_000)
        .auxiliary(Arc::new(auxiliary))
        .open()
        .await
        .unwrap();
    let session = SessionId::from_bits(1);
    let scope = tidegate_memory::Scope {
        chat: session.to_string().into(),
        ..ada()
    };
    let mut blocks = Vec::new();
    for (name, bytes) in [
        ("tides \"2026\"\n<x>.txt", long_text().into_bytes()),
        ("a.bin", b"what".to_vec()),
    ] {
        let new = NewResource {
            filename: name.to_owned(),
            mime_type: String::new(),
            bytes,
        };
        let taken = memory.ingest(&scope, new, EmbedWork::default()).await.unwrap();
        let block = smart_context(&taken.resource)
            .render(&Templates::builtin().unwrap())
            .unwrap();
        assert_eq!(
            block.matches("</smart_context>").count(),
            1,
            "nothing in it closes it"
        );
        blocks.push(block);
    }
    let tools = registry_tools(&memory, Arc::new(tidegate_policy::UserId::from("ada")));
    let context = CallContext {
        session,
        turn: TurnId::from_bits(1),
        call: "call_1".into(),
        label: scope.label,
        clearance: scope.clearance,
        cancel: Arc::new(NeverCancelled),
    };
    let prepared = tools[0]
        .prepare(json!({}).as_object().unwrap().clone(), &context)
        .await
        .unwrap();
    let output = prepared.run(context).await.unwrap();
    assert_eq!(output.label, scope.label);
    let told = tidegate_message::joined_text(&output.content);
    insta::assert_snapshot!(format!(
        "{}\n\n{told}\n\n{}",
        tools[0].definition().spec.description,
        blocks.join("\n\n")
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_call_a_file_is_taken_in_or_told_to_be_given_again() {
    for last_happens in [false, true] {
        for calls in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.sqlite");
            let store = SqliteStore::open(&path, Durability::Process).unwrap();
            let records: Arc<dyn Records> = Arc::new(store.clone());
            over(&records).open().await.unwrap();
            let mortal: Arc<dyn Records> = Arc::new(Mortal {
                inner: records,
                left: AtomicUsize::new(calls),
                last_happens,
            });
            let ended = async {
                let memory = over(&mortal).open().await?;
                let new = NewResource {
                    filename: "tides.txt".to_owned(),
                    mime_type: "text/plain".to_owned(),
                    bytes: long_text().into_bytes(),
                };
                memory.ingest(&ada(), new, EmbedWork::default()).await
            }
            .await;
            store.close().await;
            let store = SqliteStore::open(&path, Durability::Process).unwrap();
            let records: Arc<dyn Records> = Arc::new(store.clone());
            let memory = over(&records).open().await.unwrap();
            memory.settle_abandoned(i64::MAX).await.unwrap();
            let found = memory
                .query_registry(&ada(), ResourceListing::default())
                .await
                .unwrap();
            let chunks = memory.statistics().await.unwrap().chunks;
            match found.resources.as_slice() {
                [] => assert_eq!(chunks, 0),
                [one] => match &one.state {
                    ResourceState::Failed { why } => {
                        assert!(why.contains("give it again"), "{why}");
                        assert_eq!(chunks, 0);
                    }
                    ResourceState::Indexed => assert!(chunks > 5),
                    other => panic!("{other:?} after a kill at call {calls}"),
                },
                more => panic!("{more:?}"),
            }
            store.close().await;
            if ended.is_ok() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_file_without_a_name_is_refused_and_a_cancelled_one_fails() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records).open().await.unwrap();
    let unnamed = NewResource {
        filename: " ".to_owned(),
        mime_type: String::new(),
        bytes: b"text".to_vec(),
    };
    let error = memory
        .ingest(&ada(), unnamed, EmbedWork::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, MemoryError::Empty { what: "filename" }),
        "{error}"
    );
    let large = NewResource {
        filename: "a.txt".to_owned(),
        mime_type: String::new(),
        bytes: long_text().into_bytes(),
    };
    let work = EmbedWork::until(Arc::new(Cancelled));
    let error = memory.ingest(&ada(), large, work).await.unwrap_err();
    assert!(matches!(error, MemoryError::Cancelled), "{error}");
    let resources = records.resources(SourceQuery::default()).await.unwrap();
    assert_eq!(resources.len(), 1);
    assert_eq!(state_name(&resources[0].state), "FAILED");
}

struct Cancelled;

impl tidegate_tools::Cancel for Cancelled {
    fn is_cancelled(&self) -> bool {
        true
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
