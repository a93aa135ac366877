//! `bosun lists`: the items that agents and people share, from any terminal, while sessions work on them and after.

mod file;
mod open_list;
mod show;

use host::{Clock, SystemClock};
use protocol::{ItemStatus, Timestamp};
use store::{ExpectedVersion, ItemChange, ItemQuery, ListError, NewItem};

use self::open_list::OpenList;
use crate::args::{ItemArgs, ItemDetailArgs, ItemListArgs, ListSelectArgs, ListsArgs, ListsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::Setup;

pub(crate) use open_list::items_of_task;

/// Whose words the items hold that a person writes.
const AUTHOR: &str = "user";

pub(crate) fn perform(args: ListsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match args.command {
        None => list(&setup, &args.items),
        Some(ListsCommand::List(options)) => list(&setup, &options),
        Some(ListsCommand::Show(chosen)) => {
            let place = OpenList::open(&setup, &chosen.which)?;
            let item = place.list.get(chosen.item).map_err(list_error)?;
            show::print_item(&place, &item, chosen.which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Add { subject, details: words, which }) => add(&setup, subject, words, &which),
        Some(ListsCommand::Update { chosen, subject, status, details: words, before, not_after }) => {
            let status = status.as_deref().and_then(ItemStatus::from_name);
            let ItemDetailArgs { description, owner, after, metadata } = words;
            let change = ItemChange {
                subject,
                description,
                status,
                owner,
                add_blocks: before,
                add_blocked_by: after,
                unblock: not_after,
                metadata: metadata.unwrap_or_default(),
                ..ItemChange::default()
            };
            update(&setup, &chosen, change)
        }
        Some(ListsCommand::Done(chosen)) => update(&setup, &chosen, status_change(ItemStatus::Completed)),
        Some(ListsCommand::Delete(chosen)) => update(&setup, &chosen, status_change(ItemStatus::Deleted)),
        Some(ListsCommand::Archive { item, which }) => {
            let place = OpenList::open(&setup, &which)?;
            let items = place.list.archive(item, now()).map_err(list_error)?;
            show::print_items(&place, &items, which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Export { output, which }) => {
            file::export(&OpenList::open(&setup, &which)?, output.as_deref())
        }
        Some(ListsCommand::Import { file, which }) => file::import(&OpenList::open(&setup, &which)?, &file, which.json),
    }
}

fn list(setup: &Setup, options: &ItemListArgs) -> Result<CommandExit, CliError> {
    let place = OpenList::open(setup, &options.which)?;
    let wanted = ItemQuery {
        status: options.status.as_deref().and_then(ItemStatus::from_name),
        owner: options.owner.clone(),
        archived: options.archived,
        ..ItemQuery::default()
    };
    show::print_items(&place, &place.list.items(&wanted).map_err(list_error)?, options.which.json);
    Ok(CommandExit::Success)
}

fn add(setup: &Setup, subject: String, words: ItemDetailArgs, which: &ListSelectArgs) -> Result<CommandExit, CliError> {
    let place = OpenList::open(setup, which)?;
    let ItemDetailArgs { description, owner, after, metadata } = words;
    let new = NewItem {
        subject,
        description: description.unwrap_or_default(),
        active_form: None,
        owner,
        blocked_by: after,
        metadata: metadata.unwrap_or_default(),
        author: AUTHOR.into(),
    };
    let made = place.list.create(new, now()).map_err(list_error)?;
    show::print_changed(&made.item, which.json);
    Ok(CommandExit::Success)
}

fn update(setup: &Setup, chosen: &ItemArgs, change: ItemChange) -> Result<CommandExit, CliError> {
    let place = OpenList::open(setup, &chosen.which)?;
    let seen = chosen.version.map_or(ExpectedVersion::Any, ExpectedVersion::Version);
    let change = ItemChange { author: AUTHOR.into(), ..change };
    let changed = place.list.update(chosen.item, seen, &change, now()).map_err(list_error)?;
    show::print_changed(&changed.item, chosen.which.json);
    Ok(CommandExit::Success)
}

fn status_change(to: ItemStatus) -> ItemChange {
    ItemChange { status: Some(to), ..ItemChange::default() }
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// Why a list did not do it, and what to do next.
fn list_error(error: ListError) -> CliError {
    match error {
        ListError::Store(error) => error.into(),
        ListError::Missing(_) => CliError::usage(error).with_hint("`bosun lists` shows what there is"),
        ListError::Stale { ref fresh, .. } => {
            let (id, version, status) = (fresh.id, fresh.version, fresh.status.as_str());
            let subject = print::one_line(&fresh.subject, 80);
            CliError::failed(&error).with_hint(format!(
                "it is {status} now: {subject}; look at it with `bosun lists show {id}`, and repeat the change with \
                 --version {version}"
            ))
        }
        ListError::Blocked { id, .. } => CliError::failed(&error).with_hint(format!(
            "complete what it waits for, or lift that with `bosun lists update {id} --not-after ITEM`"
        )),
        ListError::Cycle(_) | ListError::Unfinished(_) | ListError::Invalid(_) => {
            CliError::usage(error).with_hint("nothing was changed")
        }
    }
}
