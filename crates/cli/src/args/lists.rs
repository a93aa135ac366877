//! What can be said about lists.

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

/// Which list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ListSelectArgs {
    /// The list: session, project, or team:NAME (`lists.use` in config.toml when left out)
    #[arg(long, value_name = "LIST")]
    pub(crate) list: Option<ListName>,
    /// The list of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which items are listed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ItemListArgs {
    #[command(flatten)]
    pub(crate) which: ListSelectArgs,
    /// Only those that are so far
    #[arg(long, value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(ItemStatus::ALL.map(ItemStatus::as_str)))]
    pub(crate) status: Option<String>,
    /// Only those of this owner
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Those that were put away too
    #[arg(long)]
    pub(crate) archived: bool,
}

/// Which item.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ItemArgs {
    /// Its number
    #[arg(value_name = "ITEM")]
    pub(crate) item: ItemId,
    /// Only if it still has this version
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    #[command(flatten)]
    pub(crate) which: ListSelectArgs,
}

/// What an item says besides its subject.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ItemDetailArgs {
    /// What whoever does it must know
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Who does it
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// An item that it waits for (may be repeated)
    #[arg(long, value_name = "ITEM")]
    pub(crate) after: Vec<ItemId>,
    /// A JSON object with whatever else is said of it; in an update, null takes a field away
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) metadata: Option<JsonObject>,
}

/// What can be done with lists, while sessions work on them and after.
#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Lists items
    List(ItemListArgs),
    /// Shows everything that is kept of one item
    Show(ItemArgs),
    /// Adds an item
    Add {
        /// What is to be done, in one line
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
        /// What is to be done, in one line
        #[arg(long, value_name = "TEXT")]
        subject: Option<String>,
        /// How far it is
        #[arg(long, value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(ItemStatus::ALL.map(ItemStatus::as_str)))]
        status: Option<String>,
        #[command(flatten)]
        details: ItemDetailArgs,
        /// An item that waits for it (may be repeated)
        #[arg(long, value_name = "ITEM")]
        before: Vec<ItemId>,
        /// An item that it waits for no more (may be repeated)
        #[arg(long, value_name = "ITEM")]
        not_after: Vec<ItemId>,
    },
    /// Completes an item
    Done(ItemArgs),
    /// Deletes an item; nothing waits for it any more
    Delete(ItemArgs),
    /// Puts away an item that is completed, or all that are
    Archive {
        /// Its number; all when left out
        #[arg(value_name = "ITEM")]
        item: Option<ItemId>,
        #[command(flatten)]
        which: ListSelectArgs,
    },
    /// Writes a list as JSON, one item a line, fit for a repository
    Export {
        /// To this file instead of stdout
        #[arg(short = 'o', long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        which: ListSelectArgs,
    },
    /// Takes in items that were exported; of two versions the later counts
    Import {
        /// The file, or `-` for stdin
        file: PathBuf,
        #[command(flatten)]
        which: ListSelectArgs,
    },
}

/// A JSON object.
pub(crate) type JsonObject = serde_json::Map<String, serde_json::Value>;

fn object(text: &str) -> Result<JsonObject, String> {
    serde_json::from_str(text).map_err(|error| format!("it must be a JSON object: {error}"))
}
