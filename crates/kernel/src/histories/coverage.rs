//! Which inputs, reports and events took part in random histories. What can take part is read from the enums, so a new
//! variant that no history knows fails the test below.

use std::collections::BTreeSet;

use protocol::{Event, LogEntry};
use strum::VariantNames;

use super::fleets::FleetHistory;
use super::simulated_session::SimulatedSession;
use super::{STEPS_PER_HISTORY, fleets};
use crate::{KernelInput, RunUpdate};

/// The inputs and reports of a history, by the names of their variants.
#[derive(Default)]
pub(super) struct Coverage {
    inputs: BTreeSet<&'static str>,
    reports: BTreeSet<&'static str>,
}

impl Coverage {
    pub(super) fn add_input(&mut self, input: &KernelInput) {
        self.inputs.insert(input.into());
        if let KernelInput::Report(_, report) = input {
            self.reports.insert(report.into());
        }
    }

    fn merge(&mut self, other: &Coverage) {
        self.inputs.extend(&other.inputs);
        self.reports.extend(&other.reports);
    }
}

/// Events that no history records: an event of a newer version is only read.
const UNRECORDED_EVENTS: [&str; 1] = ["unknown"];

/// The `type` of every event, from the schema.
fn event_types() -> BTreeSet<String> {
    let schema = schemars::schema_for!(Event).to_value();
    let variants = schema["oneOf"].as_array().expect("an event has one of several types");
    let type_of = |variant: &serde_json::Value| variant["properties"]["type"]["const"].as_str().map(str::to_owned);
    variants.iter().filter_map(type_of).collect()
}

fn event_type(entry: &LogEntry) -> String {
    serde_json::to_value(&entry.event).expect("an event is JSON")["type"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_input_report_and_event_takes_part_in_histories() {
    let (mut coverage, mut events) = (Coverage::default(), BTreeSet::new());
    let mut add = |session: &SimulatedSession| {
        coverage.merge(&session.coverage);
        events.extend(session.log.iter().map(event_type));
    };
    for seed in 0..4_000 {
        let mut session = SimulatedSession::new(seed);
        (0..STEPS_PER_HISTORY).for_each(|_| session.step());
        add(&session);
    }
    for seed in 0..600 {
        let mut fleet = FleetHistory::new(seed);
        (0..fleets::STEPS).for_each(|_| fleet.step());
        add(&fleet.session);
    }
    let missing = |known: &[&'static str], seen: &BTreeSet<&'static str>| -> Vec<&'static str> {
        known.iter().filter(|name| !seen.contains(*name)).copied().collect()
    };
    assert_eq!(missing(KernelInput::VARIANTS, &coverage.inputs), [""; 0], "inputs");
    assert_eq!(missing(RunUpdate::VARIANTS, &coverage.reports), [""; 0], "reports");
    let unrecorded: Vec<String> = event_types().difference(&events).cloned().collect();
    assert_eq!(unrecorded, UNRECORDED_EVENTS, "events");
}
