//! `bosun script`: checks scripts for the scripted model and prints their schema.

use model::{SCRIPT_SCHEMA, ScriptModel};
use tui::print;

use crate::args::{ScriptArgs, ScriptCommand};
use crate::error::CliError;
use crate::exit::CommandExit;

pub(crate) fn perform(args: &ScriptArgs) -> Result<CommandExit, CliError> {
    match &args.command {
        ScriptCommand::Check { files } => {
            let mut exit = CommandExit::Success;
            for file in files {
                match ScriptModel::load(file) {
                    Ok(_) => print::output(format_args!("{}: ok", file.display())),
                    Err(error) => {
                        print::error(&error.to_string());
                        exit = CommandExit::Usage;
                    }
                }
            }
            Ok(exit)
        }
        ScriptCommand::Schema => {
            print::output(SCRIPT_SCHEMA.trim_end());
            Ok(CommandExit::Success)
        }
    }
}
