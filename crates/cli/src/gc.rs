//! `bosun gc`: removes sessions that were idle for a long time, and what removed sessions left.

use config::CollectNote;
use protocol::api::{CheckoutCleanup, CollectParams, CollectResult, FileCopyCleanup, OutputCleanup, RefCleanup};
use tui::print;

use crate::args::GcArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) async fn perform(args: &GcArgs) -> Result<CommandExit, CliError> {
    let GcArgs { unlanded, days, dry_run, json } = *args;
    let note = move |note| match note {
        CollectNote::Removed(id, description) if !json => print::output(format_args!("{id}  {description}")),
        CollectNote::Removed(..) => {}
        CollectNote::Failed(error) => print::error(&error),
    };
    let setup = Setup::read()?;
    let report = setup.sources().collect(&setup.config, CollectParams { unlanded, days, dry_run }, &note).await?;
    if json {
        print::json(&report);
    } else {
        print_report(&report);
    }
    Ok(if report.failed.is_empty() { CommandExit::Success } else { CommandExit::Failed })
}

fn print_report(report: &CollectResult) {
    let verb = if report.dry_run { "would be removed" } else { "removed" };
    let pluralize = |count: u64, noun| print::pluralize(usize::try_from(count).unwrap_or(usize::MAX), noun);
    print::note(format_args!("{} {verb}, {} kept", report.removed.len(), report.kept));
    if let OutputCleanup { removed: count @ 1.., bytes } = report.outputs {
        print::note(format_args!("output of {count} tasks {verb}: {bytes} bytes"));
    }
    if report.results > 0 {
        print::note(format_args!("results of {} {verb}", pluralize(report.results, "todo")));
    }
    if let FileCopyCleanup { removed: count @ 1.., bytes } = report.file_copies {
        print::note(format_args!("{} of changed files {verb}: {bytes} bytes", pluralize(count, "old version")));
    }
    let CheckoutCleanup { removed, trashed, emptied, bytes } = report.checkouts;
    if removed + trashed + emptied > 0 {
        let moved = if trashed > 0 { format!(", {trashed} moved to the trash") } else { String::new() };
        let checkouts = pluralize(removed + emptied, "checkout");
        print::note(format_args!("{checkouts} {verb}: {bytes} bytes{moved}"));
    }
    let RefCleanup { removed, unlanded, landings } = report.refs;
    if removed > 0 {
        print::note(format_args!("{} in repositories {verb}", pluralize(removed, "ref")));
    }
    if landings > 0 {
        print::note(format_args!("{} of interrupted landings removed", pluralize(landings, "folder")));
    }
    if unlanded > 0 {
        print::note(format_args!(
            "{} of removed sessions kept: the work is not on any branch (`git for-each-ref refs/bosun` lists it); \
             `bosun gc --unlanded` removes it",
            pluralize(unlanded, "ref")
        ));
    }
}
