//! Definitions from files, flags, plugins and the network.

mod malformed;
mod realistic;
mod remote;
mod resolution;
mod slashes;

use std::path::{Path, PathBuf};

use config::{
    CatalogListing, CatalogLocations, DefinitionProblem, InlineDefinitions, RemoteDefinitions, TrustStatus,
    gather_catalog,
};

use super::Machine;
use protocol::SettingsFileScope;

/// The inputs of a catalog besides the files of the machine.
#[derive(Default)]
struct Asked<'a> {
    given: Option<&'a str>,
    plugins: Vec<PathBuf>,
    skill_dirs: Vec<PathBuf>,
    remote: RemoteDefinitions,
    untrusted: bool,
    no_hooks: Option<PathBuf>,
}

impl Machine {
    fn catalog(&self) -> CatalogListing {
        self.asked(Asked::default()).unwrap()
    }

    fn asked(&self, asked: Asked<'_>) -> Result<CatalogListing, Vec<DefinitionProblem>> {
        let (home, user, top) = (self.home(), self.path("user"), self.top());
        let inline: Vec<_> =
            asked.given.into_iter().map(|text| InlineDefinitions { name: Path::new("--agents"), text }).collect();
        gather_catalog(&CatalogLocations {
            home: &home,
            user_home: Some(&user),
            project_dir: &top,
            trust: if asked.untrusted { TrustStatus::Untrusted } else { TrustStatus::Trusted },
            scopes: &SettingsFileScope::ALL,
            plugins: &asked.plugins,
            skill_dirs: &asked.skill_dirs,
            inline: &inline,
            remote: asked.remote,
            hooks_forbidden_by: asked.no_hooks,
        })
    }
}

/// A minimal definition.
fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}
