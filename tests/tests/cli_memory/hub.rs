//! A model hub on the loopback interface, with a tiny bge-m3.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

const REPOSITORY: &str = "gpahal/bge-m3-onnx-int8";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Serves the tiny model until the test ends. Gives its address.
pub(crate) fn start() -> String {
    let folder = tidegate_tests::root().join("crates/embed/tests/fixtures/tiny-bge-m3");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = if name == "model.onnx" {
            "model_quantized.onnx".to_owned()
        } else {
            name
        };
        files.insert(name, std::fs::read(entry.path()).unwrap());
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            // A client that went away is not the hub's business.
            let _ = answer(connection.unwrap(), &files);
        }
    });
    address
}

fn answer(mut connection: TcpStream, files: &BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let body = if path == format!("/api/models/{REPOSITORY}/revision/main") {
        Some(
            serde_json::json!({ "id": REPOSITORY, "sha": COMMIT })
                .to_string()
                .into_bytes(),
        )
    } else if path == format!("/api/models/{REPOSITORY}/tree/{COMMIT}") {
        Some(list(files).into_bytes())
    } else {
        let name = path.strip_prefix(&format!("/{REPOSITORY}/resolve/{COMMIT}/"));
        name.and_then(|name| files.get(name)).cloned()
    };
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(&body)
}

/// The files as the hub lists them, each as a large one: by SHA-256.
fn list(files: &BTreeMap<String, Vec<u8>>) -> String {
    let entries: Vec<serde_json::Value> = files
        .iter()
        .map(|(name, content)| {
            let sum: String = Sha256::digest(content)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            serde_json::json!({
                "type": "file", "path": name, "size": content.len(), "oid": "a".repeat(40),
                "lfs": { "oid": sum, "size": content.len(), "pointerSize": 134 },
            })
        })
        .collect();
    serde_json::Value::Array(entries).to_string()
}
