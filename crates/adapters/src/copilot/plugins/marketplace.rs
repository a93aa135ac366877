//! A marketplace: a folder with a file that lists plugins.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::PluginError;

/// Paths of a marketplace's manifest.
const MANIFESTS: [&str; 3] = ["marketplace.json", ".claude-plugin/marketplace.json", ".github/plugin/marketplace.json"];

/// Paths of a plugin's manifest.
const PLUGIN_MANIFESTS: [&str; 3] = ["plugin.json", ".claude-plugin/plugin.json", ".github/plugin/plugin.json"];

/// Maximum bytes of a manifest.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Maximum bytes of a name.
const MAX_NAME_BYTES: usize = 64;

/// The manifest of a marketplace.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MarketplaceManifest {
    /// The marketplace's name.
    pub(crate) name: String,
    /// The plugins.
    #[serde(default)]
    pub(crate) plugins: Vec<MarketplacePlugin>,
}

/// A plugin that a marketplace lists.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MarketplacePlugin {
    /// Its name.
    pub(crate) name: String,
    /// Where it is: a path below the marketplace, or an object for plugins elsewhere.
    #[serde(default)]
    source: Value,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// Its version.
    pub(crate) version: Option<String>,
}

impl MarketplaceManifest {
    /// Reads the manifest in a folder.
    pub(crate) fn read(folder: &Path) -> Result<MarketplaceManifest, PluginError> {
        let invalid = |why: String| PluginError::Manifest { folder: folder.to_owned(), why };
        let text = read_first(folder, &MANIFESTS).ok_or_else(|| invalid("it has no marketplace.json".into()))??;
        let manifest: MarketplaceManifest = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let mut names = manifest.plugins.iter().map(|plugin| &plugin.name).chain([&manifest.name]);
        if let Some(name) = names.find(|name| !is_name(name)) {
            return Err(invalid(format!("`{name}` is not a name: use letters, digits, `.`, `_` and `-`")));
        }
        drop(names);
        Ok(manifest)
    }

    /// A plugin with its folder in the marketplace's folder.
    pub(super) fn find(&self, name: &str, folder: &Path) -> Result<(&MarketplacePlugin, PathBuf), PluginError> {
        let unknown = || PluginError::NotListed { plugin: name.to_owned(), marketplace: self.name.clone() };
        let plugin = self.plugins.iter().find(|plugin| plugin.name == name).ok_or_else(unknown)?;
        let path = plugin.source.as_str().unwrap_or_default();
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.is_empty() || !Path::new(path).components().all(is_below) {
            return Err(PluginError::NotLocal { plugin: name.to_owned() });
        }
        Ok((plugin, folder.join(path)))
    }
}

/// What a plugin's manifest says of it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct PluginManifest {
    #[serde(default)]
    pub(super) name: String,
    pub(super) version: Option<String>,
}

impl PluginManifest {
    /// Reads the manifest in a plugin's folder; none if it has none.
    pub(super) fn read(folder: &Path) -> Result<Option<PluginManifest>, PluginError> {
        let invalid = |why: String| PluginError::Manifest { folder: folder.to_owned(), why };
        let Some(text) = read_first(folder, &PLUGIN_MANIFESTS) else { return Ok(None) };
        let manifest: PluginManifest = serde_json::from_str(&text?).map_err(|error| invalid(error.to_string()))?;
        match is_name(&manifest.name) {
            true => Ok(Some(manifest)),
            false => Err(invalid(format!("`{}` is not a plugin's name", manifest.name))),
        }
    }
}

/// The text of the first of these files that exists.
fn read_first(folder: &Path, names: &[&str]) -> Option<Result<String, PluginError>> {
    let invalid = |why: String| PluginError::Manifest { folder: folder.to_owned(), why };
    names.iter().find_map(|name| match host::read_plain(&folder.join(name), MAX_MANIFEST_BYTES) {
        Ok(Some(bytes)) => Some(String::from_utf8(bytes).map_err(|_binary| invalid("its manifest is not text".into()))),
        Ok(None) => None,
        Err(error) => Some(Err(invalid(error.to_string()))),
    })
}

/// Whether a text can be the name of a plugin, a marketplace, and thus of a folder.
pub(super) fn is_name(text: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.starts_with('.') && text.chars().all(is_valid)
}
