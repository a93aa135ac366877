//! `bosun fleet schema`: the JSON Schema of plans, for editors.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

pub(super) fn print() -> Result<Exit, Failure> {
    let schema = serde_json::to_string_pretty(&config::plan_schema()).map_err(Failure::failed)?;
    print::answer(schema);
    Ok(Exit::Success)
}
