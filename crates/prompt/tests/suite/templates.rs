use crate::made::templates;
use std::collections::BTreeMap;
use tidegate_prompt::{PromptError, TemplateName, Templates};

fn overriding(file: &str, text: &str) -> Result<Templates, PromptError> {
    Templates::with_overrides(&BTreeMap::from([(file.to_owned(), text.to_owned())]))
}

#[test]
fn the_built_in_templates_pass_their_own_check() {
    assert!(templates().overridden().is_empty());
    // Each can be put into a folder as it is and overrides itself.
    let all = TemplateName::ALL
        .iter()
        .map(|name| (name.file().to_owned(), name.builtin().to_owned()))
        .collect();
    assert_eq!(
        Templates::with_overrides(&all).unwrap().overridden().len(),
        TemplateName::ALL.len()
    );
}

#[test]
fn a_mistake_in_a_template_is_told_with_its_place() {
    let mistakes: Vec<String> = [
        ("memories.j2", "x"),
        ("memory.j2", "one\n{% for item in items %}\n{{ item.text }}"),
        ("memory.j2", "one\ntwo {{ itms }}"),
        (
            "memory.j2",
            "the word itms\n{{ 'x' }}{% for i in items %}{{ i.text }}\n{% if itms %}{% endif %}{% endfor %}",
        ),
        (
            "memory.j2",
            "\n\n{% for item in items %}{{ item.texxt }}{% endfor %}",
        ),
        (
            "memory.j2",
            "{% for item in items %}{{ item.origin }}{% endfor %}",
        ),
        ("memory.j2", "{% for i in range(10**9) %}x{% endfor %}"),
        (
            "memory.j2",
            "\n{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        ),
        ("memory.j2", "{% include 'notes.j2' %}"),
        ("system_stable.j2", "{{ now() }}"),
        ("summary.j2", "Summary."),
    ]
    .iter()
    .map(|(file, text)| overriding(file, text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(mistakes.join("\n"));
}

#[test]
fn another_language_is_another_text() {
    let german = overriding(
        "cut_mark.j2",
        "[gekürzt: {{ omitted }} von {{ total }} Zeichen fehlen]\n\n",
    )
    .unwrap();
    assert_eq!(german.overridden(), [TemplateName::CutMark]);
    let file = tidegate_prompt::ProjectFile::new(&german, "AGENTS.md", &"x".repeat(20_001))
        .unwrap()
        .unwrap();
    assert!(
        file.text()
            .contains("\n\n[gekürzt: 2001 von 20001 Zeichen fehlen]\n\n")
    );
}

#[test]
fn the_variables_are_those_that_an_error_names() {
    let all: Vec<String> = TemplateName::ALL
        .iter()
        .map(|name| format!("{name}: {}", Templates::variables(*name).join(", ")))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}
