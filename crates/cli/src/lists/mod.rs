//! `bosun lists`: the items that agents and people share, from any terminal, while sessions work on them and after.

mod file;
mod place;
mod show;

use host::{Clock, SystemClock};
use protocol::{At, ItemStatus};
use store::{ItemChange, ItemsWanted, ListError, NewItem, Seen};

use self::place::Place;
use crate::args::{ItemArgs, ItemListArgs, ListsArgs, ListsCommand, WhichList, WordsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::Setup;

pub(crate) use place::items_of;

/// Whose words the items hold that a person writes.
const AUTHOR: &str = "user";

pub(crate) fn perform(args: ListsArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    match args.command {
        None => list(&setup, &args.items),
        Some(ListsCommand::List(options)) => list(&setup, &options),
        Some(ListsCommand::Show(chosen)) => {
            let place = Place::open(&setup, &chosen.which)?;
            let item = place.list.get(chosen.item).map_err(explained)?;
            show::item(&place, &item, chosen.which.json);
            Ok(Exit::Success)
        }
        Some(ListsCommand::Add { subject, words, which }) => add(&setup, subject, words, &which),
        Some(ListsCommand::Update { chosen, subject, status, words, before, not_after }) => {
            let status = status.as_deref().and_then(ItemStatus::named);
            let WordsArgs { description, owner, after, metadata } = words;
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
        Some(ListsCommand::Done(chosen)) => update(&setup, &chosen, moved(ItemStatus::Completed)),
        Some(ListsCommand::Delete(chosen)) => update(&setup, &chosen, moved(ItemStatus::Deleted)),
        Some(ListsCommand::Archive { item, which }) => {
            let place = Place::open(&setup, &which)?;
            let items = place.list.archive(item, now()).map_err(explained)?;
            show::items(&place, &items, which.json);
            Ok(Exit::Success)
        }
        Some(ListsCommand::Export { output, which }) => file::export(&Place::open(&setup, &which)?, output.as_deref()),
        Some(ListsCommand::Import { file, which }) => file::import(&Place::open(&setup, &which)?, &file, which.json),
    }
}

fn list(setup: &Setup, options: &ItemListArgs) -> Result<Exit, Failure> {
    let place = Place::open(setup, &options.which)?;
    let wanted = ItemsWanted {
        status: options.status.as_deref().and_then(ItemStatus::named),
        owner: options.owner.clone(),
        archived: options.archived,
        ..ItemsWanted::default()
    };
    show::items(&place, &place.list.items(&wanted).map_err(explained)?, options.which.json);
    Ok(Exit::Success)
}

fn add(setup: &Setup, subject: String, words: WordsArgs, which: &WhichList) -> Result<Exit, Failure> {
    let place = Place::open(setup, which)?;
    let WordsArgs { description, owner, after, metadata } = words;
    let new = NewItem {
        subject,
        description: description.unwrap_or_default(),
        active_form: None,
        owner,
        blocked_by: after,
        metadata: metadata.unwrap_or_default(),
        author: AUTHOR.into(),
    };
    let made = place.list.create(new, now()).map_err(explained)?;
    show::changed(&made.item, which.json);
    Ok(Exit::Success)
}

fn update(setup: &Setup, chosen: &ItemArgs, change: ItemChange) -> Result<Exit, Failure> {
    let place = Place::open(setup, &chosen.which)?;
    let seen = chosen.version.map_or(Seen::Any, Seen::Version);
    let change = ItemChange { author: AUTHOR.into(), ..change };
    let changed = place.list.update(chosen.item, seen, &change, now()).map_err(explained)?;
    show::changed(&changed.item, chosen.which.json);
    Ok(Exit::Success)
}

fn moved(to: ItemStatus) -> ItemChange {
    ItemChange { status: Some(to), ..ItemChange::default() }
}

fn now() -> At {
    SystemClock.now()
}

/// Why a list did not do it, and what to do next.
fn explained(error: ListError) -> Failure {
    match error {
        ListError::Store(error) => error.into(),
        ListError::Missing(_) => Failure::usage(error).hint("`bosun lists` shows what there is"),
        ListError::Stale { ref fresh, .. } => {
            let (id, version, status) = (fresh.id, fresh.version, fresh.status.word());
            let subject = print::one_line(&fresh.subject, 80);
            Failure::failed(&error).hint(format!(
                "it is {status} now: {subject}; look at it with `bosun lists show {id}`, and repeat the change with \
                 --version {version}"
            ))
        }
        ListError::Blocked { id, .. } => Failure::failed(&error)
            .hint(format!("complete what it waits for, or lift that with `bosun lists update {id} --not-after ITEM`")),
        ListError::Cycle(_) | ListError::Unfinished(_) | ListError::Unfit(_) => {
            Failure::usage(error).hint("nothing was changed")
        }
    }
}
