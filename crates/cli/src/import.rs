//! `bosun import`: what the files of another product become in Bosun, and writing it.

use std::path::{Path, PathBuf};

use config::import::{Finding, ImportPlaces, Outcome, Product, survey, write};
use config::{Env, Feature, Layers, Places, Project, Standing};
use host::Home;
use serde::Serialize;

use crate::args::{ImportArgs, ImportedProduct};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::{folder, refused, standing};
use crate::{log, print};

/// What was found, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    findings: Vec<Row>,
    /// Whether it was written.
    written: bool,
    /// What could not be written.
    errors: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    file: PathBuf,
    found: String,
    outcome: &'static str,
    /// What is or would be written.
    becomes: Option<String>,
    /// Where.
    into: Option<PathBuf>,
    /// What is kept, when it is read in place, or why it is not imported.
    reason: Option<String>,
}

pub(crate) fn perform(args: &ImportArgs) -> Result<Exit, Failure> {
    let env = Env::read();
    let home = open_home(&env)?;
    let project = Project::find(&folder(None)?);
    let no_allow_all = forbidding(&env, &home)?;
    let moved = env.folder_of(product(args.product));
    let places = ImportPlaces {
        home: home.root(),
        user: env.user.as_deref(),
        moved: moved.as_deref(),
        standing: standing(&home, &project),
        project: &project,
        no_allow_all: no_allow_all.as_deref(),
    };
    let _lock = if args.write { Some(home.lock("settings")?) } else { None };
    let findings = survey(product(args.product), &places).map_err(refused)?;
    let errors: Vec<String> = match args.write {
        true => write(&findings).iter().map(ToString::to_string).collect(),
        false => Vec::new(),
    };
    let is_whole = errors.is_empty() && !findings.iter().any(|it| matches!(it.outcome, Outcome::Invalid(_)));
    if args.json {
        print::json(&Report { findings: findings.into_iter().map(row).collect(), written: args.write, errors });
    } else {
        show(&findings, args, env.user.as_deref());
        errors.iter().for_each(|error| print::error(&print::plain(error)));
    }
    Ok(if is_whole { Exit::Success } else { Exit::Failed })
}

/// Bosun's home, without its settings: those of another product are among them, and may be what is wrong.
fn open_home(env: &Env) -> Result<Home, Failure> {
    let root = env.home.clone().ok_or_else(|| {
        Failure::usage("neither BOSUN_HOME nor HOME is set").hint("set BOSUN_HOME to a folder of your own")
    })?;
    let home = Home::open(root)?;
    log::start(&home, env.log.as_deref())?;
    Ok(home)
}

/// The managed file that forbids the mode allow-all, if one does.
fn forbidding(env: &Env, home: &Home) -> Result<Option<PathBuf>, Failure> {
    let managed = Layers::read(&Places {
        home: home.root(),
        user: None,
        managed: env.managed.as_deref(),
        project: Project { top: home.root().to_owned(), stranger: None },
        standing: Standing::Untrusted,
        read: &[],
    });
    Ok(managed.map_err(refused)?.forbids(Feature::AllowAll).map(Path::to_owned))
}

fn product(named: ImportedProduct) -> Product {
    match named {
        ImportedProduct::Claude => Product::Claude,
        ImportedProduct::Copilot => Product::Copilot,
        ImportedProduct::Codex => Product::Codex,
    }
}

fn row(finding: Finding) -> Row {
    let change = finding.outcome.change();
    Row {
        becomes: change.map(|change| change.text()),
        into: change.map(|change| change.into().to_owned()),
        reason: reason(&finding.outcome),
        outcome: finding.outcome.word(),
        file: finding.file,
        found: finding.found,
    }
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Becomes(_) | Outcome::Present(_) => None,
        Outcome::Kept { kept, .. } => Some(kept.clone()),
        Outcome::InPlace(when) => (!when.is_empty()).then(|| when.clone()),
        Outcome::NotImported(why) | Outcome::Invalid(why) => Some(why.clone()),
    }
}

/// Shows each file with what stands in it and what becomes of that.
fn show(findings: &[Finding], args: &ImportArgs, user: Option<&Path>) {
    // Every word of it may be a stranger's.
    let tell = |line: String| print::answer(print::plain(&line).replace(['\n', '\t'], " "));
    let mut last: Option<&Path> = None;
    for finding in findings {
        if last != Some(&finding.file) {
            tell(short(&finding.file, user));
            last = Some(&finding.file);
        }
        tell(format!("  {}  →  {}", finding.found, fate(&finding.outcome, args.write, user)));
    }
    let count = |wanted: fn(&Outcome) -> bool| findings.iter().filter(|finding| wanted(&finding.outcome)).count();
    let writes = count(|outcome| matches!(outcome, Outcome::Becomes(_)));
    let invalid = count(|outcome| matches!(outcome, Outcome::Invalid(_)));
    let sum = match (findings.is_empty(), writes, args.write) {
        (true, _, _) => "no files of this product were found".to_owned(),
        (false, 0, _) => "there is nothing to write".to_owned(),
        (false, _, true) => format!("{} written", print::count(writes, "entry").replace("entrys", "entries")),
        (false, _, false) => {
            format!("{} to write; --write writes it", print::count(writes, "entry").replace("entrys", "entries"))
        }
    };
    print::note(sum);
    if invalid > 0 {
        print::note(format_args!("{} could not be read; the rest is not affected", print::count(invalid, "part")));
    }
}

fn fate(outcome: &Outcome, written: bool, user: Option<&Path>) -> String {
    match outcome {
        Outcome::Becomes(change) => {
            let verb = if written { "written to" } else { "becomes part of" };
            match change.text() {
                copy if copy.starts_with("a copy") => format!("{copy} at {}", short(change.into(), user)),
                text => format!("{text}, {verb} {}", short(change.into(), user)),
            }
        }
        Outcome::Present(change) => format!("stands in {} already", short(change.into(), user)),
        Outcome::Kept { change, kept } => {
            format!("not written: {} has {kept}, which is kept", short(change.into(), user))
        }
        Outcome::InPlace(when) if when.is_empty() => "read in place already".into(),
        Outcome::InPlace(when) => format!("read in place {when}"),
        Outcome::NotImported(why) => format!("not imported: {why}"),
        Outcome::Invalid(why) => format!("invalid: {why}"),
    }
}

/// A path as people write it.
fn short(path: &Path, user: Option<&Path>) -> String {
    match user.and_then(|user| path.strip_prefix(user).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
