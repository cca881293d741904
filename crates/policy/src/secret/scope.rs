//! Where a secret may go.

use super::placeholder::{Placeholder, each_string, in_text, placeholders};
use super::{SecretName, SecretValues, SubstitutedArguments};
use crate::escape::quoted;
use crate::{
    Classification, HostRules, HostRulesError, Resource, ResourceKind, SecretError, ToolPolicy, escaped,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use url::Url;

/// Where one secret may go (`[secrets.NAME]`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretScope {
    /// The tools that may get it, by name.
    pub tools: Vec<String>,
    /// The arguments it may stand in: `token`, `headers.Authorization`. One that holds others stands for all of
    /// them: `headers`.
    pub arguments: Vec<String>,
    /// The hosts a call with it may talk to, as patterns of `[policy.hosts]`. Empty: none, so only calls that talk to
    /// none may have it.
    pub hosts: Vec<String>,
}

/// A scope that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretScopeError {
    /// It names no tool or no argument, so the secret could go nowhere.
    #[error("[secrets.{secret}] names no `{key}`, so the secret could go nowhere; list those it may go to")]
    Nowhere {
        /// The secret.
        secret: SecretName,
        /// `tools` or `arguments`.
        key: &'static str,
    },
    /// A pattern of `hosts` that cannot be used.
    #[error("[secrets.{secret}] hosts: {pattern:?} {problem}; write a host such as \"api.example.com\" or \
        \"*.example.com\", perhaps with a port", pattern = cause.pattern, problem = cause.problem)]
    Host {
        /// The secret.
        secret: SecretName,
        /// What is wrong with it.
        #[source]
        cause: HostRulesError,
    },
}

/// Where all secrets may go. The default knows none, so every placeholder is refused.
#[derive(Clone, Debug, Default)]
pub struct SecretScopes {
    scopes: BTreeMap<SecretName, (SecretScope, HostRules)>,
}

/// Why a call may not have its secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScopeRefusal {
    /// What is wrong, all of it: either every name that is not there, or every placeholder that stands where it may
    /// not.
    pub problems: Vec<ScopeProblem>,
}

/// One thing wrong with the placeholders of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeProblem {
    /// There is no such secret.
    Missing {
        /// The name.
        secret: SecretName,
    },
    /// The tool may not get it.
    Tool {
        /// The secret.
        secret: SecretName,
        /// The tools that may.
        allowed: Vec<String>,
    },
    /// It may not stand in this argument.
    Argument {
        /// The secret.
        secret: SecretName,
        /// The argument.
        argument: String,
        /// Those it may.
        allowed: Vec<String>,
    },
    /// The call talks to a host that may not get it.
    Host {
        /// The secret.
        secret: SecretName,
        /// The host.
        host: String,
        /// Those that may.
        allowed: Vec<String>,
    },
    /// It would change what the call was judged by.
    Place {
        /// The secret.
        secret: SecretName,
        /// The argument.
        argument: String,
        /// What it would be part of: `the host of a URL`.
        part: &'static str,
    },
}

impl fmt::Display for ScopeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing: Vec<&str> = self
            .problems
            .iter()
            .filter_map(|problem| match problem {
                ScopeProblem::Missing { secret } => Some(secret.as_str()),
                _ => None,
            })
            .collect();
        if !missing.is_empty() {
            return write!(f, "there is no secret named {}", missing.join(", "));
        }
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for ScopeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names
                .iter()
                .map(|name| escaped(name))
                .collect::<Vec<_>>()
                .join(", "),
        };
        match self {
            Self::Missing { secret } => write!(f, "there is no secret named {secret}"),
            Self::Tool { secret, allowed } => {
                write!(
                    f,
                    "{secret} may not go to this tool; it may go to: {}",
                    listed(allowed)
                )
            }
            Self::Argument {
                secret,
                argument,
                allowed,
            } => write!(
                f,
                "{secret} may not stand in the argument {}; it may stand in: {}",
                quoted(argument),
                listed(allowed)
            ),
            Self::Host {
                secret,
                host,
                allowed,
            } => write!(
                f,
                "{secret} may not go to the host {}; it may go to: {}",
                quoted(host),
                listed(allowed)
            ),
            Self::Place {
                secret,
                argument,
                part,
            } => write!(
                f,
                "{secret} may not be {part}, as in the argument {}; no secret may",
                quoted(argument)
            ),
        }
    }
}

impl SecretScopes {
    /// The scopes of all secrets.
    ///
    /// # Errors
    /// If one names no tool or argument, or a host pattern cannot be used.
    pub fn new(
        scopes: impl IntoIterator<Item = (SecretName, SecretScope)>,
    ) -> Result<Self, SecretScopeError> {
        let scopes = scopes.into_iter().map(|(secret, scope)| {
            for (key, list) in [("tools", &scope.tools), ("arguments", &scope.arguments)] {
                if list.is_empty() {
                    return Err(SecretScopeError::Nowhere { secret, key });
                }
            }
            let patterns = scope
                .hosts
                .iter()
                .map(|host| (host.as_str(), Classification::Public));
            match HostRules::new(patterns) {
                Ok(hosts) => Ok((secret, (scope, hosts))),
                Err(cause) => Err(SecretScopeError::Host { secret, cause }),
            }
        });
        Ok(Self {
            scopes: scopes.collect::<Result<_, _>>()?,
        })
    }

    /// The scope of a secret.
    pub fn get(&self, secret: &SecretName) -> Option<&SecretScope> {
        self.scopes.get(secret).map(|(scope, _)| scope)
    }

    /// Whether a secret may go to a host, named as resources are (`host` or `host:port`). A redirect asks again.
    pub fn allows_host(&self, secret: &SecretName, host: &str) -> bool {
        let Some((_, hosts)) = self.scopes.get(secret) else {
            return false;
        };
        let url = format!("https://{host}/").parse::<Url>();
        url.is_ok_and(|url| hosts.classify(&url).pattern.is_some())
    }

    /// Whether every placeholder in `arguments` may be where it is, in a call of `tool` that was resolved to
    /// `resources`: the placeholders.
    ///
    /// # Errors
    /// All that is wrong: first the names that are not there, else what stands where it may not.
    pub fn check(
        &self,
        arguments: &Value,
        tool: &ToolPolicy,
        resources: &[Resource],
    ) -> Result<Vec<Placeholder>, ScopeRefusal> {
        let found = placeholders(arguments);
        if found.is_empty() {
            return Ok(found);
        }
        let names: BTreeSet<&SecretName> = found.iter().map(|placeholder| &placeholder.secret).collect();
        let missing = names.into_iter().filter(|name| !self.scopes.contains_key(*name));
        let mut problems: Vec<ScopeProblem> = missing
            .map(|name| ScopeProblem::Missing { secret: name.clone() })
            .collect();
        if problems.is_empty() {
            for placeholder in &found {
                self.problems_of(placeholder, tool, resources, &mut problems);
            }
            problems.extend(in_authorities(arguments));
        }
        if problems.is_empty() {
            Ok(found)
        } else {
            Err(ScopeRefusal { problems })
        }
    }

    fn problems_of(
        &self,
        placeholder: &Placeholder,
        tool: &ToolPolicy,
        resources: &[Resource],
        problems: &mut Vec<ScopeProblem>,
    ) {
        let Placeholder {
            secret,
            argument,
            in_name,
        } = placeholder;
        let Some((scope, _)) = self.scopes.get(secret) else {
            return;
        };
        let secret = || secret.clone();
        if !scope.tools.iter().any(|name| name == tool.name.as_str()) {
            problems.push(ScopeProblem::Tool {
                secret: secret(),
                allowed: scope.tools.clone(),
            });
        }
        if !scope
            .arguments
            .iter()
            .any(|allowed| is_or_holds(allowed, argument))
        {
            problems.push(ScopeProblem::Argument {
                secret: secret(),
                argument: argument.clone(),
                allowed: scope.arguments.clone(),
            });
        }
        let mut place = |part| {
            problems.push(ScopeProblem::Place {
                secret: secret(),
                argument: argument.clone(),
                part,
            });
        };
        if *in_name {
            place("in a name");
        }
        if tool
            .integrity
            .recipient_arguments
            .iter()
            .any(|allowed| is_or_holds(allowed, argument))
        {
            place("in a recipient");
        }
        let text = placeholder.text();
        if let Some(resource) = resources
            .iter()
            .find(|resource| resource.what().name.contains(&text))
        {
            place(match resource.what().kind {
                ResourceKind::Path => "in a path",
                ResourceKind::Url => "in a host",
                ResourceKind::Command => "in a command",
                ResourceKind::Recipient => "in a recipient",
                ResourceKind::Session => "in the name of a session",
            });
        }
        let hosts: BTreeSet<&str> = resources
            .iter()
            .map(Resource::what)
            .filter(|what| what.kind == ResourceKind::Url)
            .map(|what| what.name.as_str())
            .collect();
        for host in hosts {
            if !self.allows_host(&placeholder.secret, host) {
                problems.push(ScopeProblem::Host {
                    secret: placeholder.secret.clone(),
                    host: host.to_owned(),
                    allowed: scope.hosts.clone(),
                });
            }
        }
    }

    /// The arguments with the values in place of their placeholders: for the tool, and for nothing else. What
    /// [`check`](Self::check) refuses is refused here, too. In a URL a value is percent-encoded.
    ///
    /// # Errors
    /// If a placeholder stands where it may not, or secrets have no value: all their names.
    pub fn substitute(
        &self,
        arguments: &Value,
        tool: &ToolPolicy,
        resources: &[Resource],
        values: &SecretValues,
    ) -> Result<SubstitutedArguments, SecretError> {
        let found = self.check(arguments, tool, resources)?;
        values.put_into(arguments, &found)
    }
}

/// `headers` holds `headers.Authorization`, and is itself.
fn is_or_holds(outer: &str, argument: &str) -> bool {
    argument
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Placeholders in what a URL is judged by: its scheme, user, host and port.
fn in_authorities(arguments: &Value) -> Vec<ScopeProblem> {
    let mut problems = Vec::new();
    each_string(arguments, &mut String::new(), &mut |argument, text, in_name| {
        if in_name {
            return;
        }
        for (place, secret) in in_text(text) {
            if changes_authority(text, &place) {
                problems.push(ScopeProblem::Place {
                    secret,
                    argument: argument.to_owned(),
                    part: "in the scheme, user, host or port of a URL",
                });
            }
        }
    });
    problems
}

/// Whether the placeholder at `place` decides where the URL `text` leads: two values lead to two places, or one of
/// them nowhere.
fn changes_authority(text: &str, place: &Range<usize>) -> bool {
    let with = |value: &str| {
        let url: Url = filled(text, |here| if here == place { value } else { "0" })
            .parse()
            .ok()?;
        let port = url.port_or_known_default();
        let user = (url.username().to_owned(), url.password().map(str::to_owned));
        Some((
            url.scheme().to_owned(),
            user,
            url.host_str().map(str::to_owned),
            port,
        ))
    };
    // A port is a number, and a scheme begins with a letter.
    with("1") != with("2") || with("a") != with("b")
}

/// Whether a text is a URL of a scheme that names a host.
pub(super) fn is_url(text: &str) -> bool {
    filled(text, |_| "0")
        .parse::<Url>()
        .is_ok_and(|url| url.has_host())
}

/// A text with something else in place of each placeholder.
fn filled<'v>(text: &str, value: impl Fn(&Range<usize>) -> &'v str) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut at = 0;
    for (place, _) in in_text(text) {
        filled.push_str(text.get(at..place.start).unwrap_or_default());
        filled.push_str(value(&place));
        at = place.end;
    }
    filled.push_str(text.get(at..).unwrap_or_default());
    filled
}
