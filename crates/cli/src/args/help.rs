//! Help beyond the flags themselves: headings, examples and exit codes. Completions and manual pages are generated from
//! the same `Command`.

use clap::{Command, CommandFactory};

use super::CliArgs;
use super::examples::examples;

const ROOT_HELP: &str = "\
Examples:
  bosun demo                                         see it work, offline and without a key
  bosun doctor                                       check the installation, and suggest fixes
  bosun --model anthropic/claude-sonnet-5-5          a conversation; it asks before each change
  bosun -p \"fix the failing test\" --permission-mode accept-edits --allow 'shell(cargo test *)'
  git diff | bosun -p --model ollama/qwen3:8b        the prompt from stdin
  bosun -p \"how would we split the parser?\" --plan   a plan, and nothing is changed
  bosun -p \"make the tests pass\" --autopilot --permission-mode accept-edits --share run.html
  bosun fleet \"make the parser accept any input\" --isolation worktree    many agents at once
  bosun --continue -p \"and the docs\"                 continue the last session of this folder
  bosun explain 'shell(git push)'                    whether a call would be allowed, and why
  bosun approvals                                    calls and questions that wait for you
  bosun tasks                                        agents, and what they are doing
  bosun catalog list                                 available agents and skills
  bosun models                                       available models, and the keys they need
  bosun cost                                         cost by model
  bosun sessions                                     sessions, newest first
  bosun config show --origin                         settings in effect, and where each comes from

Exit codes: 0 all succeeded, 1 failed, 2 usage or config, 3 answered but an agent or a
background command failed, 4 turn or time limit, 5 cancelled, 6 budget, 7 parked on a quota.";

/// The clap command with headings and examples.
pub(crate) fn command() -> Command {
    extend_help(CliArgs::command())
}

/// The same without `help` subcommands, which have no pages in the manual.
pub(crate) fn manual_command() -> Command {
    extend_help(CliArgs::command().disable_help_subcommand(true))
}

fn extend_help(command: Command) -> Command {
    let grouped = define_all(command).mut_args(|arg| match arg.get_id().as_str() {
        "help" | "version" => arg,
        flag => {
            let heading = heading(flag);
            arg.help_heading(heading)
        }
    });
    let grouped = grouped.mut_subcommand("agents", |agents| agents.mut_subcommand("start", adapt_help_to_background));
    let adapted = grouped.mut_subcommand("fleet", |fleet| {
        let fleet = adapt_help_to_fleet(fleet);
        fleet.mut_subcommand("run", adapt_help_to_fleet).mut_subcommand("resume", adapt_help_to_fleet)
    });
    with_examples(adapted.after_help(ROOT_HELP), "")
}

/// Defines the arguments of all subcommands, not only of the one that is used.
fn define_all(mut command: Command) -> Command {
    command.build();
    command
}

/// Hides flags that only apply to a prompt from the help of a fleet, and describes `--agent` for a fleet.
fn adapt_help_to_fleet(command: Command) -> Command {
    command.mut_args(|arg| {
        let heading = heading(arg.get_id().as_str());
        match arg.get_id().as_str() {
            "prompt" | "image" | "detach" | "fork" | "background_wait" | "plan" | "plan_exit" | "autopilot"
            | "max_continues" => arg.hide(true),
            "agent" => arg.help("The agent for todos that do not name one (general-purpose)").help_heading(heading),
            _other if heading == "Other" => arg,
            _other => arg.help_heading(heading),
        }
    })
}

/// Hides flags that a session in the background does not have, or that every one has.
fn adapt_help_to_background(command: Command) -> Command {
    command.mut_args(|arg| {
        let heading = heading(arg.get_id().as_str());
        match arg.get_id().as_str() {
            "prompt" | "image" | "detach" | "share" | "background_wait" | "park_wait" => arg.hide(true),
            _other if heading == "Other" => arg,
            _other => arg.help_heading(heading),
        }
    })
}

/// The names of all flags and commands.
pub(crate) fn flag_and_command_names() -> Vec<String> {
    let (mut names, mut unvisited) = (Vec::new(), vec![define_all(CliArgs::command())]);
    while let Some(command) = unvisited.pop() {
        names.extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")));
        unvisited.extend(command.get_subcommands().cloned());
        names.push(command.get_name().to_owned());
    }
    names
}

/// The commands that can follow `bosun`.
pub(crate) fn subcommand_names() -> Vec<String> {
    names_below(&define_all(CliArgs::command()))
}

/// The commands that can follow `bosun fleet`.
pub(crate) fn fleet_subcommand_names() -> Vec<String> {
    define_all(CliArgs::command()).find_subcommand("fleet").map(names_below).unwrap_or_default()
}

fn names_below(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// The heading of a flag in the help of a run.
fn heading(flag: &str) -> &'static str {
    match flag {
        "opening" | "prompt" | "image" | "detach" | "directory" | "add_dir" => "Prompt and workspace",
        "model" | "effort" | "record" => "Model",
        "continue" | "resume" | "fork" => "Continuing a session",
        "allow" | "ask" | "deny" | "allow_all" | "permission_mode" | "no_ask_user" | "ask_wait" => "Permissions",
        "plan" | "plan_exit" | "autopilot" | "max_continues" => "Plan and autopilot",
        "settings" | "setting_sources" => "Settings",
        "output_format" | "quiet" | "share" => "Output",
        "max_turns" | "max_budget_usd" | "max_tokens_total" | "timeout" | "background_wait" | "park_wait"
        | "max_agents" | "max_depth" | "max_total_agents" => "Limits",
        "agent" | "agents" | "plugin_dir" | "strict" | "list" | "mcp_config" | "strict_mcp_config" => "Agents",
        _other => "Other",
    }
}

/// Adds examples to every command below this one that has none yet.
fn with_examples(command: Command, path: &str) -> Command {
    command.mut_subcommands(|subcommand| {
        let path = format!("{path} {}", subcommand.get_name()).trim_start().to_owned();
        let subcommand = match (subcommand.get_after_help(), examples(&path)) {
            (None, Some(examples)) => subcommand.after_help(examples),
            (Some(_), _) | (None, None) => subcommand,
        };
        with_examples(subcommand, &path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subcommand_help(command: &Command, path: &str) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
            let path = format!("{path} {}", subcommand.get_name());
            let help = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            entries.extend(subcommand_help(subcommand, &path));
            entries.push((path, help));
        }
        entries
    }

    #[test]
    fn every_command_has_an_example() {
        let without: Vec<String> = subcommand_help(&command(), "bosun")
            .into_iter()
            .filter(|(_, help)| !help.contains("Example"))
            .map(|(path, _)| path)
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn examples_parse() {
        let is_example = |line: &&str| line.starts_with("  bosun ");
        for (path, help) in
            subcommand_help(&command(), "bosun").into_iter().chain([("bosun".into(), ROOT_HELP.to_owned())])
        {
            for line in help.lines().filter(is_example) {
                let line = line.trim_start().split("   ").next().unwrap();
                let parsed = command().try_get_matches_from(shell_words(line));
                assert!(parsed.is_ok(), "{path}: {line}: {}", parsed.unwrap_err());
            }
        }
    }

    /// Splits a line into words as a shell would, up to a pipe or redirection.
    fn shell_words(line: &str) -> Vec<&str> {
        let parts = line.split(['|', '>']).next().unwrap().split(['"', '\'']).enumerate();
        parts.flat_map(|(n, part)| if n % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }).collect()
    }

    #[test]
    fn every_flag_of_a_run_is_under_a_heading() {
        let command = command();
        let other: Vec<_> = command
            .get_arguments()
            .filter(|arg| arg.get_help_heading() == Some("Other"))
            .map(|arg| arg.get_id().to_string())
            .collect();
        assert!(other.is_empty(), "{other:?}");
    }
}
