//! `bosun import`: shows which settings of another product Bosun can take over, and writes them.

use std::path::Path;

use config::import::{ImportFinding, ImportOutcome, Product};
use config::{Env, RemoteDefinitions, SettingsSources, import_result};
use host::Home;
use tui::print;

use crate::args::{ImportArgs, ImportedProduct};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::log;
use crate::setup::working_folder;

pub(crate) fn perform(args: &ImportArgs) -> Result<CommandExit, CliError> {
    let env = Env::read();
    let home = open_home(&env)?;
    let sources = SettingsSources { home: &home, env: &env, remote: &RemoteDefinitions::default() };
    let (findings, errors) = sources.import(&working_folder(None)?, product(args.product), args.write)?;
    let is_complete =
        errors.is_empty() && !findings.iter().any(|finding| matches!(finding.outcome, ImportOutcome::Invalid(_)));
    if args.json {
        print::json(&import_result(findings, args.write, errors));
    } else {
        print_findings(&findings, args, env.user_home.as_deref());
        errors.iter().for_each(|error| print::error(&print::sanitize(error)));
    }
    Ok(if is_complete { CommandExit::Success } else { CommandExit::Failed })
}

/// Opens Bosun's home without its settings: they include those of the other product, which may be invalid.
fn open_home(env: &Env) -> Result<Home, CliError> {
    let root = env.home.clone().ok_or_else(|| {
        CliError::usage("neither BOSUN_HOME nor HOME is set").with_hint("set BOSUN_HOME to a folder of your own")
    })?;
    let home = Home::open(root)?;
    log::start(&home, env.log.as_deref())?;
    Ok(home)
}

fn product(named: ImportedProduct) -> Product {
    match named {
        ImportedProduct::Claude => Product::Claude,
        ImportedProduct::Copilot => Product::Copilot,
        ImportedProduct::Codex => Product::Codex,
    }
}

/// Prints each file with its entries and the outcome of each entry.
fn print_findings(findings: &[ImportFinding], args: &ImportArgs, user: Option<&Path>) {
    // Any part of a line may come from an untrusted file.
    let print_line = |line: String| print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
    let mut last_file: Option<&Path> = None;
    for finding in findings {
        if last_file != Some(&finding.file) {
            print_line(short_path(&finding.file, user));
            last_file = Some(&finding.file);
        }
        print_line(format!("  {}  →  {}", finding.subject, describe_outcome(&finding.outcome, args.write, user)));
    }
    let count = |wanted: fn(&ImportOutcome) -> bool| findings.iter().filter(|finding| wanted(&finding.outcome)).count();
    let writes = count(|outcome| matches!(outcome, ImportOutcome::Written(_)));
    let invalid = count(|outcome| matches!(outcome, ImportOutcome::Invalid(_)));
    let summary = match (findings.is_empty(), writes, args.write) {
        (true, _, _) => "no files of this product were found".to_owned(),
        (false, 0, _) => "nothing to write".to_owned(),
        (false, _, true) => format!("{} written", print::pluralize(writes, "entry").replace("entrys", "entries")),
        (false, _, false) => {
            let entries = print::pluralize(writes, "entry").replace("entrys", "entries");
            format!("{entries} to write; run again with --write")
        }
    };
    print::note(summary);
    if invalid > 0 {
        print::note(format_args!("{} could not be read; others are not affected", print::pluralize(invalid, "part")));
    }
}

fn describe_outcome(outcome: &ImportOutcome, written: bool, user: Option<&Path>) -> String {
    match outcome {
        ImportOutcome::Written(change) => {
            let verb = if written { "written to" } else { "becomes part of" };
            match change.text() {
                copy if copy.starts_with("a copy") => format!("{copy} at {}", short_path(change.into(), user)),
                text => format!("{text}, {verb} {}", short_path(change.into(), user)),
            }
        }
        ImportOutcome::AlreadyPresent(change) => format!("already in {}", short_path(change.into(), user)),
        ImportOutcome::Conflicting { change, kept } => {
            format!("not written: {} has {kept}, which is kept", short_path(change.into(), user))
        }
        ImportOutcome::InPlace(when) if when.is_empty() => "already read in place".into(),
        ImportOutcome::InPlace(when) => format!("read in place {when}"),
        ImportOutcome::NotImported(reason) => format!("not imported: {reason}"),
        ImportOutcome::Invalid(reason) => format!("invalid: {reason}"),
    }
}

/// The path with `~` for the user's home.
fn short_path(path: &Path, user: Option<&Path>) -> String {
    match user.and_then(|user| path.strip_prefix(user).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
