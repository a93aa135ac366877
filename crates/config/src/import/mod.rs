//! What the files of another product say, and what becomes of it in Bosun: read where it is, written to Bosun's own
//! settings, copied, or not imported, with the reason. Nothing that is there is replaced.
//!
//! Settings of a project's files go to the user's own file for that project, so that nothing is written into the
//! repository; what would allow more is taken from them only if the project is trusted.

mod claude;
mod codex;
mod copilot;
mod finding;
mod paths;
mod prefix_rules;
mod product_file;
mod product_folder;
mod survey;
mod values;
mod write;

use std::path::Path;

pub use finding::{ImportChange, ImportFinding, ImportOutcome};
pub use write::write;

use crate::project::Project;
use crate::read::ConfigError;
use crate::trust::TrustStatus;
use survey::ImportSurvey;

/// A product whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// Claude Code.
    Claude,
    /// GitHub Copilot CLI.
    Copilot,
    /// Codex CLI.
    Codex,
}

/// Where files are looked for and written.
#[derive(Debug, Clone, Copy)]
pub struct ImportLocations<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's own folder.
    pub user: Option<&'a Path>,
    /// Where a variable says that the product's own folder is.
    pub relocated: Option<&'a Path>,
    /// The project.
    pub project: &'a Project,
    /// How it stands.
    pub trust: TrustStatus,
    /// The managed file that forbids the mode allow-all, if one does.
    pub no_allow_all: Option<&'a Path>,
}

/// Everything that is found of a product, in the order of its files, and what becomes of it. The error is that
/// Bosun's own files cannot be read.
pub fn survey(product: Product, places: &ImportLocations<'_>) -> Result<Vec<ImportFinding>, ConfigError> {
    let mut survey = ImportSurvey::new(places)?;
    match product {
        Product::Claude => claude::scan(&mut survey),
        Product::Copilot => copilot::scan(&mut survey),
        Product::Codex => codex::scan(&mut survey),
    }
    Ok(survey.findings)
}
