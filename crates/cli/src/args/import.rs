//! Arguments of `bosun import`.

use clap::ValueEnum;

/// `bosun import`.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The product to read files of: yours and those of this folder's project
    #[arg(value_enum, value_name = "PRODUCT")]
    pub(crate) product: ImportedProduct,
    /// Writes the files instead of only showing them; existing ones are kept
    #[arg(long, visible_alias = "yes", short_alias = 'y')]
    pub(crate) write: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A product whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportedProduct {
    /// Claude Code.
    Claude,
    /// GitHub Copilot CLI.
    Copilot,
    /// Codex CLI.
    Codex,
}
