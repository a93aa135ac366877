//! `bosun import`: shows which settings of another product Bosun can take over, and writes them.

use std::path::{Path, PathBuf};

use config::import::{ImportFinding, ImportLocations, ImportOutcome, Product, survey, write};
use config::{Env, ForbiddableFeature, Project, SettingsLayers, SettingsLocations, TrustStatus};
use host::Home;
use protocol::api::{self, ImportFindingView, ImportSettingsResult};
use tui::print;

use crate::args::{ImportArgs, ImportedProduct};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::log;
use crate::setup::{Setup, settings_failure, working_folder};

pub(crate) fn perform(args: &ImportArgs) -> Result<CommandExit, CliError> {
    let env = Env::read();
    let home = open_home(&env)?;
    let (findings, errors) = import(&env, &home, &working_folder(None)?, product(args.product), args.write)?;
    let is_complete =
        errors.is_empty() && !findings.iter().any(|finding| matches!(finding.outcome, ImportOutcome::Invalid(_)));
    if args.json {
        print::json(&result(findings, args.write, errors));
    } else {
        print_findings(&findings, args, env.user_home.as_deref());
        errors.iter().for_each(|error| print::error(&print::sanitize(error)));
    }
    Ok(if is_complete { CommandExit::Success } else { CommandExit::Failed })
}

/// Surveys the files of a product, and writes the changes if wanted.
pub(crate) fn view(
    setup: &Setup,
    cwd: &Path,
    product: api::ImportedProduct,
    writes: bool,
) -> Result<ImportSettingsResult, CliError> {
    let product = match product {
        api::ImportedProduct::Claude => Product::Claude,
        api::ImportedProduct::Copilot => Product::Copilot,
        api::ImportedProduct::Codex => Product::Codex,
    };
    let (findings, errors) = import(&setup.env, &setup.home, cwd, product, writes)?;
    Ok(result(findings, writes, errors))
}

fn import(
    env: &Env,
    home: &Home,
    cwd: &Path,
    product: Product,
    writes: bool,
) -> Result<(Vec<ImportFinding>, Vec<String>), CliError> {
    let project = Project::find(cwd);
    let no_allow_all = allow_all_forbidden_by(env, home)?;
    let relocated = env.folder_of(product);
    let locations = ImportLocations {
        home: home.root(),
        user_home: env.user_home.as_deref(),
        relocated: relocated.as_deref(),
        trust: TrustStatus::look_up(home, &project),
        project: &project,
        allow_all_forbidden_by: no_allow_all.as_deref(),
    };
    let _lock = if writes { Some(home.lock("settings")?) } else { None };
    let findings = survey(product, &locations).map_err(settings_failure)?;
    let errors = if writes { write(&findings).iter().map(ToString::to_string).collect() } else { Vec::new() };
    Ok((findings, errors))
}

fn result(findings: Vec<ImportFinding>, written: bool, errors: Vec<String>) -> ImportSettingsResult {
    ImportSettingsResult { findings: findings.into_iter().map(finding_view).collect(), written, errors }
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

/// The managed file that forbids the allow-all mode, if any.
fn allow_all_forbidden_by(env: &Env, home: &Home) -> Result<Option<PathBuf>, CliError> {
    let managed = SettingsLayers::read(&SettingsLocations {
        home: home.root(),
        user_home: None,
        managed: env.managed.as_deref(),
        project: Project { dir: home.root().to_owned(), foreign_repository: None },
        trust: TrustStatus::Untrusted,
        scopes: &[],
    });
    Ok(managed.map_err(settings_failure)?.forbidden_by(ForbiddableFeature::AllowAll).map(Path::to_owned))
}

fn product(named: ImportedProduct) -> Product {
    match named {
        ImportedProduct::Claude => Product::Claude,
        ImportedProduct::Copilot => Product::Copilot,
        ImportedProduct::Codex => Product::Codex,
    }
}

fn finding_view(finding: ImportFinding) -> ImportFindingView {
    let change = finding.outcome.change();
    ImportFindingView {
        becomes: change.map(|change| change.text()),
        into: change.map(|change| change.into().display().to_string()),
        reason: reason(&finding.outcome),
        outcome: finding.outcome.as_str().to_owned(),
        file: finding.file.display().to_string(),
        found: finding.subject,
    }
}

fn reason(outcome: &ImportOutcome) -> Option<String> {
    match outcome {
        ImportOutcome::Written(_) | ImportOutcome::AlreadyPresent(_) => None,
        ImportOutcome::Conflicting { kept, .. } => Some(kept.clone()),
        ImportOutcome::InPlace(when) => (!when.is_empty()).then(|| when.clone()),
        ImportOutcome::NotImported(why) | ImportOutcome::Invalid(why) => Some(why.clone()),
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
