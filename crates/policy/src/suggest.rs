//! Suggests a rule that the user may want to keep: wide enough to be useful, never wider than calls of the same kind.

use std::path::Path;

use protocol::RuleEffect;
use shell_parser::{ShellWord, SimpleCommand};

use crate::pattern::{RuleMatch, escape_path, interpreters, is_family, known_words, quote_word, without_system_folder};
use crate::request::RequestPart;
use crate::{Policy, Rule, RuleSource};

/// Programs whose first argument is a subcommand.
#[rustfmt::skip]
const HAVE_SUBCOMMANDS: [&str; 35] = [
    "apt", "apt-get", "aws", "az", "brew", "bun", "bundle", "cargo", "composer", "deno", "docker", "dotnet", "flutter",
    "gcloud", "gh", "git", "glab", "go", "gradle", "helm", "jj", "just", "kubectl", "make", "mise", "mix", "mvn", "npm",
    "pip", "pnpm", "podman", "poetry", "rustup", "terraform", "uv",
];

/// Subcommands that have subcommands themselves.
const NESTED_SUBCOMMANDS: [(&str, &[&str]); 9] = [
    ("npm", &["run", "run-script"]),
    ("pnpm", &["run"]),
    ("yarn", &["run"]),
    ("bun", &["run"]),
    ("docker", &["compose", "image", "container", "volume", "network"]),
    ("uv", &["run", "pip", "tool"]),
    ("go", &["mod", "tool", "work"]),
    ("gh", &["pr", "issue", "repo", "run", "release", "workflow"]),
    ("python", &["-m"]),
];

/// Programs that must not be permanently allowed with a keystroke.
const NEVER_SUGGESTED: [&str; 12] =
    ["sudo", "doas", "su", "rm", "dd", "mkfs", "shred", "eval", "exec", "source", ".", "bosun"];

/// A rule that would allow the part, if there is a good one. The rule is tested before it is offered.
pub(crate) fn suggest_rule(policy: &Policy, tool: &str, part: &RequestPart<'_>) -> Option<String> {
    let text = match part {
        RequestPart::Command(simple, _) | RequestPart::ReadOnlyCommand(simple, _) => command_rule(simple)?,
        RequestPart::Read(file) => format!("read({})", path_pattern(policy, file.path)?),
        RequestPart::Edit(file) => format!("edit({})", path_pattern(policy, file.path)?),
        RequestPart::Fetch(address) => format!("fetch({})", address.display()),
        RequestPart::Agent(name) => format!("task({name})"),
        // Such a rule would also allow built-in tools, which do something else.
        RequestPart::Other if is_family(tool) => return None,
        RequestPart::Other => tool.to_owned(),
        RequestPart::Unparsed | RequestPart::ReadUnknown | RequestPart::EditUnknown => return None,
    };
    let rule = Rule::parse(RuleEffect::Allow, &text, RuleSource::Session).ok()?;
    (rule.matches(tool, part, &policy.pattern_base()) >= RuleMatch::Certain).then_some(text)
}

fn command_rule(simple: &SimpleCommand) -> Option<String> {
    let program = simple.name.rsplit('/').next().unwrap_or(&simple.name);
    // `python3.12` is a python.
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if NEVER_SUGGESTED.contains(&program) || interpreters::runs_inline_code(simple) {
        return None;
    }
    let words = known_words(simple);
    if !simple.risks.is_empty() {
        return Some(format!("shell({})", join_quoted(&words?)));
    }
    let args = leading_known_words(&simple.args);
    let Some(subcommand_length) = subcommand_words(program, &args) else {
        return Some(format!("shell({})", join_quoted(&words?)));
    };
    let name = without_system_folder(&simple.name).to_owned();
    let prefix: Vec<String> =
        std::iter::once(name).chain(args[..subcommand_length].iter().map(|word| (*word).to_owned())).collect();
    Some(format!("shell({} *)", join_quoted(&prefix)))
}

/// How many words after the program belong to the subcommand; `None` if only the whole command can be allowed.
fn subcommand_words(program: &str, args: &[&str]) -> Option<usize> {
    let nested =
        NESTED_SUBCOMMANDS.iter().find(|(name, _)| *name == program).map_or(&[] as &[&str], |(_, words)| *words);
    if let Some(first) = args.first().filter(|first| nested.contains(first)) {
        return args.get(1).filter(|second| is_plain(second)).map(|_| 2).or((!first.starts_with('-')).then_some(1));
    }
    if HAVE_SUBCOMMANDS.contains(&program) || interpreters::is_interpreter(program) {
        return args.first().filter(|first| is_plain(first)).map(|_| 1);
    }
    Some(0)
}

fn is_plain(word: &str) -> bool {
    !word.starts_with('-') && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:./".contains(c))
}

/// The words up to the first unknown one.
fn leading_known_words(args: &[ShellWord]) -> Vec<&str> {
    let mut known = Vec::new();
    for word in args {
        match word {
            ShellWord::Known(text) => known.push(text.as_str()),
            ShellWord::Glob(_) | ShellWord::Unknown(_) => break,
        }
    }
    known
}

fn join_quoted(words: &[String]) -> String {
    words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
}

/// A pattern for a file's folder, or for the file alone if the folder is or contains the project's folder.
fn path_pattern(policy: &Policy, path: &Path) -> Option<String> {
    let written = |path: &Path| Some(escape_path(path.to_str()?));
    let folder = path.parent()?;
    let wide = |folder: &Path| {
        folder.parent().is_none()
            || policy.project_dir.starts_with(folder)
            || policy.user_home.as_deref() == Some(folder)
    };
    match (path.strip_prefix(&policy.project_dir), folder.strip_prefix(&policy.project_dir)) {
        (Ok(file), Ok(folder)) if folder.as_os_str().is_empty() => Some(format!("./{}", written(file)?)),
        (Ok(_), Ok(folder)) => Some(format!("{}/**", written(folder)?)),
        (_, _) if wide(folder) => written(path),
        (_, _) => Some(format!("{}/**", written(folder)?)),
    }
}
