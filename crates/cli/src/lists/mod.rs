//! `bosun lists`: shared lists, from any terminal, while sessions work on them and afterwards.

mod file;
mod selected_list;
mod show;

use client::{ListError, lists};
use protocol::ItemStatus;
use protocol::api::{AddItemParams, ArchiveItemsParams, ItemParams, ItemsParams, ItemsResult, UpdateItemParams};
use tui::print;

use self::selected_list::SelectedList;
use crate::args::{ItemArgs, ItemDetailArgs, ItemListArgs, ListSelectArgs, ListsArgs, ListsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) use selected_list::items_of_task;

pub(crate) fn perform(args: ListsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match args.command {
        None => list(&setup, &args.items),
        Some(ListsCommand::List(options)) => list(&setup, &options),
        Some(ListsCommand::Show(chosen)) => {
            let list = SelectedList::find(&setup, &chosen.which)?;
            let params = ItemParams { list: list.address.clone(), item: chosen.item };
            let item = lists::get(&setup.home, &params).map_err(list_error)?;
            show::print_item(&list, &item, chosen.which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Add { subject, details, which }) => add(&setup, subject, details, &which),
        Some(ListsCommand::Update { chosen, subject, status, details, before, not_after }) => {
            let ItemDetailArgs { description, owner, after, metadata } = details;
            let change = UpdateItemParams {
                subject,
                description,
                status: status.as_deref().and_then(ItemStatus::from_name),
                owner,
                add_blocks: before,
                add_blocked_by: after,
                remove_blocked_by: not_after,
                metadata: metadata.unwrap_or_default(),
                ..no_change(&setup, &chosen)?
            };
            update(&setup, change, chosen.which.json)
        }
        Some(ListsCommand::Done(chosen)) => set_status(&setup, &chosen, ItemStatus::Completed),
        Some(ListsCommand::Delete(chosen)) => set_status(&setup, &chosen, ItemStatus::Deleted),
        Some(ListsCommand::Archive { item, which }) => {
            let list = SelectedList::find(&setup, &which)?;
            let params = ArchiveItemsParams { list: list.address.clone(), item };
            let ItemsResult { items } = lists::archive(&setup.home, &params).map_err(list_error)?;
            show::print_items(&list, &items, which.json);
            Ok(CommandExit::Success)
        }
        Some(ListsCommand::Export { output, which }) => {
            file::export(&setup.home, &SelectedList::find(&setup, &which)?, output.as_deref())
        }
        Some(ListsCommand::Import { file, which }) => {
            file::import(&setup.home, SelectedList::find(&setup, &which)?, &file, which.json)
        }
    }
}

fn list(setup: &Setup, options: &ItemListArgs) -> Result<CommandExit, CliError> {
    let list = SelectedList::find(setup, &options.which)?;
    let params = ItemsParams {
        list: list.address.clone(),
        status: options.status.as_deref().and_then(ItemStatus::from_name),
        owner: options.owner.clone(),
        archived: options.archived,
        after: None,
        limit: Some(u64::MAX),
    };
    let ItemsResult { items } = lists::items(&setup.home, &params).map_err(list_error)?;
    show::print_items(&list, &items, options.which.json);
    Ok(CommandExit::Success)
}

fn add(
    setup: &Setup,
    subject: String,
    details: ItemDetailArgs,
    which: &ListSelectArgs,
) -> Result<CommandExit, CliError> {
    let ItemDetailArgs { description, owner, after, metadata } = details;
    let new = AddItemParams {
        list: SelectedList::find(setup, which)?.address,
        subject,
        description: description.unwrap_or_default(),
        active_form: None,
        owner,
        blocked_by: after,
        metadata: metadata.unwrap_or_default(),
    };
    show::print_changed(&lists::add(&setup.home, new).map_err(list_error)?, which.json);
    Ok(CommandExit::Success)
}

fn set_status(setup: &Setup, chosen: &ItemArgs, status: ItemStatus) -> Result<CommandExit, CliError> {
    let change = UpdateItemParams { status: Some(status), ..no_change(setup, chosen)? };
    update(setup, change, chosen.which.json)
}

/// The chosen item, with no changes yet.
fn no_change(setup: &Setup, chosen: &ItemArgs) -> Result<UpdateItemParams, CliError> {
    let list = SelectedList::find(setup, &chosen.which)?.address;
    Ok(UpdateItemParams { version: chosen.version, ..UpdateItemParams::new(list, chosen.item) })
}

fn update(setup: &Setup, change: UpdateItemParams, json: bool) -> Result<CommandExit, CliError> {
    show::print_changed(&lists::update(&setup.home, change).map_err(list_error)?, json);
    Ok(CommandExit::Success)
}

/// Converts a list error, with a hint on what to do next.
fn list_error(error: ListError) -> CliError {
    match error {
        ListError::Store(error) => error.into(),
        ListError::Missing(item) => {
            CliError::usage(format!("the list has no item {item}")).with_hint("`bosun lists` shows the items")
        }
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
