//! `bosun mcp test`.

use protocol::api::{McpTestResult, TestedMcpPrompt, TestedMcpTool};
use tui::print;

pub(super) fn print(result: &McpTestResult, json: bool) {
    let McpTestResult { name, protocol, tools, prompts, has_resources, rejected } = result;
    if json {
        return print::json(result);
    }
    print::output(format_args!("{name}: protocol {protocol}, {}", print::pluralize(tools.len(), "tool")));
    for TestedMcpTool { name, description } in tools {
        print::output(format_args!("  {name}  {}", print::one_line(&print::sanitize(description), 100)));
    }
    for TestedMcpPrompt { usage, description } in prompts {
        print::output(format_args!("  {usage}  {}", print::one_line(&print::sanitize(description), 100)));
    }
    if *has_resources {
        print::output("  and resources, which agents list and read with their own tools");
    }
    for why in rejected {
        print::note(print::sanitize(&format!("not used: {why}")));
    }
}
