//! What models are told of commands, the web and the small tools. A change here changes every session's prompt.

use std::sync::Arc;
use tidegate_builtins::{
    Answered, Asker, Catalogue, HttpSettings, Question, ask_user, get_tool_schema, http_get, list_tools,
};
use tidegate_policy::{HostRules, Label, Role};
use tidegate_tools::{BoxFuture, Registry};

struct Nobody;

impl Asker for Nobody {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answered> {
        Box::pin(std::future::ready(Answered::NobodyThere))
    }
}

#[test]
fn models_are_told_the_small_tools() {
    let mut registry = Registry::new();
    let catalogue = Catalogue::new(Vec::new());
    for tool in [
        list_tools(catalogue.clone()),
        get_tool_schema(catalogue),
        ask_user(Arc::new(Nobody)),
        http_get(HttpSettings::new(Arc::new(HostRules::default()))),
    ] {
        let policy = &tool.definition().policy;
        assert!(!policy.consequential, "{}", policy.name);
        assert_eq!(policy.role, Role::User, "{}", policy.name);
        assert_eq!(policy.source, Label::BOTTOM, "{}", policy.name);
        registry.register(tool).unwrap();
    }
    insta::assert_json_snapshot!(registry.specs(Role::User));
}

#[cfg(target_os = "linux")]
#[test]
fn models_are_told_run_command_if_their_user_may_run_it() {
    use tidegate_builtins::confine::Launcher;
    use tidegate_builtins::{CommandSettings, Workspace, run_command};
    use tidegate_policy::PathRules;
    use tidegate_tools::MemoryLabels;

    let folder = tempfile::TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let rules = PathRules::builder(&root).build().unwrap();
    let workspace = Workspace::open(&root, rules, Arc::new(MemoryLabels::new())).unwrap();
    let launcher = Launcher::program("/launcher");
    let tool = run_command(CommandSettings::new(&workspace, launcher));
    let policy = &tool.definition().policy;
    assert!(policy.consequential);
    assert_eq!(policy.role, Role::Admin);
    assert_eq!(policy.control_arguments, ["command", "folder", "stdin"]);
    let mut registry = Registry::new();
    registry.register(tool).unwrap();
    assert_eq!(registry.specs(Role::User), []);
    insta::assert_json_snapshot!(registry.specs(Role::Admin));
}
