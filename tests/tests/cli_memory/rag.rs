//! Texts of a session.

use crate::harness::Home;
use serde_json::Value;

fn home() -> Home {
    let home = Home::answering("done");
    home.write(
        "project/ferry.md",
        "# Ferries\n\nThe early ferry leaves at nine.\n\n# Lamps\n\nThe quay lamps are red.\n",
    );
    home.write(
        "project/confidential/gold.md",
        "The gold lies in the third warehouse.\n",
    );
    home
}

fn search(home: &Home, arguments: &[&str]) -> Value {
    let arguments = ["rag", "search"].iter().chain(arguments).chain(&["--json"]);
    crate::harness::ended(home.command(arguments)).code(0).json()
}

#[test]
fn a_saved_file_is_found_with_its_place_and_label() {
    let home = home();
    home.run(["run", "work", "--session", "a"]).code(0);
    let saved = home.json(["rag", "save", "ferry.md", "--session", "a", "--json"]);
    assert_eq!(saved["source_id"], "ferry.md");
    assert_eq!(saved["label"]["classification"], "INTERNAL");
    assert_eq!(saved["label"]["integrity"], "UNTRUSTED");
    assert_eq!(saved["replaced"], false);

    let found = search(&home, &["when does the ferry leave", "--session", "a"]);
    let passage = &found["passages"][0];
    assert!(
        passage["text"].as_str().unwrap().contains("leaves at nine"),
        "{found:#}"
    );
    assert_eq!(passage["source_id"], "ferry.md");
    assert_eq!(passage["name"], "a");
    assert_eq!(passage["label"]["classification"], "INTERNAL");
    let text = home.run(["rag", "search", "ferry", "--session", "a"]).code(0).out;
    for part in [
        "ferry.md",
        "line",
        "session a",
        "INTERNAL, UNTRUSTED",
        "leaves at nine",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let again = home.json(["rag", "save", "ferry.md", "--session", "a", "--json"]);
    assert_eq!(again["replaced"], true);
}

#[test]
fn sources_are_of_their_session_unless_all_are_asked_for() {
    let home = home();
    home.run(["rag", "save", "ferry.md", "--session", "a"]).code(0);
    home.run([
        "rag",
        "save",
        "confidential/gold.md",
        "--session",
        "b",
        "--source",
        "gold",
    ])
    .code(0);
    let sources = |arguments: &[&str]| {
        let arguments = ["rag", "sources", "--json"].iter().chain(arguments);
        let listing = crate::harness::ended(home.command(arguments)).code(0).json();
        let sources = listing["sources"].as_array().unwrap().iter();
        let mut names: Vec<String> = sources
            .map(|source| source["source_id"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(sources(&[]), ["ferry.md", "gold"]);
    assert_eq!(sources(&["--session", "b"]), ["gold"]);
    assert!(
        search(&home, &["gold warehouse", "--session", "a"])["passages"]
            .to_string()
            .contains("ferry")
    );
    let everywhere = search(&home, &["gold warehouse", "--global"]);
    assert_eq!(everywhere["passages"][0]["source_id"], "gold");
    assert_eq!(
        everywhere["passages"][0]["label"]["classification"],
        "CONFIDENTIAL"
    );
    let here = search(&home, &["warehouse", "--session", "b", "--source", "gold"]);
    assert_eq!(here["passages"].as_array().unwrap().len(), 1);
    home.run(["rag", "search", "x", "--session", "a", "--source", "gold"])
        .code(1)
        .says([
            "there is no source \"gold\" in session a",
            "tidegate rag sources --session a",
        ]);

    // Of another session, and of none: the same answer.
    for source in ["gold", "none"] {
        home.run(["rag", "delete", source, "--session", "a"])
            .code(1)
            .says(["there is no source", "in session a"]);
    }
    home.run(["rag", "delete", "gold", "--session", "b"]).code(0);
    assert_eq!(sources(&[]), ["ferry.md"]);
    home.run(["rag", "save", "ferry.md", "--session", "a", "--source", "two"])
        .code(0);
    let purged = home.json(["rag", "purge", "--session", "a", "--json"]);
    assert_eq!(purged["deleted"], 2);
    assert!(sources(&[]).is_empty());
}

#[test]
fn a_level_can_only_be_raised_and_what_is_no_text_is_refused() {
    let home = home();
    home.run([
        "rag",
        "save",
        "confidential/gold.md",
        "--session",
        "a",
        "--level",
        "PUBLIC",
    ])
    .code(1)
    .says(["is CONFIDENTIAL", "would lower it"]);
    let raised = home.json([
        "rag",
        "save",
        "ferry.md",
        "--session",
        "a",
        "--level",
        "RESTRICTED",
        "--json",
    ]);
    assert_eq!(raised["label"]["classification"], "RESTRICTED");
    home.write("project/odd.txt", [0xff, 0xfe, 0x00]);
    home.run(["rag", "save", "odd.txt", "--session", "a"])
        .code(1)
        .says(["neither UTF-8 nor UTF-16"]);
    home.run(["rag", "save", "none.md", "--session", "a"])
        .code(1)
        .says(["cannot read none.md"]);
    let config = home.path("config/tidegate/tidegate.toml").display().to_string();
    home.run(["rag", "save", &config, "--session", "a"])
        .code(1)
        .says(["one of the program's own files"]);
    home.run([
        "rag",
        "save",
        "ferry.md",
        "confidential/gold.md",
        "--session",
        "a",
        "--source",
        "x",
    ])
    .code(2)
    .says(["--source names one source"]);
    home.run(["rag", "search", "x", "--session", "nobody"])
        .code(1)
        .says(["there is no session"]);
}

/// A text document: paragraphs of XML in an archive that is not compressed.
fn docx(text: &str) -> Vec<u8> {
    let document = format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
    );
    stored_archive("word/document.xml", document.as_bytes())
}

/// An archive of one file, stored (APPNOTE.TXT of ZIP, sections 4.3.7, 4.3.12 and 4.3.16).
fn stored_archive(name: &str, content: &[u8]) -> Vec<u8> {
    let sum = crc32(content).to_le_bytes();
    let length = u32::try_from(content.len()).unwrap().to_le_bytes();
    let name_length = u16::try_from(name.len()).unwrap().to_le_bytes();
    let common = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &sum,
        &length,
        &length,
        &name_length,
        &[0, 0],
    ]
    .concat();
    let local = [b"PK\x03\x04", &common[..], name.as_bytes(), content].concat();
    let central = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let end = [
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0",
        &u32::try_from(central.len()).unwrap().to_le_bytes()[..],
        &u32::try_from(local.len()).unwrap().to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    [local, central, end].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

/// A PDF of one page, without a table of where its objects are: readers find them.
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

#[test]
fn documents_are_saved_and_found_without_any_model() {
    let home = Home::bare();
    home.write(
        "project/page.html",
        "<p>The <b>pilot</b> boards at noon.</p><script>no()</script>",
    );
    home.write("project/plan.docx", docx("The crane is green."));
    home.write("project/table.pdf", pdf("High water at four."));
    home.write("project/Makefile", "all: anchors\n");
    home.write("project/wide.txt", b"\xff\xfeb\0u\0o\0y\0");
    for file in ["page.html", "plan.docx", "table.pdf", "Makefile", "wide.txt"] {
        home.run(["rag", "save", file, "--session", "harbour"]).code(0);
    }
    for (query, source, text) in [
        ("pilot", "page.html", "The pilot boards at noon."),
        ("crane", "plan.docx", "The crane is green."),
        ("high water", "table.pdf", "High water at four."),
        ("anchors", "Makefile", "all: anchors"),
        ("buoy", "wide.txt", "buoy"),
    ] {
        let found = search(&home, &[query, "--session", "harbour", "--source", source]);
        let passage = &found["passages"][0];
        assert!(passage["text"].as_str().unwrap().contains(text), "{found:#}");
        assert!(!found.to_string().contains("no()"), "{found:#}");
    }
    // The session is one as any other: with a model it is run.
    let list = home.run(["sessions", "list"]).code(0).out;
    assert!(list.contains("harbour"), "{list}");
    home.configure(&Home::answering("done").read("config/tidegate/tidegate.toml"));
    home.play("[[reply]]\ntext = \"done\"\n");
    home.run(["run", "go on", "--session", "harbour"]).code(0);
}

#[test]
fn what_has_no_reader_says_what_has_one_and_begins_no_session() {
    let home = Home::bare();
    home.write("project/good.md", "Good.");
    home.write("project/old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old");
    home.write("project/old.ppt", "old");
    home.write("project/nameless", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old");
    home.write("project/program", b"\x7fELF\x02\0\0");
    home.write("project/torn.pdf", b"%PDF-1.7\nnothing more");
    home.write("project/torn.docx", "no archive");
    home.write("project/picture.png", b"\x89PNG\r\n\x1a\n\0");
    home.write("project/empty.txt", "");
    for (file, why) in [
        ("old.doc", "from before 2007"),
        ("old.ppt", "from before 2007"),
        ("nameless", "from before 2007"),
        ("program", "there is no reader for files of this type"),
        ("torn.pdf", "it cannot be read as PDF"),
        ("torn.docx", "it cannot be read as an Office file"),
        ("picture.png", "there is no text in pictures"),
        ("empty.txt", "the file is empty"),
    ] {
        home.run(["rag", "save", "good.md", file, "--session", "a"])
            .code(1)
            .says([file, why, "possible: text in UTF-8 or UTF-16", "Word (docx)"]);
    }
    home.run(["rag", "save", ".", "--session", "a"])
        .code(1)
        .says(["is no file"]);
    home.write("project/sub/good.md", "Another.");
    home.run(["rag", "save", "good.md", "sub/good.md", "--session", "a"])
        .code(2)
        .says(["would be saved as good.md", "--source"]);
    let list = home.run(["sessions", "list", "--json"]).code(0).lines();
    assert!(list.is_empty(), "{list:?}");
}
