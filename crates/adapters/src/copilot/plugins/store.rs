//! The installed plugins: a list, and a copy of each plugin's folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::MarketplaceManifest;
use super::copy::{copy_folder, count_skills, remove_folder};
use super::marketplace::PluginManifest;
use crate::copilot::client_state::{ClientState, ClientStateError};

/// The file with the list.
const FILE: &str = "plugins.json";

/// The folder of the copies.
const FOLDER: &str = "plugins";

/// The folder of plugins that were installed without a marketplace.
const DIRECT_FOLDER: &str = "_direct";

/// Maximum installed plugins, and marketplaces.
const MAX_PLUGINS: usize = 256;

/// Why a plugin or a marketplace cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginError {
    /// The source is not a folder of this machine.
    #[error("`{0}` is not a folder on this machine, and Bosun installs plugins from such folders only")]
    Source(String),
    /// The manifest cannot be used.
    #[error("{}: {why}", folder.display())]
    Manifest {
        /// The folder with the manifest.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no such marketplace.
    #[error("marketplace '{0}' not found: add it first")]
    NoMarketplace(String),
    /// Another marketplace has the name.
    #[error("marketplace '{name}' already exists with the source {source_path}: remove it first")]
    MarketplaceExists {
        /// The name.
        name: String,
        /// Its source.
        source_path: String,
    },
    /// The marketplace does not list the plugin.
    #[error("plugin '{plugin}' not found in marketplace '{marketplace}'")]
    NotListed {
        /// The plugin.
        plugin: String,
        /// The marketplace.
        marketplace: String,
    },
    /// The plugin is not in the folder of its marketplace.
    #[error("plugin '{plugin}' is not in the folder of its marketplace, and Bosun downloads no plugins")]
    NotLocal {
        /// The plugin.
        plugin: String,
    },
    /// It is not installed.
    #[error("plugin '{0}' is not installed")]
    NotInstalled(String),
    /// It has too many files, or they are too large.
    #[error("{} is too large for a plugin", folder.display())]
    TooLarge {
        /// Its folder.
        folder: PathBuf,
    },
    /// Its files cannot be copied.
    #[error("cannot copy {}: {source}", folder.display())]
    Copy {
        /// Its folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There are too many.
    #[error("there are already {MAX_PLUGINS} plugins or marketplaces: remove one first")]
    Full,
    /// The list cannot be used.
    #[error(transparent)]
    State(#[from] ClientStateError),
}

/// An installed plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstalledPlugin {
    /// Its name.
    pub(crate) name: String,
    /// Its marketplace; empty if it was installed without one.
    pub(crate) marketplace: String,
    /// Its version, if stated.
    pub(crate) version: Option<String>,
    /// Whether sessions have it.
    pub(crate) enabled: bool,
    /// The folder that it was installed from, if it has no marketplace.
    source: Option<PathBuf>,
}

impl InstalledPlugin {
    /// Identifies the folder that it was installed from, if it has no marketplace.
    pub(crate) fn direct_source_id(&self) -> Option<String> {
        let digest = Sha256::digest(self.source.as_ref()?.as_os_str().as_encoded_bytes());
        Some(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether a client means it by `NAME` or `NAME@MARKETPLACE`.
    fn is_named(&self, spec: &str) -> bool {
        match spec.split_once('@') {
            Some((name, marketplace)) => self.name == name && self.marketplace == marketplace,
            None => self.name == spec,
        }
    }
}

/// The plugins and marketplaces that clients have configured.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PluginList {
    /// The folders of the marketplaces, by name.
    marketplaces: BTreeMap<String, PathBuf>,
    plugins: Vec<InstalledPlugin>,
}

/// What an update of a plugin changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginUpdate {
    pub(crate) plugin: InstalledPlugin,
    pub(crate) previous_version: Option<String>,
    pub(crate) skills: usize,
}

/// The end of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemovedMarketplace {
    Removed,
    /// It stays, because plugins were installed from it.
    InUse(Vec<String>),
}

/// Installs, lists and removes plugins.
#[derive(Debug)]
pub(crate) struct PluginStore<'a>(pub(crate) &'a ClientState);

impl PluginStore<'_> {
    /// The installed plugins.
    pub(crate) fn plugins(&self) -> Result<Vec<InstalledPlugin>, PluginError> {
        Ok(self.list()?.plugins)
    }

    /// The marketplaces with their folders.
    pub(crate) fn marketplaces(&self) -> Result<BTreeMap<String, PathBuf>, PluginError> {
        Ok(self.list()?.marketplaces)
    }

    /// The folders of the plugins that sessions have.
    pub(crate) fn enabled_folders(&self) -> Result<Vec<PathBuf>, PluginError> {
        let enabled = self.plugins()?.into_iter().filter(|plugin| plugin.enabled);
        Ok(enabled.map(|plugin| self.folder(&plugin)).collect())
    }

    /// Adds a marketplace; returns its name.
    pub(crate) fn add_marketplace(&self, folder: &Path) -> Result<String, PluginError> {
        let MarketplaceManifest { name, .. } = MarketplaceManifest::read(folder)?;
        self.0.change(FILE, |list: &mut PluginList| {
            match list.marketplaces.get(&name) {
                Some(known) if known != folder => {
                    return Err(PluginError::MarketplaceExists { name, source_path: known.display().to_string() });
                }
                None if list.marketplaces.len() >= MAX_PLUGINS => return Err(PluginError::Full),
                Some(_) | None => {}
            }
            list.marketplaces.insert(name.clone(), folder.to_owned());
            Ok(name)
        })
    }

    /// The manifest of a marketplace, as it is now.
    pub(crate) fn manifest(&self, marketplace: &str) -> Result<(MarketplaceManifest, PathBuf), PluginError> {
        let folder = self.list()?.marketplaces.remove(marketplace);
        let folder = folder.ok_or_else(|| PluginError::NoMarketplace(marketplace.to_owned()))?;
        Ok((MarketplaceManifest::read(&folder)?, folder))
    }

    /// Removes a marketplace. Plugins that were installed from it are removed too if `forced`, and otherwise keep it.
    pub(crate) fn remove_marketplace(&self, name: &str, forced: bool) -> Result<RemovedMarketplace, PluginError> {
        let dependents: Vec<InstalledPlugin> =
            self.plugins()?.into_iter().filter(|plugin| plugin.marketplace == name).collect();
        if !forced && !dependents.is_empty() {
            return Ok(RemovedMarketplace::InUse(dependents.into_iter().map(|plugin| plugin.name).collect()));
        }
        for plugin in dependents {
            self.uninstall(&format!("{}@{name}", plugin.name), None)?;
        }
        self.0.change(FILE, |list: &mut PluginList| match list.marketplaces.remove(name) {
            Some(_folder) => Ok(RemovedMarketplace::Removed),
            None => Err(PluginError::NoMarketplace(name.to_owned())),
        })
    }

    /// Installs a plugin of a marketplace; returns it with the number of its skills.
    pub(crate) fn install_listed(
        &self,
        name: &str,
        marketplace: &str,
    ) -> Result<(InstalledPlugin, usize), PluginError> {
        let (manifest, folder) = self.manifest(marketplace)?;
        let (listed, source) = manifest.find(name, &folder)?;
        let own = PluginManifest::read(&source)?;
        let plugin = InstalledPlugin {
            name: name.to_owned(),
            marketplace: marketplace.to_owned(),
            version: own.as_ref().and_then(|own| own.version.clone()).or_else(|| listed.version.clone()),
            enabled: true,
            source: None,
        };
        let target = self.copy(&plugin, &source)?;
        if own.is_none() {
            // The marketplace says what the plugin does not say itself.
            let text = json!({ "name": name, "version": plugin.version, "description": listed.description });
            let written = std::fs::write(target.join("plugin.json"), without_nulls(&text));
            written.map_err(|source| PluginError::Copy { folder: target.clone(), source })?;
        }
        self.add(&plugin)?;
        Ok((plugin, count_skills(&target)))
    }

    /// Installs the plugin in a folder; returns it with the number of its skills.
    pub(crate) fn install_folder(&self, source: &Path) -> Result<(InstalledPlugin, usize), PluginError> {
        let missing = || PluginError::Manifest { folder: source.to_owned(), why: "it has no plugin.json".into() };
        let PluginManifest { name, version } = PluginManifest::read(source)?.ok_or_else(missing)?;
        let plugin = InstalledPlugin {
            name,
            marketplace: String::new(),
            version,
            enabled: true,
            source: Some(source.to_owned()),
        };
        let target = self.copy(&plugin, source)?;
        self.add(&plugin)?;
        Ok((plugin, count_skills(&target)))
    }

    /// Installs a plugin again, as it is at its source now.
    pub(crate) fn update(&self, spec: &str) -> Result<PluginUpdate, PluginError> {
        let before = self.find(spec)?;
        let (plugin, skills) = match &before.source {
            Some(source) => self.install_folder(source)?,
            None => self.install_listed(&before.name, &before.marketplace)?,
        };
        if !before.enabled {
            self.set_enabled(&[spec.to_owned()], false)?;
        }
        Ok(PluginUpdate { plugin, previous_version: before.version, skills })
    }

    /// Removes a plugin.
    pub(crate) fn uninstall(&self, spec: &str, direct_source: Option<&str>) -> Result<(), PluginError> {
        let is_meant = |plugin: &InstalledPlugin| {
            let is_source = direct_source.is_none_or(|id| plugin.direct_source_id().as_deref() == Some(id));
            plugin.is_named(spec) && is_source
        };
        let removed = self.0.change(FILE, |list: &mut PluginList| {
            let at = list.plugins.iter().position(is_meant);
            at.map(|at| list.plugins.remove(at)).ok_or_else(|| PluginError::NotInstalled(spec.to_owned()))
        })?;
        let folder = self.folder(&removed);
        remove_folder(&folder).map_err(|source| PluginError::Copy { folder, source })
    }

    /// Switches plugins on or off: all of them, or none if one is not installed.
    pub(crate) fn set_enabled(&self, specs: &[String], enabled: bool) -> Result<(), PluginError> {
        self.0.change(FILE, |list: &mut PluginList| {
            for spec in specs {
                let plugin = list.plugins.iter_mut().find(|plugin| plugin.is_named(spec));
                plugin.ok_or_else(|| PluginError::NotInstalled(spec.clone()))?.enabled = enabled;
            }
            Ok(())
        })
    }

    fn find(&self, spec: &str) -> Result<InstalledPlugin, PluginError> {
        let found = self.plugins()?.into_iter().find(|plugin| plugin.is_named(spec));
        found.ok_or_else(|| PluginError::NotInstalled(spec.to_owned()))
    }

    fn add(&self, plugin: &InstalledPlugin) -> Result<(), PluginError> {
        self.0.change(FILE, |list: &mut PluginList| {
            list.plugins.retain(|known| known.name != plugin.name || known.marketplace != plugin.marketplace);
            if list.plugins.len() >= MAX_PLUGINS {
                return Err(PluginError::Full);
            }
            list.plugins.push(plugin.clone());
            Ok(())
        })
    }

    fn copy(&self, plugin: &InstalledPlugin, source: &Path) -> Result<PathBuf, PluginError> {
        if !source.is_dir() {
            return Err(PluginError::Source(source.display().to_string()));
        }
        let target = self.folder(plugin);
        copy_folder(source, &target).map(|()| target)
    }

    fn folder(&self, plugin: &InstalledPlugin) -> PathBuf {
        let marketplace = if plugin.marketplace.is_empty() { DIRECT_FOLDER } else { &plugin.marketplace };
        self.0.folder().join(FOLDER).join(marketplace).join(&plugin.name)
    }

    fn list(&self) -> Result<PluginList, PluginError> {
        Ok(self.0.read(FILE)?)
    }
}

/// The text of an object without its absent fields.
fn without_nulls(object: &serde_json::Value) -> String {
    let fields = object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let fields: serde_json::Map<_, _> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
    serde_json::Value::Object(fields).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use host::Home;

    use super::*;
    use crate::copilot::base_dir::ClientBaseDir;

    /// A folder with a marketplace that lists one plugin, and the state of its clients.
    struct Shop {
        folder: tempfile::TempDir,
        state: ClientState,
    }

    impl Shop {
        fn new() -> Shop {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::open(folder.path().join("home")).unwrap();
            let shop = Shop { state: ClientState::new(&home, &ClientBaseDir::default()), folder };
            let plugins = json!([
                { "name": "tea", "source": "./tea", "description": "Makes tea.", "version": "1.0.0" },
                { "name": "far", "source": { "source": "github", "repo": "a/b" } },
                { "name": "thief", "source": "../home" },
            ]);
            shop.write("shop/marketplace.json", &json!({ "name": "shop", "plugins": plugins }).to_string());
            shop.write("shop/tea/SKILL.md", "---\nname: brew\ndescription: Brews.\n---\nBoil water.\n");
            shop.write("shop/tea/.git/config", "secret");
            shop
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn marketplace(&self) -> PathBuf {
            self.folder.path().join("shop")
        }
    }

    #[test]
    fn a_plugin_of_a_marketplace_is_installed_switched_and_removed() {
        let shop = Shop::new();
        let store = PluginStore(&shop.state);
        assert_eq!(store.add_marketplace(&shop.marketplace()).unwrap(), "shop");
        let (plugin, skills) = store.install_listed("tea", "shop").unwrap();
        assert_eq!((plugin.version.as_deref(), plugin.enabled, skills), (Some("1.0.0"), true, 1));
        let folder = store.enabled_folders().unwrap().remove(0);
        assert!(folder.join("SKILL.md").exists() && !folder.join(".git").exists());
        assert!(fs::read_to_string(folder.join("plugin.json")).unwrap().contains("Makes tea."));
        store.set_enabled(&["tea@shop".into()], false).unwrap();
        assert!(store.enabled_folders().unwrap().is_empty());
        shop.write("shop/tea/plugin.json", r#"{ "name": "tea", "version": "1.1.0" }"#);
        let update = store.update("tea@shop").unwrap();
        assert_eq!(
            (update.previous_version.as_deref(), update.plugin.version.as_deref()),
            (Some("1.0.0"), Some("1.1.0"))
        );
        assert!(store.enabled_folders().unwrap().is_empty(), "an update does not switch it on");
        assert_eq!(store.remove_marketplace("shop", false).unwrap(), RemovedMarketplace::InUse(vec!["tea".into()]));
        assert_eq!(store.remove_marketplace("shop", true).unwrap(), RemovedMarketplace::Removed);
        assert!(store.plugins().unwrap().is_empty() && !folder.exists());
    }

    #[test]
    fn a_folder_is_installed_and_removed_by_its_source() {
        let shop = Shop::new();
        let store = PluginStore(&shop.state);
        shop.write("own/plugin.json", r#"{ "name": "own" }"#);
        let (plugin, skills) = store.install_folder(&shop.folder.path().join("own")).unwrap();
        assert_eq!((plugin.marketplace.as_str(), skills), ("", 0));
        let id = plugin.direct_source_id().unwrap();
        assert!(matches!(store.uninstall("own", Some("other")), Err(PluginError::NotInstalled(_))));
        store.uninstall("own", Some(&id)).unwrap();
        assert!(store.plugins().unwrap().is_empty());
    }

    #[test]
    fn plugins_outside_the_marketplace_are_refused() {
        let shop = Shop::new();
        let store = PluginStore(&shop.state);
        store.add_marketplace(&shop.marketplace()).unwrap();
        for name in ["far", "thief"] {
            assert!(matches!(store.install_listed(name, "shop"), Err(PluginError::NotLocal { .. })), "{name}");
        }
        assert!(matches!(store.install_listed("none", "shop"), Err(PluginError::NotListed { .. })));
        assert!(matches!(store.install_listed("tea", "mall"), Err(PluginError::NoMarketplace(_))));
        shop.write("bad/marketplace.json", r#"{ "name": "../up" }"#);
        assert!(store.add_marketplace(&shop.folder.path().join("bad")).is_err());
    }
}
