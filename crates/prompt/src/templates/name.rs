//! Which templates there are.

use std::fmt;

macro_rules! templates {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {
        /// A template. Its file name is the one that overrides it in `[prompt] templates_dir`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TemplateName {
            $($(#[$doc])* $name,)*
        }

        impl TemplateName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of its file.
            pub const fn file(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($file, ".j2"),)*
                }
            }

            /// The built-in text.
            pub const fn builtin(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../../templates/", $file, ".j2")),)*
                }
            }
        }
    };
}

templates! {
    /// First tier of the system prompt: identity, guidance for tools and model, environment.
    SystemStable = "system_stable";
    /// Second tier: the caller's system message, the project file.
    SystemContext = "system_context";
    /// Third tier: skills, the day the session began.
    SystemSession = "system_session";
    /// The block of recalled memory on a user message.
    Memory = "memory";
    /// The block of notes on a user message.
    Notes = "notes";
    /// What stands for a file that is not in the context whole.
    SmartContext = "smart_context";
    /// What stands for an old tool result.
    ToolStub = "tool_stub";
    /// What stands where a text was cut.
    CutMark = "cut_mark";
    /// What the auxiliary model is told about summaries.
    SummaryInstructions = "summary_instructions";
    /// What the auxiliary model is to sum up.
    SummaryRequest = "summary_request";
    /// A summary without a model.
    SummaryPlain = "summary_plain";
    /// The frame of a summary in the transcript.
    Summary = "summary";
}

impl TemplateName {
    /// The template whose file has this name.
    pub fn of_file(file: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|name| name.file() == file)
    }
}

impl fmt::Display for TemplateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.file())
    }
}
