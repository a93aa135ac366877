//! `bosun script`: scripts for the scripted model, checked before they are used.

use model::Script;

use crate::args::{ScriptArgs, ScriptCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

pub(crate) fn perform(args: &ScriptArgs) -> Result<Exit, Failure> {
    match &args.command {
        ScriptCommand::Check { files } => {
            let mut exit = Exit::Success;
            for file in files {
                match Script::load(file) {
                    Ok(_) => print::answer(format_args!("{}: ok", file.display())),
                    Err(error) => {
                        print::error(&error.to_string());
                        exit = Exit::Usage;
                    }
                }
            }
            Ok(exit)
        }
        ScriptCommand::Schema => {
            let schema = serde_json::to_string_pretty(&model::script_schema()).map_err(Failure::failed)?;
            print::answer(schema);
            Ok(Exit::Success)
        }
    }
}
