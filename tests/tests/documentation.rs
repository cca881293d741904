//! What the documentation lists is what the program has.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

const BEGIN: &str = "<!-- keys: begin -->\n";
const END: &str = "<!-- keys: end -->";

fn configuration_page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md")
}

/// The table of keys, from the schema.
fn table() -> String {
    let schema = tidegate_runtime::config::schema();
    let mut table = String::from("| key | default | hot | meaning |\n| --- | --- | --- | --- |\n");
    rows(&schema, &schema, "", &mut table);
    table
}

fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let name = node
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| path.strip_prefix("#/$defs/"));
    name.and_then(|name| schema.get("$defs")?.get(name))
        .unwrap_or(node)
}

fn rows(schema: &Value, node: &Value, key: &str, table: &mut String) {
    let Some(properties) = node.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let key = if key.is_empty() {
            name.clone()
        } else {
            format!("{key}.{name}")
        };
        let target = resolved(schema, property);
        if target.get("properties").is_some() {
            rows(schema, target, &key, table);
            continue;
        }
        let members = target
            .get("additionalProperties")
            .map(|members| resolved(schema, members));
        if let Some(members) = members.filter(|members| members.get("properties").is_some()) {
            rows(schema, members, &format!("{key}.NAME"), table);
            continue;
        }
        let default = match property.get("default") {
            None | Some(Value::Null) => String::new(),
            Some(default) => format!("`{default}`"),
        };
        let hot = match property.get("x-hot").and_then(Value::as_bool) {
            Some(true) => "hot",
            Some(false) => "restart",
            None => "",
        };
        let meaning = property.get("description").or_else(|| target.get("description"));
        let meaning = meaning
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace(['\n', '|'], " ");
        writeln!(table, "| `{key}` | {default} | {hot} | {meaning} |").unwrap();
    }
}

/// Set `UPDATE_DOCS=1` to write the table instead of comparing it.
#[test]
fn the_configuration_page_lists_every_key() {
    let path = configuration_page();
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the page marks where the keys begin");
    let (listed, after) = rest.split_once(END).expect("the page marks where the keys end");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else if listed != table {
        panic!(
            "docs/configuration.md is out of date; run this test with UPDATE_DOCS=1 and look at the change"
        );
    }
}

#[test]
fn every_key_says_whether_it_is_hot_and_what_it_means() {
    let reserved = [
        "channels", "council", "delegate", "mcp", "prompt", "server", "sessions", "subagent",
    ];
    for row in table().lines().skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [key, _, hot, meaning] = cells.as_slice() else {
            panic!("{row}")
        };
        assert!(!meaning.is_empty(), "{row}");
        let is_reserved = reserved.contains(&key.trim_matches('`'));
        assert_eq!(hot.is_empty(), is_reserved, "{row}");
    }
}
