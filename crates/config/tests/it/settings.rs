//! Settings other than providers.

use std::time::Duration;

use protocol::{Budget, ReasoningEffort};

use crate::{access, read};

#[test]
fn budget_effort_and_timeouts_are_settings() {
    let text = "effort = 'high'\n[budget]\nusd = 2.5\ntokens = 100_000\n[network]\nconnect-timeout = '3s'\nidle_timeout = '2m'\n";
    let config = read(text).unwrap();
    assert_eq!(config.budget, Budget { tokens: Some(100_000), micros: Some(2_500_000) });
    assert_eq!(config.effort, Some(ReasoningEffort::High));
    let patience = access(text, &[]).unwrap().providers.timeouts;
    let seconds = [patience.connect, patience.first_byte, patience.idle].map(|time| time.as_secs());
    assert_eq!(seconds, [3, Duration::from_secs(120).as_secs(), 120]);
}

#[test]
fn without_a_file_nothing_is_limited() {
    let config = read("").unwrap();
    assert_eq!((config.budget, config.effort, config.model), (Budget::default(), None, None));
}

#[test]
fn keys_may_use_dashes_or_underscores() {
    let dashed = read("max-turns = 3\n[output]\ncommand-bytes = 7\n[network]\nfirst-byte-timeout = '1s'\n").unwrap();
    let underscored =
        read("max_turns = 3\n[output]\ncommand_bytes = 7\n[network]\nfirst_byte_timeout = '1s'\n").unwrap();
    assert_eq!(dashed, underscored);
}
