//! Takes over the settings of another product.

use std::path::{Path, PathBuf};

use protocol::SettingsFileScope;
use protocol::api::{ImportFindingView, ImportSettingsResult, ImportedProduct};

use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;
use crate::file::ForbiddableFeature;
use crate::gather::SettingsLocations;
use crate::import::{ImportFinding, ImportLocations, ImportOutcome, Product, survey, write};
use crate::layers::SettingsLayers;
use crate::project::Project;
use crate::trust::TrustStatus;

impl SettingsSources<'_> {
    /// Surveys the files of a product, and writes the changes if wanted; returns the problems of writing too.
    pub fn import(
        &self,
        cwd: &Path,
        product: Product,
        writes: bool,
    ) -> Result<(Vec<ImportFinding>, Vec<String>), SettingsMethodError> {
        let project = Project::find(cwd);
        let no_allow_all = self.allow_all_forbidden_by()?;
        let relocated = self.env.folder_of(product);
        let locations = ImportLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            relocated: relocated.as_deref(),
            trust: TrustStatus::look_up(self.home, &project),
            project: &project,
            allow_all_forbidden_by: no_allow_all.as_deref(),
        };
        let _lock = if writes { Some(self.home.lock("settings")?) } else { None };
        let findings = survey(product, &locations)?;
        let errors = if writes { write(&findings).iter().map(ToString::to_string).collect() } else { Vec::new() };
        Ok((findings, errors))
    }

    /// The managed file that forbids the allow-all mode, if any. The user's own settings may be invalid: they include
    /// those of the other product.
    fn allow_all_forbidden_by(&self) -> Result<Option<PathBuf>, SettingsMethodError> {
        const NO_FILES_OF_THE_USER: &[SettingsFileScope] = &[];
        let managed = SettingsLayers::read(&SettingsLocations {
            home: self.home.root(),
            user_home: None,
            managed: self.env.managed.as_deref(),
            project: Project { dir: self.home.root().to_owned(), foreign_repository: None },
            trust: TrustStatus::Untrusted,
            scopes: NO_FILES_OF_THE_USER,
        });
        Ok(managed?.forbidden_by(ForbiddableFeature::AllowAll).map(Path::to_owned))
    }
}

impl From<ImportedProduct> for Product {
    fn from(named: ImportedProduct) -> Product {
        match named {
            ImportedProduct::Claude => Product::Claude,
            ImportedProduct::Copilot => Product::Copilot,
            ImportedProduct::Codex => Product::Codex,
        }
    }
}

/// The findings of an import as the API shows them.
pub fn import_result(findings: Vec<ImportFinding>, written: bool, errors: Vec<String>) -> ImportSettingsResult {
    ImportSettingsResult { findings: findings.into_iter().map(finding_view).collect(), written, errors }
}

fn finding_view(finding: ImportFinding) -> ImportFindingView {
    let change = finding.outcome.change();
    ImportFindingView {
        becomes: change.map(|change| change.text()),
        into: change.map(|change| change.into().display().to_string()),
        reason: reason(&finding.outcome),
        outcome: finding.outcome.as_str().to_owned(),
        file: finding.file.display().to_string(),
        found: finding.subject,
    }
}

fn reason(outcome: &ImportOutcome) -> Option<String> {
    match outcome {
        ImportOutcome::Written(_) | ImportOutcome::AlreadyPresent(_) => None,
        ImportOutcome::Conflicting { kept, .. } => Some(kept.clone()),
        ImportOutcome::InPlace(when) => (!when.is_empty()).then(|| when.clone()),
        ImportOutcome::NotImported(why) | ImportOutcome::Invalid(why) => Some(why.clone()),
    }
}
