//! What check 7 has to know about a tool.

use serde::{Deserialize, Serialize};

/// The class of effect a tool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionClass {
    /// It only reads.
    #[default]
    None,
    /// Data leaves: mail, messages, posts, invitations.
    Egress,
    /// Something is removed or overwritten.
    Destructive,
    /// Money is spent or promised.
    Financial,
    /// Something changes in the owner's own place.
    LocalWrite,
}

impl ActionClass {
    /// Its name in configuration and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Egress => "egress",
            Self::Destructive => "destructive",
            Self::Financial => "financial",
            Self::LocalWrite => "local_write",
        }
    }
}

/// Which fields of a tool's result are trusted. Written `"none"`, `"all"` or a list of field names.
///
/// Trust attaches to whole values of fields. A value equal to or contained in an argument of the call is not
/// trusted by it, and neither is anything in an error or in the result of a consequential call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TrustedFieldsText", into = "TrustedFieldsText")]
pub enum TrustedFields {
    /// None: the default.
    #[default]
    None,
    /// Every field.
    All,
    /// These, at whatever depth they stand.
    Named(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TrustedFieldsText {
    Keyword(TrustedKeyword),
    Named(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TrustedKeyword {
    None,
    All,
}

impl From<TrustedFieldsText> for TrustedFields {
    fn from(text: TrustedFieldsText) -> Self {
        match text {
            TrustedFieldsText::Keyword(TrustedKeyword::None) => Self::None,
            TrustedFieldsText::Keyword(TrustedKeyword::All) => Self::All,
            TrustedFieldsText::Named(names) => Self::Named(names),
        }
    }
}

impl From<TrustedFields> for TrustedFieldsText {
    fn from(fields: TrustedFields) -> Self {
        match fields {
            TrustedFields::None => Self::Keyword(TrustedKeyword::None),
            TrustedFields::All => Self::Keyword(TrustedKeyword::All),
            TrustedFields::Named(names) => Self::Named(names),
        }
    }
}

impl TrustedFields {
    /// Whether the field `name` is trusted; `None` is the result as a whole, where it is a single value.
    pub fn contains(&self, name: Option<&str>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Named(names) => name.is_some_and(|name| names.iter().any(|known| known == name)),
        }
    }
}

/// Which fields of a listing's rows identify an object and which name it for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFields {
    /// Fields that hold an opaque id. The first a row has counts. A tool whose result is content rather than a
    /// listing (a file, a page) declares none: then nothing in it names an object.
    #[serde(default = "default_id_fields")]
    pub id: Vec<String>,
    /// Fields that name the object. A row is known by each of them.
    #[serde(default = "default_name_fields")]
    pub name: Vec<String>,
    /// The field with the address of who sent the object, where the tool authenticated it. Default none: then a
    /// reply to it has to be approved.
    #[serde(default)]
    pub sender: Option<String>,
}

fn default_id_fields() -> Vec<String> {
    ["id", "id_", "_id", "uid", "uuid", "key"]
        .map(String::from)
        .to_vec()
}

fn default_name_fields() -> Vec<String> {
    [
        "name",
        "title",
        "subject",
        "filename",
        "file_name",
        "display_name",
        "label",
        "summary",
        "description",
    ]
    .map(String::from)
    .to_vec()
}

impl Default for RowFields {
    fn default() -> Self {
        Self {
            id: default_id_fields(),
            name: default_name_fields(),
            sender: None,
        }
    }
}

impl RowFields {
    /// A result that is content: nothing in it names an object.
    pub fn none() -> Self {
        Self {
            id: Vec::new(),
            name: Vec::new(),
            sender: None,
        }
    }
}

/// A tool's declarations for integrity by value (check 7). The default is a tool that only reads and whose result
/// is trusted in nothing.
///
/// Control arguments are declared in [`ToolPolicy::control_arguments`](crate::ToolPolicy::control_arguments);
/// an argument declared nowhere is a control argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolIntegrity {
    /// The class of its effect.
    #[serde(default)]
    pub action: ActionClass,
    /// Whether data leaves with a call.
    #[serde(default)]
    pub egress: bool,
    /// Arguments that name who receives: control arguments, too.
    #[serde(default)]
    pub recipient_arguments: Vec<String>,
    /// Arguments that are only payload.
    #[serde(default)]
    pub content_arguments: Vec<String>,
    /// Which fields of its result are trusted.
    #[serde(default)]
    pub trusted_fields: TrustedFields,
    /// How the rows of its result are named.
    #[serde(default)]
    pub rows: RowFields,
}
