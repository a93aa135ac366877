//! `bosun fleet` as people and machines use it.

mod apart;
mod ends;
mod isolated;
mod kills;
mod reuse;
mod stops;
mod views;

use std::fs;

use testkit::binary::BinaryFixture;

use crate::stage;

/// A stage with a plan and a script.
pub(crate) fn planned(plan: &str, script: &str) -> BinaryFixture {
    let stage = stage();
    stage.script(&format!("version: 1\nrules:\n{script}"));
    fs::write(stage.path("plan.yaml"), plan).unwrap();
    stage
}
