//! `list_tools` and `get_tool_schema`: finding tools in a large set.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use tidegate_message::ToolSpec;
use tidegate_policy::{Label, ToolName};
use tidegate_tools::{
    CallContext, IntoOutput, Json, Tool, ToolError, ToolOutput, TypedTool, graphemes_within, nearest_name,
};

/// How much of a description is shown in a list, in characters.
const SUMMARY: usize = 160;

/// The tools that can be found. It has to hold only those the user of the session may see.
#[derive(Clone)]
pub struct Catalogue {
    specs: Arc<dyn Fn() -> Vec<ToolSpec> + Send + Sync>,
    label: Label,
}

impl Catalogue {
    /// These tools, described by the program itself: what is told of them is PUBLIC and TRUSTED.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self::live(move || specs.clone())
    }

    /// The tools there are whenever it is asked.
    pub fn live(specs: impl Fn() -> Vec<ToolSpec> + Send + Sync + 'static) -> Self {
        Self {
            specs: Arc::new(specs),
            label: Label::BOTTOM,
        }
    }

    /// The label of what is told of them: UNTRUSTED where descriptions come from a server that is not trusted.
    #[must_use]
    pub fn label(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// In the order of their names.
    fn sorted(&self) -> Vec<ToolSpec> {
        let mut specs = (self.specs)();
        specs.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
        specs
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Words that the name or the description has to contain, in any order and case. Default: all tools.
    query: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Name {
    /// The name of the tool.
    name: String,
}

/// The tool `list_tools`, read-only, for role USER: name and summary of each tool, by name.
pub fn list_tools(catalogue: Catalogue) -> Arc<dyn Tool> {
    let label = catalogue.label;
    let list = move |Query { query }: Query, _: CallContext| {
        let listed = listed(&catalogue.sorted(), query.as_deref());
        async move { Ok::<_, ToolError>(listed) }
    };
    let description = include_str!("../templates/list_tools.txt").trim_end();
    Arc::new(TypedTool::new("list_tools", description, list).source(label))
}

/// The tool `get_tool_schema`, read-only, for role USER: one tool as JSON.
pub fn get_tool_schema(catalogue: Catalogue) -> Arc<dyn Tool> {
    let label = catalogue.label;
    let describe = move |Name { name }: Name, _: CallContext| {
        let described = described(&catalogue.sorted(), &name);
        async move { described }
    };
    let description = include_str!("../templates/get_tool_schema.txt").trim_end();
    Arc::new(TypedTool::new("get_tool_schema", description, describe).source(label))
}

fn listed(specs: &[ToolSpec], query: Option<&str>) -> String {
    let words: Vec<String> = query
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let matching = |spec: &&ToolSpec| {
        let text = format!("{} {}", spec.name, spec.description).to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let found: Vec<String> = specs.iter().filter(matching).map(line).collect();
    match (found.is_empty(), specs.is_empty()) {
        (false, _) => found.join("\n"),
        (true, true) => "There are no tools.".to_owned(),
        (true, false) => format!("No tool fits that query. There are: {}.", names(specs)),
    }
}

fn line(spec: &ToolSpec) -> String {
    let first = spec.description.lines().next().unwrap_or_default();
    let cut = graphemes_within(first, SUMMARY);
    let dots = if cut.len() < spec.description.trim_end().len() {
        " …"
    } else {
        ""
    };
    format!("{}: {}{dots}", spec.name, cut.trim_end())
}

fn described(specs: &[ToolSpec], name: &str) -> Result<ToolOutput, ToolError> {
    if let Some(spec) = specs.iter().find(|spec| spec.name == ToolName::from(name)) {
        return Json(json!({
            "name": spec.name,
            "description": spec.description,
            "input_schema": spec.input_schema,
        }))
        .into_output();
    }
    let near = nearest_name(name, specs.iter().map(|spec| spec.name.as_str()));
    let given = serde_json::Value::from(graphemes_within(name, 60));
    Err(ToolError::new(match near {
        Some(near) => format!("there is no tool {given}; did you mean {near}?"),
        None => format!("there is no tool {given}; there are: {}", names(specs)),
    }))
}

fn names(specs: &[ToolSpec]) -> String {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    names.join(", ")
}
