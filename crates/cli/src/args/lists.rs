//! Arguments of `bosun lists`.

use std::path::PathBuf;

use clap::Subcommand;
use protocol::{ItemId, ItemStatus, ListName};

/// `bosun lists`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ListsCommand>,
    #[command(flatten)]
    pub(crate) items: ItemListArgs,
}

/// Selects a list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ListSelectArgs {
    /// The list: session, project, or team:NAME (default: `lists.use` in config.toml)
    #[arg(long, value_name = "LIST")]
    pub(crate) list: Option<ListName>,
    /// The list of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selects the items to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ItemListArgs {
    #[command(flatten)]
    pub(crate) which: ListSelectArgs,
    /// Only items with this status
    #[arg(long, value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(ItemStatus::ALL.map(ItemStatus::as_str)))]
    pub(crate) status: Option<String>,
    /// Only items of this owner
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Includes archived items
    #[arg(long)]
    pub(crate) archived: bool,
}

/// Selects an item.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ItemArgs {
    /// Number of the item
    #[arg(value_name = "ITEM")]
    pub(crate) item: ItemId,
    /// Only if it still has this version
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    #[command(flatten)]
    pub(crate) which: ListSelectArgs,
}

/// Fields of an item besides its subject.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ItemDetailArgs {
    /// Details for the agent or person who does it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The agent or person who does it
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// An item that must be completed first (may be repeated)
    #[arg(long, value_name = "ITEM")]
    pub(crate) after: Vec<ItemId>,
    /// A JSON object with more fields; in an update, null removes a field
    #[arg(long, value_name = "JSON", value_parser = parse_json_object)]
    pub(crate) metadata: Option<JsonObject>,
}

/// `bosun lists` subcommands. They also work while sessions use the list.
#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Lists items
    List(ItemListArgs),
    /// Shows all fields of one item
    Show(ItemArgs),
    /// Adds an item
    Add {
        /// What to do, in one line
        subject: String,
        #[command(flatten)]
        details: ItemDetailArgs,
        #[command(flatten)]
        which: ListSelectArgs,
    },
    /// Changes an item
    Update {
        #[command(flatten)]
        chosen: ItemArgs,
        /// What to do, in one line
        #[arg(long, value_name = "TEXT")]
        subject: Option<String>,
        /// Its new status
        #[arg(long, value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(ItemStatus::ALL.map(ItemStatus::as_str)))]
        status: Option<String>,
        #[command(flatten)]
        details: ItemDetailArgs,
        /// An item that waits for it (may be repeated)
        #[arg(long, value_name = "ITEM")]
        before: Vec<ItemId>,
        /// An item that it no longer waits for (may be repeated)
        #[arg(long, value_name = "ITEM")]
        not_after: Vec<ItemId>,
    },
    /// Completes an item
    Done(ItemArgs),
    /// Deletes an item; items that waited for it no longer do
    Delete(ItemArgs),
    /// Archives a completed item, or all of them
    Archive {
        /// Number of the item (default: all completed items)
        #[arg(value_name = "ITEM")]
        item: Option<ItemId>,
        #[command(flatten)]
        which: ListSelectArgs,
    },
    /// Writes a list as JSON lines, suitable for a repository
    Export {
        /// Writes to this file instead of stdout
        #[arg(short = 'o', long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        which: ListSelectArgs,
    },
    /// Imports exported items; the later of two versions is kept
    Import {
        /// The file, or `-` for stdin
        file: PathBuf,
        #[command(flatten)]
        which: ListSelectArgs,
    },
}

/// A JSON object.
pub(crate) type JsonObject = serde_json::Map<String, serde_json::Value>;

fn parse_json_object(text: &str) -> Result<JsonObject, String> {
    serde_json::from_str(text).map_err(|error| format!("it must be a JSON object: {error}"))
}
