//! Definitions as files, flags, plugins and the network give them.

mod malformed;
mod realistic;
mod remote;
mod resolution;
mod slashes;

use std::path::{Path, PathBuf};

use config::{
    CatalogListing, CatalogLocations, DefinitionProblem, InlineDefinitions, RemoteDefinitions, SettingsFileScope,
    TrustStatus, gather_catalog,
};

use super::Machine;

/// What is looked at, besides the machine itself.
#[derive(Default)]
struct Asked<'a> {
    given: Option<&'a str>,
    plugins: Vec<PathBuf>,
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
        gather_catalog(&CatalogLocations {
            home: &home,
            user: Some(&user),
            top: &top,
            trust: if asked.untrusted { TrustStatus::Untrusted } else { TrustStatus::Trusted },
            scopes: &SettingsFileScope::ALL,
            plugins: &asked.plugins,
            inline: asked.given.map(|text| InlineDefinitions { name: Path::new("--agents"), text }),
            remote: asked.remote,
            no_hooks: asked.no_hooks,
        })
    }
}

/// A definition that says no more than it must.
fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}
