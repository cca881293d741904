//! A crate depends only on crates of a lower level.

use cargo_metadata::{DependencyKind, Metadata};
use tidegate_tests::layers::{Layer, LayerFinding, check, layers, members};
use tidegate_tests::{File, WorkspaceError, files, listing};

/// The crates of the design with their levels, and whether each is there yet. A new crate gets a row.
const DESIGN: [(&str, u64, bool); 21] = [
    ("tidegate-policy", 0, true),
    ("tidegate-http", 0, true),
    ("tidegate-message", 1, true),
    ("tidegate-prompt", 2, true),
    ("tidegate-tools", 2, true),
    ("tidegate-store", 2, true),
    ("tidegate-providers", 2, true),
    ("tidegate-core", 3, true),
    ("tidegate-builtins", 3, true),
    ("tidegate-memory", 3, true),
    ("tidegate-mcp", 3, false),
    ("tidegate-qdrant", 4, false),
    ("tidegate-embed", 4, false),
    ("tidegate-runtime", 4, true),
    ("tidegate-server", 5, false),
    ("tidegate", 5, true),
    ("tidegate-testing", 5, true),
    ("tidegate-cli", 6, true),
    ("xtask", 7, true),
    ("tidegate-tests", 7, true),
    ("tidegate-fuzz", 7, true),
];

#[test]
fn every_crate_depends_only_on_crates_of_a_lower_level() -> Result<(), WorkspaceError> {
    let layers = layers()?;
    let findings = check(&layers, &files()?);
    assert!(findings.is_empty(), "{}", listing(&findings));

    // Dependencies were really read: these two are there.
    for (from, to) in [
        ("tidegate-message", "tidegate-policy"),
        ("tidegate-runtime", "tidegate-core"),
    ] {
        let edge = (to.to_owned(), DependencyKind::Normal);
        assert!(
            layers
                .iter()
                .any(|layer| layer.name == from && layer.dependencies.contains(&edge)),
            "the dependency of {from} on {to} was not seen"
        );
    }
    Ok(())
}

#[test]
fn every_crate_of_the_design_was_looked_at_and_has_the_designs_level() -> Result<(), WorkspaceError> {
    let layers = layers()?;
    for (name, level, is_there) in DESIGN {
        match layers.iter().find(|layer| layer.name == name) {
            Some(layer) => assert_eq!(layer.level, Some(level), "{name} is level {level} in the design"),
            None => assert!(!is_there, "{name} was not among the workspace's members"),
        }
    }
    for layer in &layers {
        assert!(
            DESIGN.iter().any(|(name, ..)| *name == layer.name),
            "{} is not in the design's table; decide its level and add it to DESIGN in this file",
            layer.name
        );
    }
    Ok(())
}

fn layer(name: &str, level: Option<u64>, dependencies: &[(&str, DependencyKind)]) -> Layer {
    Layer {
        name: name.to_owned(),
        manifest: format!("crates/{name}/Cargo.toml"),
        level,
        dependencies: dependencies
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), *kind))
            .collect(),
    }
}

fn not_below(name: &str, level: u64, dependency: &str, dependency_level: u64) -> LayerFinding {
    LayerFinding::NotBelow {
        name: name.to_owned(),
        level,
        dependency: dependency.to_owned(),
        dependency_level,
    }
}

#[test]
fn a_dependency_that_does_not_lead_downwards_is_found() {
    use DependencyKind::{Build, Development, Normal};
    for (dependency, kind, expected) in [
        ("low", Normal, vec![]),
        ("low", Build, vec![]),
        ("peer", Normal, vec![not_below("mid", 2, "peer", 2)]),
        ("high", Normal, vec![not_below("mid", 2, "high", 3)]),
        ("high", Build, vec![not_below("mid", 2, "high", 3)]),
        ("high", Development, vec![]),
        ("from-outside", Normal, vec![]),
    ] {
        let layers = [
            layer("low", Some(0), &[]),
            layer("mid", Some(2), &[(dependency, kind)]),
            layer("peer", Some(2), &[]),
            layer("high", Some(3), &[]),
        ];
        assert_eq!(check(&layers, &[]), expected, "{kind} dependency on {dependency}");
    }
}

#[test]
fn a_crate_without_a_level_is_found() {
    let layers = [
        layer("low", None, &[]),
        layer("mid", Some(2), &[("low", DependencyKind::Normal)]),
    ];
    let expected = LayerFinding::NoLevel {
        name: "low".to_owned(),
        manifest: "crates/low/Cargo.toml".to_owned(),
    };
    assert_eq!(check(&layers, &[]), [expected]);
}

#[test]
fn a_package_that_is_no_member_is_found() {
    let layers = [layer("low", Some(0), &[])];
    let files = [
        "Cargo.toml",
        "crates/low/Cargo.toml",
        "crates/stray/Cargo.toml",
        "crates/low/src/lib.rs",
    ]
    .map(|path| File::new(path, ""));
    let expected = LayerFinding::NotLookedAt {
        manifest: "crates/stray/Cargo.toml".to_owned(),
    };
    assert_eq!(check(&layers, &files), [expected]);
}

#[test]
fn a_level_is_read_only_where_it_is_a_whole_number() -> Result<(), cargo_metadata::Error> {
    for (table, expected) in [
        (r#"{"tidegate": {"level": 4}}"#, Some(4)),
        (r#"{"tidegate": {"level": "4"}}"#, None),
        (r#"{"tidegate": {"level": -1}}"#, None),
        (r#"{"tidegate": {}}"#, None),
        (r#"{"level": 4}"#, None),
        ("null", None),
    ] {
        let metadata: Metadata = cargo_metadata::MetadataCommand::parse(METADATA.replace("TABLE", table))?;
        let expected = layer(
            "sample",
            expected,
            &[
                ("plain", DependencyKind::Normal),
                ("only-in-tests", DependencyKind::Development),
                ("of-the-build", DependencyKind::Build),
            ],
        );
        assert_eq!(members(&metadata), [expected], "{table}");
    }
    Ok(())
}

/// One member as `cargo metadata --no-deps` prints it; TABLE stands for its own metadata. The renamed, optional and
/// platform-bound dependency counts like any other.
const METADATA: &str = r#"{
  "packages": [{
    "name": "sample", "version": "0.1.0", "id": "path+file:///w/crates/sample#0.1.0", "license": null,
    "license_file": null, "description": null, "source": null,
    "dependencies": [
      {"name": "plain", "source": null, "req": "^0.1", "kind": null, "rename": "other", "optional": true,
       "uses_default_features": true, "features": [], "target": "cfg(windows)", "registry": null},
      {"name": "only-in-tests", "source": null, "req": "*", "kind": "dev", "rename": null, "optional": false,
       "uses_default_features": true, "features": [], "target": null, "registry": null},
      {"name": "of-the-build", "source": null, "req": "*", "kind": "build", "rename": null, "optional": false,
       "uses_default_features": true, "features": [], "target": null, "registry": null}
    ],
    "targets": [], "features": {}, "manifest_path": "/w/crates/sample/Cargo.toml", "metadata": TABLE,
    "publish": null, "authors": [], "categories": [], "keywords": [], "readme": null, "repository": null,
    "homepage": null, "documentation": null, "edition": "2024", "links": null, "default_run": null,
    "rust_version": null
  }],
  "workspace_members": ["path+file:///w/crates/sample#0.1.0"],
  "workspace_default_members": ["path+file:///w/crates/sample#0.1.0"],
  "resolve": null, "target_directory": "/w/target", "version": 1, "workspace_root": "/w", "metadata": null
}"#;
