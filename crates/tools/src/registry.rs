//! The tools of a session.

use crate::validate::{check, nearest_name};
use crate::{ArgumentsError, Tool, schema};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tidegate_message::{ToolSpec, parse_arguments};
use tidegate_policy::{Role, ToolName};

/// The longest name a tool may have: what every provider accepts.
const LONGEST_NAME: usize = 64;

/// The tools of a session, sorted by name: whatever the order of registration, the same tools give the same
/// bytes. Cloning is cheap in memory but not free; share it where it does not change.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<ToolName, Registered>,
}

#[derive(Clone)]
struct Registered {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    // Compiled once: compiling costs a thousand times what checking does.
    validator: Arc<Validator>,
}

/// A tool that cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Its name is taken.
    #[error("there are two tools named {name}; give one of them another name, or register only one")]
    Duplicate {
        /// The name.
        name: ToolName,
    },
    /// Its name would not pass a provider.
    #[error("{name:?} cannot be a tool's name; write 1 to 64 letters A-Z a-z, digits, _ or -")]
    InvalidName {
        /// The name.
        name: ToolName,
    },
    /// Models and the gate would know it by different names.
    #[error("tool {spec} has a policy for {policy}; the policy's name must be the tool's")]
    NameMismatch {
        /// The name in its spec.
        spec: ToolName,
        /// The name in its policy.
        policy: ToolName,
    },
    /// Its schema describes something else than an object.
    #[error("the input schema of {name} must be an object schema, with \"type\": \"object\", not {found}")]
    NotAnObjectSchema {
        /// The tool.
        name: ToolName,
        /// What was found instead.
        found: String,
    },
    /// Its schema is no valid JSON schema, or refers to one elsewhere (nothing is fetched).
    #[error("the input schema of {name} is no valid JSON schema (at {at:?})")]
    InvalidSchema {
        /// The tool.
        name: ToolName,
        /// JSON pointer into the schema; empty for the whole.
        at: String,
        /// What is wrong.
        #[source]
        cause: Box<ValidationError<'static>>,
    },
    /// It declares a control argument that its schema does not have, so the gate would guard nothing.
    #[error("{name} declares the control argument {argument:?}, which is none of its arguments: {arguments}")]
    UnknownControlArgument {
        /// The tool.
        name: ToolName,
        /// The declared argument.
        argument: String,
        /// The arguments of its schema, separated by commas.
        arguments: String,
    },
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. Its schema is compiled and brought into the form models get: no `$schema`, no titles,
    /// lists that mean sets (`required`, `enum`, `type`) sorted.
    ///
    /// # Errors
    /// A [`RegistryError`] says which tool cannot be used, why, and what is valid; the registry is unchanged.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let definition = tool.definition();
        let name = definition.spec.name.clone();
        if !is_valid_name(name.as_str()) {
            return Err(RegistryError::InvalidName { name });
        }
        if definition.policy.name != name {
            return Err(RegistryError::NameMismatch {
                spec: name,
                policy: definition.policy.name.clone(),
            });
        }
        if self.tools.contains_key(&name) {
            return Err(RegistryError::Duplicate { name });
        }
        let spec = ToolSpec {
            input_schema: schema::normalised(definition.spec.input_schema.clone()),
            ..definition.spec.clone()
        };
        require_object(&name, &spec.input_schema)?;
        require_control_arguments(&name, &spec.input_schema, &definition.policy.control_arguments)?;
        let validator = Arc::new(compile(&name, &definition.spec.input_schema, &spec.input_schema)?);
        self.tools.insert(
            name,
            Registered {
                tool,
                spec,
                validator,
            },
        );
        Ok(())
    }

    /// The tool of that name, whatever the role.
    pub fn get(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|registered| &registered.tool)
    }

    /// Every tool, sorted by name, whatever the role.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|registered| &registered.tool)
    }

    /// What `role` may see, sorted by name.
    pub fn specs(&self, role: Role) -> Vec<ToolSpec> {
        self.visible(role)
            .map(|registered| registered.spec.clone())
            .collect()
    }

    /// The names of what `role` may see and run, in order.
    pub fn names(&self, role: Role) -> Vec<ToolName> {
        self.visible(role)
            .map(|registered| registered.spec.name.clone())
            .collect()
    }

    /// How many tools there are, whatever the role.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Parses and checks raw arguments of a call to `name`, whatever the role. Empty arguments are `{}`.
    ///
    /// Roles are judged by the gate (check 1) before arguments are (check 2); a caller that does not ask the
    /// gate uses [`check_for`](Self::check_for).
    ///
    /// # Errors
    /// An [`ArgumentsError`]: the call must not be run, and its message is what the model is told.
    pub fn check(&self, name: &ToolName, arguments: &str) -> Result<Map<String, Value>, ArgumentsError> {
        self.check_known(name, arguments, self.tools.keys())
    }

    /// The same for a caller of `role`: a tool the role may not see is answered like one that does not exist,
    /// and is not named among those there are.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn check_for(
        &self,
        role: Role,
        name: &ToolName,
        arguments: &str,
    ) -> Result<Map<String, Value>, ArgumentsError> {
        let names = self.names(role);
        self.check_known(name, arguments, names.iter())
    }

    fn check_known<'a>(
        &'a self,
        name: &ToolName,
        arguments: &str,
        mut known: impl Iterator<Item = &'a ToolName> + Clone,
    ) -> Result<Map<String, Value>, ArgumentsError> {
        let all = known.clone();
        match self.tools.get(name).filter(|_| known.any(|one| one == name)) {
            Some(Registered { spec, validator, .. }) => {
                let arguments = parse_arguments(arguments).map_err(|cause| ArgumentsError::Unparsable {
                    tool: name.clone(),
                    cause,
                })?;
                check(name, arguments, validator, &spec.input_schema)
            }
            None => Err(ArgumentsError::UnknownTool {
                name: name.clone(),
                nearest: nearest_name(name.as_str(), all.clone().map(ToolName::as_str)).map(ToolName::new),
                available: all.cloned().collect(),
            }),
        }
    }

    fn visible(&self, role: Role) -> impl Iterator<Item = &Registered> {
        self.tools
            .values()
            .filter(move |registered| registered.tool.definition().policy.role <= role)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

fn is_valid_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn require_object(name: &ToolName, schema: &Value) -> Result<(), RegistryError> {
    let found = match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => return Ok(()),
        Some(kind) => format!("\"type\": {kind}"),
        None if schema.is_object() => "one without \"type\"".into(),
        None => format!("{schema}"),
    };
    Err(RegistryError::NotAnObjectSchema {
        name: name.clone(),
        found,
    })
}

fn require_control_arguments(
    name: &ToolName,
    schema: &Value,
    declared: &[String],
) -> Result<(), RegistryError> {
    let none = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    if schema.as_object().is_some_and(schema::is_composed) {
        // The argument may be in one of the parts; looking for it there would be guessing.
        return Ok(());
    }
    match declared
        .iter()
        .find(|argument| !properties.contains_key(*argument))
    {
        None => Ok(()),
        Some(argument) => Err(RegistryError::UnknownControlArgument {
            name: name.clone(),
            argument: argument.clone(),
            arguments: properties
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// Compiles the schema as written, since `$schema` decides what its keywords mean; a `$schema` nobody knows is
/// no reason to refuse the tool, and is then left out.
fn compile(name: &ToolName, written: &Value, normalised: &Value) -> Result<Validator, RegistryError> {
    // Whether `format` is checked would otherwise depend on the draft.
    let build = |schema| jsonschema::options().should_validate_formats(false).build(schema);
    build(written)
        .or_else(|_| build(normalised))
        .map_err(|cause| RegistryError::InvalidSchema {
            name: name.clone(),
            at: cause.instance_path().as_str().to_owned(),
            cause: Box::new(cause),
        })
}
