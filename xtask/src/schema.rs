//! `cargo xtask schema`: rewrites the checked-in schemas from the types they describe, and the page about options of SDKs
//! from the tables of its tests.
//!
//! A test of each crate compares its schema with the file; with `BOSUN_BLESS` set, the same test writes it. So the test
//! and this command cannot disagree.

use anyhow::Result;

use crate::run::{cargo, run};

/// The crates with a checked-in schema, and the test that compares it.
const SCHEMAS: [(&str, &str); 4] = [
    ("bosun-model", "the_schema_is_the_one_that_is_checked_in"),
    ("bosun-config", "the_schema_of_plans_is_the_one_that_is_checked_in"),
    ("bosun-adapters", "the_openapi_document_is_the_one_that_is_checked_in"),
    ("bosun-adapters", "the_page_of_options_is_the_one_that_is_checked_in"),
];

/// Writes every schema.
pub(crate) fn schema() -> Result<()> {
    for (package, test) in SCHEMAS {
        run(cargo(&["test", "--quiet", "--package", package, test]).env("BOSUN_BLESS", "1"))?;
    }
    Ok(())
}
