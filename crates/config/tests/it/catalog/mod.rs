//! Definitions as files, flags, plugins and the network give them.

mod malformed;
mod realistic;
mod remote;
mod resolution;
mod slashes;

use std::path::{Path, PathBuf};

use config::{CatalogPlaces, Choice, Gathered, Given, Problem, Remote, Standing, gather};

use super::Machine;

/// What is looked at, besides the machine itself.
#[derive(Default)]
struct Asked<'a> {
    given: Option<&'a str>,
    plugins: Vec<PathBuf>,
    remote: Remote,
    untrusted: bool,
    no_hooks: Option<PathBuf>,
}

impl Machine {
    fn catalog(&self) -> Gathered {
        self.asked(Asked::default()).unwrap()
    }

    fn asked(&self, asked: Asked<'_>) -> Result<Gathered, Vec<Problem>> {
        let (home, user, top) = (self.home(), self.path("user"), self.top());
        gather(&CatalogPlaces {
            home: &home,
            user: Some(&user),
            top: &top,
            standing: if asked.untrusted { Standing::Untrusted } else { Standing::Trusted },
            read: &Choice::ALL,
            plugins: &asked.plugins,
            given: asked.given.map(|text| Given { name: Path::new("--agents"), text }),
            remote: asked.remote,
            no_hooks: asked.no_hooks,
        })
    }
}

/// A definition that says no more than it must.
fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}
