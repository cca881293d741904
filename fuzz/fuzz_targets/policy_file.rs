#![no_main]

#[expect(dead_code, reason = "a target uses one of the checks")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|text: &str| checks::policy_file(text));
