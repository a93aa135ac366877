//! Imports the files of another product. Each item is read in place, written to Bosun's settings, copied, or not
//! imported, with the reason. Nothing existing is replaced.
//!
//! Settings from a project's files go to the user's own file for that project, so that nothing is written into the
//! repository. Those that would allow more are imported only if the project is trusted.

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

/// Where files are searched for and written.
#[derive(Debug, Clone, Copy)]
pub struct ImportLocations<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's home folder.
    pub user_home: Option<&'a Path>,
    /// The product's user folder, if a variable names one.
    pub relocated: Option<&'a Path>,
    /// The project.
    pub project: &'a Project,
    /// Whether the user trusts it.
    pub trust: TrustStatus,
    /// The managed file that forbids the mode allow-all, if any.
    pub allow_all_forbidden_by: Option<&'a Path>,
}

/// Returns everything found of a product, in file order, with its outcome. Fails if Bosun's own files cannot be read.
pub fn survey(product: Product, places: &ImportLocations<'_>) -> Result<Vec<ImportFinding>, ConfigError> {
    let mut survey = ImportSurvey::new(places)?;
    match product {
        Product::Claude => claude::scan(&mut survey),
        Product::Copilot => copilot::scan(&mut survey),
        Product::Codex => codex::scan(&mut survey),
    }
    Ok(survey.findings)
}
