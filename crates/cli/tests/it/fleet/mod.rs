//! `bosun fleet` through the binary.

mod apart;
mod ends;
mod entry_points;
mod isolated;
mod kills;
mod reuse;
mod stops;
mod views;

use std::fs;

use testkit::binary::BinaryFixture;

use crate::fixture;

/// A fixture with a plan and a script.
pub(crate) fn fixture_with_plan(plan: &str, script: &str) -> BinaryFixture {
    let fixture = fixture();
    fixture.script(&format!("version: 1\nrules:\n{script}"));
    fs::write(fixture.path("plan.yaml"), plan).unwrap();
    fixture
}
