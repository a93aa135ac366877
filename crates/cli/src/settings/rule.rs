//! Adds permission rules to the user's settings.

use protocol::RuleEffect;
use protocol::api::{AddRuleParams, AddRuleResult};
use tui::print;

use crate::args::RuleArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(super) fn write(setup: &Setup, effect: RuleEffect, args: &RuleArgs) -> Result<CommandExit, CliError> {
    let rule = args.rule.text().to_owned();
    let params = AddRuleParams { cwd: None, scope: args.scope.into(), effect, rule: rule.clone() };
    let AddRuleResult { path, already_present } = setup.sources().add_rule(params)?;
    let state = if already_present { "already in" } else { "written to" };
    print::note(format_args!("{} {rule}: {state} {path}", effect.as_str()));
    if let Some(tool) = args.rule.unknown_tool() {
        let tool = print::sanitize(&tool);
        print::note(format_args!(
            "warning: it matches nothing unless an MCP server or a client's tool is called `{tool}`"
        ));
    }
    Ok(CommandExit::Success)
}
