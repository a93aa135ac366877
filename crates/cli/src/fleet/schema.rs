//! `bosun fleet schema`: the JSON Schema of plans, for editors.

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;

pub(super) fn print_schema() -> Result<CommandExit, CliError> {
    let schema = serde_json::to_string_pretty(&config::plan_schema()).map_err(CliError::failed)?;
    print::output(schema);
    Ok(CommandExit::Success)
}
