//! `bosun lists`: shared lists, from any terminal, while sessions work on them and afterwards.

mod file;
mod open_list;
mod show;

use client::{ExpectedVersion, ItemChange, ItemQuery, ListError, NewItem};
use host::{Clock, SystemClock};
use protocol::{ItemStatus, Timestamp};

use self::open_list::OpenList;
use crate::args::{ItemArgs, ItemDetailArgs, ItemListArgs, ListSelectArgs, ListsArgs, ListsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::Setup;

pub(crate) use open_list::items_of_task;

/// The author of items that the user writes.
const AUTHOR: &str = "user";

pub(crate) fn perform(args: ListsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match args.command {
        None => list(&setup, &args.items),
        Some(ListsCommand::List(options)) => list(&setup, &options),
        Some(ListsCommand::Show(chosen)) => {
            let open_list = OpenList::open(&setup, &chosen.which)?;
            let item = open_list.list.get(chosen.item).map_err(list_error)?;
            show::print_item(&open_list, &item, chosen.which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Add { subject, details, which }) => add(&setup, subject, details, &which),
        Some(ListsCommand::Update { chosen, subject, status, details, before, not_after }) => {
            let status = status.as_deref().and_then(ItemStatus::from_name);
            let ItemDetailArgs { description, owner, after, metadata } = details;
            let change = ItemChange {
                subject,
                description,
                status,
                owner,
                add_blocks: before,
                add_blocked_by: after,
                remove_blocked_by: not_after,
                metadata: metadata.unwrap_or_default(),
                ..ItemChange::default()
            };
            update(&setup, &chosen, change)
        }
        Some(ListsCommand::Done(chosen)) => update(&setup, &chosen, status_change(ItemStatus::Completed)),
        Some(ListsCommand::Delete(chosen)) => update(&setup, &chosen, status_change(ItemStatus::Deleted)),
        Some(ListsCommand::Archive { item, which }) => {
            let open_list = OpenList::open(&setup, &which)?;
            let items = open_list.list.archive(item, now()).map_err(list_error)?;
            show::print_items(&open_list, &items, which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Export { output, which }) => {
            file::export(&OpenList::open(&setup, &which)?, output.as_deref())
        }
        Some(ListsCommand::Import { file, which }) => file::import(&OpenList::open(&setup, &which)?, &file, which.json),
    }
}

fn list(setup: &Setup, options: &ItemListArgs) -> Result<CommandExit, CliError> {
    let open_list = OpenList::open(setup, &options.which)?;
    let query = ItemQuery {
        status: options.status.as_deref().and_then(ItemStatus::from_name),
        owner: options.owner.clone(),
        archived: options.archived,
        ..ItemQuery::default()
    };
    show::print_items(&open_list, &open_list.list.items(&query).map_err(list_error)?, options.which.json);
    Ok(CommandExit::Success)
}

fn add(
    setup: &Setup,
    subject: String,
    details: ItemDetailArgs,
    which: &ListSelectArgs,
) -> Result<CommandExit, CliError> {
    let open_list = OpenList::open(setup, which)?;
    let ItemDetailArgs { description, owner, after, metadata } = details;
    let new = NewItem {
        subject,
        description: description.unwrap_or_default(),
        active_form: None,
        owner,
        blocked_by: after,
        metadata: metadata.unwrap_or_default(),
        author: AUTHOR.into(),
    };
    let created = open_list.list.create(new, now()).map_err(list_error)?;
    show::print_changed(&created.item, which.json);
    Ok(CommandExit::Success)
}

fn update(setup: &Setup, chosen: &ItemArgs, change: ItemChange) -> Result<CommandExit, CliError> {
    let open_list = OpenList::open(setup, &chosen.which)?;
    let expected = chosen.version.map_or(ExpectedVersion::Any, ExpectedVersion::Version);
    let change = ItemChange { author: AUTHOR.into(), ..change };
    let changed = open_list.list.update(chosen.item, expected, &change, now()).map_err(list_error)?;
    show::print_changed(&changed.item, chosen.which.json);
    Ok(CommandExit::Success)
}

fn status_change(status: ItemStatus) -> ItemChange {
    ItemChange { status: Some(status), ..ItemChange::default() }
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// Converts a list error, with a hint on what to do next.
fn list_error(error: ListError) -> CliError {
    match error {
        ListError::Store(error) => error.into(),
        ListError::Missing(_) => CliError::usage(error).with_hint("`bosun lists` shows the items"),
        ListError::Stale { ref fresh, .. } => {
            let (id, version, status) = (fresh.id, fresh.version, fresh.status.as_str());
            let subject = print::one_line(&fresh.subject, 80);
            CliError::failed(&error).with_hint(format!(
                "it is {status} now: {subject}; look at it with `bosun lists show {id}`, and repeat the change with \
                 --version {version}"
            ))
        }
        ListError::Blocked { id, .. } => CliError::failed(&error).with_hint(format!(
            "complete the items it waits for, or remove the dependency with `bosun lists update {id} --not-after ITEM`"
        )),
        ListError::Cycle(_) | ListError::Unfinished(_) | ListError::Invalid(_) => {
            CliError::usage(error).with_hint("nothing was changed")
        }
    }
}
