//! The options of a session are typed, `protocol::SessionOptions`. None is passed on as the text of a flag, which would be
//! parsed again elsewhere.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sources::{ByteKind, SourceFile, only, shipped, tokens};

/// The structs whose fields are the flags of a session's options, with their files.
const FLAGS: [(&str, &str); 5] = [
    ("RunArgs", "crates/cli/src/args/run.rs"),
    ("PermissionArgs", "crates/cli/src/args/permission.rs"),
    ("ModeArgs", "crates/cli/src/args/mode.rs"),
    ("DefinitionArgs", "crates/cli/src/args/catalog.rs"),
    ("AgentLimitArgs", "crates/cli/src/args/catalog.rs"),
];

/// Calls that parse a command line.
const PARSERS: [&str; 3] = ["parse_from(", "matches_from(", "update_from("];

/// Sources that write such a flag or parse a command line for another purpose.
const EXCEPTIONS: [(&str, &str); 16] = [
    ("crates/cli/src/args", "defines the flags, and its help shows examples"),
    ("crates/cli/src/main.rs", "parses the command line of the process"),
    ("crates/cli/src/panic.rs", "prints the command line in reports, without its values"),
    ("crates/cli/src/demo/history.rs", "writes the flags of git"),
    ("crates/cli/src/demo/runner.rs", "runs the command line that the demo shows"),
    ("crates/cli/src/selftest/sandbox.rs", "starts processes of bosun"),
    ("crates/cli/src/fleet/validate.rs", "names flags in messages"),
    ("crates/adapters/src/claude/open_request.rs", "names the flags of its client in messages"),
    ("crates/adapters/src/claude/session_options.rs", "names the flags of its client in messages"),
    ("crates/config/src/assemble/layers.rs", "names the origin of settings in messages"),
    ("crates/config/src/catalog/loaded.rs", "names the origin of agents in messages"),
    ("crates/config/src/catalog/references.rs", "names the origin of agents in messages"),
    ("crates/config/src/origin.rs", "names the origin of settings in messages"),
    ("crates/git/src", "writes the flags of git"),
    ("crates/policy/src/readonly", "knows the flags of other programs"),
    ("crates/shell-parser/src", "knows the flags of other programs"),
];

/// Every place that passes an option as the text of a flag.
pub(super) fn faults(sources: &[SourceFile]) -> Vec<String> {
    let mut flags = BTreeSet::new();
    for (name, file) in FLAGS {
        let fields =
            sources.iter().find(|source| source.path == Path::new(file)).map(|source| fields(&source.text, name));
        match fields {
            Some(fields) if !fields.is_empty() => flags.extend(fields),
            Some(_) | None => return vec![format!("options: {file} has no fields of {name}")],
        }
    }
    let is_exception = |path: &Path| EXCEPTIONS.iter().any(|(exception, _)| path.starts_with(exception));
    let checked = shipped(sources).into_iter().filter(|source| !is_exception(&source.path));
    checked.flat_map(|source| faults_of(&source, &flags)).collect()
}

/// The flags of the fields of a struct.
fn fields(text: &str, name: &str) -> Vec<String> {
    let code = only(text, &[ByteKind::Code]);
    let body = code.split_once(&format!("struct {name} {{")).and_then(|(_, rest)| rest.split_once("\n}"));
    let lines = body.into_iter().flat_map(|(body, _)| body.lines());
    let fields = lines.filter_map(|line| line.trim().strip_prefix("pub(crate) ")?.split_once(':'));
    fields.map(|(field, _)| format!("--{}", field.trim_start_matches("r#").replace('_', "-"))).collect()
}

fn faults_of(source: &SourceFile, flags: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let line = |at: usize| source.text[..at].matches('\n').count() + 1;
    for (kind, range) in tokens(&source.text) {
        let literal = &source.text[range.clone()];
        let text = literal.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')).map_or("", |(text, _)| text);
        if kind == ByteKind::Literal && is_flag(text, flags) {
            let place = format!("{}:{}", source.path.display(), line(range.start));
            faults.push(format!("options: {place} writes `{text}`: pass a protocol::SessionOptions"));
        }
    }
    let code = only(&source.text, &[ByteKind::Code]);
    for (at, parser) in PARSERS.iter().flat_map(|parser| code.match_indices(parser)) {
        let place = format!("{}:{}", source.path.display(), line(at));
        faults.push(format!("options: {place} calls `{parser}…)`: only the command line of the process is parsed"));
    }
    faults
}

/// Whether a text is a flag, alone or with a value.
fn is_flag(text: &str, flags: &BTreeSet<String>) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    flags.contains(name) || name.starts_with("--{")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(path: &str, text: &str) -> Vec<String> {
        let source = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        let args = "pub(crate) struct RunArgs {\n    /// The model\n    #[arg(long)]\n    pub(crate) model: A,\n    \
                    pub(crate) max_turns: B,\n    pub(crate) r#continue: C,\n}\n";
        let defined = FLAGS.iter().map(|(name, file)| source(file, &args.replace("RunArgs", name)));
        let mut sources: Vec<SourceFile> = defined.take(3).collect();
        sources.push(source(
            FLAGS[3].1,
            &["DefinitionArgs", "AgentLimitArgs"].map(|name| args.replace("RunArgs", name)).concat(),
        ));
        sources.push(source(path, text));
        faults(&sources)
    }

    #[test]
    fn an_option_that_is_passed_as_flag_text_is_named() {
        let path = "crates/adapters/src/http/a.rs";
        let fault = |text: &str| format!("options: {path}:2 writes `{text}`: pass a protocol::SessionOptions");
        for (code, text) in [
            ("\nflags.push(format!(\"--model={model}\"));", "--model={model}"),
            ("\nflags.put(\"--max-turns\", turns);", "--max-turns"),
            ("\nvec![r#\"--continue\"#]", "--continue"),
            ("\nformat!(\"--{name}={value}\")", "--{name}={value}"),
        ] {
            assert_eq!(faults_in(path, code), [fault(text)], "{code}");
        }
        let parsed =
            "options: crates/cli/src/sdk/a.rs:1 calls `parse_from(…)`: only the command line of the process is parsed";
        assert_eq!(faults_in("crates/cli/src/sdk/a.rs", "CliArgs::try_parse_from(flags)"), [parsed]);
    }

    #[test]
    fn messages_other_flags_tests_and_exceptions_are_allowed() {
        for text in [
            "\"name one with --model\"",
            "\"--model names a model\"",
            "git.run(&[\"log\", \"--oneline\", \"--stat=80\"])",
            "// \"--model\"",
            "#[cfg(test)]\nmod tests { const A: &str = \"--model\"; }",
        ] {
            assert_eq!(faults_in("crates/runtime/src/a.rs", text), [""; 0], "{text}");
        }
        let elsewhere = ["crates/cli/tests/it/a.rs", "testkit/src/a.rs"];
        for path in elsewhere.into_iter().chain(EXCEPTIONS.map(|(path, _)| path)) {
            assert_eq!(faults_in(path, "f(\"--model\")"), [""; 0], "{path}");
        }
        assert_eq!(faults(&[]), ["options: crates/cli/src/args/run.rs has no fields of RunArgs"]);
    }
}
