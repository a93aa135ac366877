//! `bosun explain`: whether a call would be allowed, asked about or denied, why, and what would change that.

use policy::Explanation;
use protocol::RuleEffect;
use tui::print;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

pub(crate) fn explain_call(args: &ExplainArgs) -> Result<CommandExit, CliError> {
    let cwd = working_folder(args.directory.as_deref())?;
    let setup = Setup::read()?;
    let (tool, explanation) = setup.sources().explain(&args.permissions.session_options(), &args.call, &cwd)?;
    if args.json {
        print::json(&config::explanation_view(&tool, &explanation));
    } else {
        print_explanation(&explanation);
    }
    Ok(CommandExit::Success)
}

fn print_explanation(explanation: &Explanation) {
    let Explanation { verdict, parts } = explanation;
    print::output(format_args!("{}: {}", verdict.effect.as_str(), single_line(&verdict.reason())));
    let several = parts.iter().filter(|part| part.effect != RuleEffect::Allow).count() > 1;
    let remedy = if several { "each part must be allowed on its own".into() } else { verdict.remedy() };
    print::output(format_args!("what would change it: {}", single_line(&remedy)));
    // For a file that is both read and changed, the stricter verdict is enough.
    if parts.iter().any(|part| part.part != verdict.part) {
        print::output("parts:");
        for part in parts {
            print::output(format_args!("  {:<5}  {}", part.effect.as_str(), single_line(&part.reason())));
            if several && part.effect != RuleEffect::Allow {
                print::output(format_args!("         → {}", single_line(&part.remedy())));
            }
        }
    }
}

/// Text on one line without terminal control characters.
fn single_line(text: &str) -> String {
    print::sanitize(text).replace(['\n', '\t'], " ")
}
