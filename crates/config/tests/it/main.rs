//! Settings as a user's file and environment give them.

#![cfg(test)]

extern crate bosun_config as config;

mod mistakes;
mod providers;
mod settings;

use std::fs;

use config::{Access, Config, Env, File};

/// The settings of a file with this text, or what is wrong with it.
fn read(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, text).unwrap();
    let shown = |error: config::ConfigError| error.to_string().replace(&path.display().to_string(), "config.toml");
    File::read(&path).map(File::resolve).map_err(shown)
}

fn access(text: &str, vars: &[(&str, &str)]) -> Result<Access, String> {
    let vars: Vec<_> = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
    read(text)?.access(&Env::from(vars)).map_err(|error| error.to_string())
}
