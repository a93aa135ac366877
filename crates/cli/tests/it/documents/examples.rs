//! The `console` blocks of each page run as they are printed: `$ ` begins a command, `> ` continues it, and the lines
//! below are its output on stdout and stderr. `…` stands for any text within a line; on a line of its own, for any
//! number of lines. A page's commands share one shell, an empty folder and a fresh HOME, and each must succeed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::read;
use crate::BOSUN;

/// Pages whose examples are not run: the first two have none, and the benchmarks of the last take minutes.
const UNTESTED_PAGES: [&str; 3] = ["docs/adapters.md", "docs/glossary.md", "docs/performance.md"];

/// Printed before and after each exit code, to separate it from the commands' output.
const MARK: char = '\u{1}';

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
struct ConsoleExample {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn parse(text: &str) -> Vec<ConsoleExample> {
    let mut examples: Vec<ConsoleExample> = Vec::new();
    let mut in_console_block = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            in_console_block = line == "```console";
        } else if in_console_block && let Some(command) = line.strip_prefix("$ ") {
            examples.push(ConsoleExample { line: number + 1, command: command.to_owned(), output: Vec::new() });
        } else if in_console_block && let Some(last) = examples.last_mut() {
            match line.strip_prefix("> ").or((line == ">").then_some("")) {
                Some(more) => last.command = format!("{}\n{more}", last.command),
                None => last.output.push(line.to_owned()),
            }
        }
    }
    examples
}

/// Runs all commands in one shell; returns each exit code and output.
#[expect(clippy::disallowed_methods, reason = "the examples run in a shell, as a reader would run them")]
fn run(examples: &[ConsoleExample]) -> Vec<(String, Vec<String>)> {
    let base = tempfile::Builder::new().prefix("bosun-").tempdir().unwrap();
    let [bin, folder] = ["bin", "folder"].map(|name| base.path().join(name));
    fs::create_dir(&bin).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(BOSUN, bin.join("bosun")).unwrap();
    let script: String =
        examples.iter().map(|example| format!("{}\nprintf '{MARK}%s{MARK}' \"$?\"\n", example.command)).collect();
    fs::write(base.path().join("script.sh"), format!("exec 2>&1\n{script}")).unwrap();
    let output = Command::new("timeout")
        .args(["120", "bash"])
        .arg(base.path().join("script.sh"))
        .current_dir(&folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
        .envs([("HOME", base.path())])
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Ann")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "ann@example.com")))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<&str> = printed.split(MARK).collect();
    let lines = |text: &str| text.trim_end_matches('\n').lines().map(str::to_owned).collect();
    parts.chunks_exact(2).map(|pair| (pair[1].to_owned(), lines(pair[0]))).collect()
}

/// Whether a command printed what the page shows.
fn is_as_shown(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any.trim() == "…" => {
            (0..=printed.len()).any(|skipped| is_as_shown(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, more)| line_matches(line, first) && is_as_shown(rest, more))
        }
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    match shown.trim_end().split_once('…') {
        None => shown.trim_end() == printed.trim_end(),
        Some((begin, rest)) => printed.strip_prefix(begin).is_some_and(|printed| {
            let wildcard_ends = printed.char_indices().map(|(at, _)| at).chain([printed.len()]);
            wildcard_ends.into_iter().any(|end| line_matches(rest, &printed[end..]))
        }),
    }
}

fn check(page: &str) {
    let examples = parse(&read(page));
    assert!(!examples.is_empty(), "{page} has no ```console block");
    let mut outcomes = run(&examples).into_iter();
    for ConsoleExample { line, command, output } in &examples {
        let (code, printed) = outcomes.next().unwrap_or_else(|| panic!("{page}:{line}: `{command}` did not end"));
        let all = printed.join("\n");
        assert_eq!(code, "0", "{page}:{line}: `{command}` failed:\n{all}");
        // A page may omit the output of a command; an output that it shows must match.
        assert!(output.is_empty() || is_as_shown(output, &printed), "{page}:{line}: `{command}` printed:\n{all}");
    }
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $test() {
                check($page);
            }
        )*
    };
}

pages! {
    agents: "docs/agents.md",
    autopilot: "docs/autopilot.md",
    background: "docs/background.md",
    chat: "docs/chat.md",
    cli: "docs/cli.md",
    fleets: "docs/fleets.md",
    getting_started: "docs/getting-started.md",
    hooks: "docs/hooks.md",
    http: "docs/http.md",
    index: "docs/README.md",
    isolation: "docs/isolation.md",
    lists: "docs/lists.md",
    mcp: "docs/mcp.md",
    local_models: "docs/local-models.md",
    migrating: "docs/migrating.md",
    permissions: "docs/permissions.md",
    providers: "docs/providers.md",
    readme: "README.md",
    script_model: "docs/script-model.md",
    sdks: "docs/sdks.md",
    settings: "docs/settings.md",
    slash_commands: "docs/slash-commands.md",
    tasks: "docs/tasks.md",
}

#[test]
fn every_page_is_tested_or_exempt() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in fs::read_dir(docs).unwrap() {
        let page = format!("docs/{}", entry.unwrap().file_name().into_string().unwrap());
        let is_checked = PAGES.contains(&&*page) || UNTESTED_PAGES.contains(&&*page) || !page.ends_with(".md");
        assert!(is_checked, "{page} is not in the list of pages whose examples run");
    }
}

#[test]
fn examples_are_parsed_and_compared_line_by_line() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let compare = |shown, printed| is_as_shown(&lines(shown), &lines(printed));
    assert!(compare("a\n…\nb … c", "a\nx\ny\nb 1 c"));
    assert!(compare("…", "") && compare("a…", "a"));
    assert!(!compare("a", "a\nb") && !compare("a\nb", "a") && !compare("a…c", "ab"));
    let text = "```console\n$ cat > x <<E\n> y\n> E\n$ cat x\ny\n```\n```sh\n$ no\n```";
    let example = |line, command: &str, output| ConsoleExample { line, command: command.into(), output };
    assert_eq!(parse(text), [example(2, "cat > x <<E\ny\nE", vec![]), example(5, "cat x", vec!["y".into()])]);
}
