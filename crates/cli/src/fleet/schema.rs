//! `bosun fleet schema`: the JSON Schema of plans, for editors.

use config::PLAN_SCHEMA;
use tui::print;

use crate::exit::CommandExit;

pub(super) fn print_schema() -> CommandExit {
    print::output(PLAN_SCHEMA.trim_end());
    CommandExit::Success
}
