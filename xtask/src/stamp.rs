//! Records what was installed in a folder, so that it is installed again only if the list changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What should be installed in a folder.
pub(crate) struct InstallStamp<'a> {
    pub(crate) place: &'a Path,
    /// The text of its package lists.
    pub(crate) wanted: String,
}

impl InstallStamp<'_> {
    /// Whether exactly this was installed.
    pub(crate) fn is_there(&self) -> bool {
        fs::read_to_string(self.file()).is_ok_and(|installed| installed == self.wanted)
    }

    /// Records that this is installed.
    pub(crate) fn leave(&self) -> Result<()> {
        let file = self.file();
        fs::write(&file, &self.wanted).with_context(|| format!("cannot write {}", file.display()))
    }

    fn file(&self) -> PathBuf {
        self.place.join("installed")
    }
}

/// Reads a package list.
pub(crate) fn read(list: &Path) -> Result<String> {
    fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_is_another_stamp() {
        let place = std::env::temp_dir().join(format!("bosun-stamp-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let stamp = |wanted: &str| InstallStamp { place: &place, wanted: wanted.to_owned() };
        assert!(!stamp("a==1").is_there());
        stamp("a==1").leave().unwrap();
        assert!(stamp("a==1").is_there() && !stamp("a==2").is_there());
        fs::remove_dir_all(&place).unwrap();
    }
}
