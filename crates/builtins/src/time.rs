//! `current_time`.

use jiff::ZonedDateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tidegate_policy::Label;
use tidegate_tools::{CallContext, Tool, ToolError, TypedTool, nearest_name};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A time zone's IANA name, as in Europe/Berlin. Default: the zone of the system.
    timezone: Option<String>,
}

/// The tool `current_time` over `clock`, which also says what the default zone is; `jiff::ZonedDateTime::now` is one.
///
/// It answers in ISO 8601 with offset, zone name and day of the week. The clock is the program's own, so the result
/// is PUBLIC and TRUSTED.
pub fn current_time(clock: impl Fn() -> ZonedDateTime + Send + Sync + 'static) -> Arc<dyn Tool> {
    let clock = Arc::new(clock);
    let tell = move |arguments: Arguments, _: CallContext| {
        let clock = Arc::clone(&clock);
        async move {
            let now = clock();
            Ok(match arguments.timezone {
                None => told(&now),
                Some(name) => told(&now.with_time_zone(zone(&name)?)),
            })
        }
    };
    let description = include_str!("../templates/current_time.txt").trim_end();
    Arc::new(TypedTool::new("current_time", description, tell).source(Label::BOTTOM))
}

fn told(time: &ZonedDateTime) -> String {
    let day = time.strftime("%A");
    match time.time_zone().iana_name() {
        Some(zone) => format!("{} ({zone}, {day})", time.strftime("%Y-%m-%dT%H:%M:%S%:z")),
        None => format!("{} ({day})", time.strftime("%Y-%m-%dT%H:%M:%S%:z")),
    }
}

/// The zone of that name, from the database in the program: the system's may be missing.
fn zone(name: &str) -> Result<TimeZone, ToolError> {
    let zones = TimeZoneDatabase::bundled();
    zones.get(name).map_err(|_| {
        let names: Vec<String> = zones.available().map(|zone| zone.to_string()).collect();
        let near = nearest_name(name, names.iter().map(String::as_str)).unwrap_or("Europe/Berlin");
        let given = serde_json::Value::from(tidegate_tools::graphemes_within(name, 40));
        ToolError::new(format!(
            "there is no time zone {given}; write an IANA name, as in {near}"
        ))
    })
}
