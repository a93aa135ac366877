//! Further folders with instruction files, which a client names. Their text is added to the system prompt.

use std::path::{Path, PathBuf};

use runtime::{InstructionPlaces, Instructions};
use serde_json::Value;

/// Maximum number of folders.
const MAX_FOLDERS: usize = 16;

/// The texts of the instruction files in the folders that a client names.
pub(crate) fn read_texts(params: &Value) -> Vec<String> {
    let folders = params["instructionDirectories"].as_array().map(Vec::as_slice).unwrap_or_default();
    let folders = folders.iter().filter_map(Value::as_str).map(PathBuf::from).filter(|folder| folder.is_absolute());
    folders.take(MAX_FOLDERS).flat_map(|folder| read_folder(&folder)).collect()
}

fn read_folder(folder: &Path) -> Vec<String> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let places = InstructionPlaces {
        cwd: &folder,
        project_dir: &folder,
        home: &folder,
        user_home: None,
        // Its files are read, and not what they import.
        may_read: &|_path| false,
    };
    let read = Instructions::read(&places);
    read.files.iter().map(|file| format!("Instructions from {}:\n{}", file.path.display(), file.text)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn files_of_each_folder_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let nested = folder.path().join(".github/instructions");
        fs::create_dir_all(&nested).unwrap();
        fs::write(nested.join("extra.instructions.md"), "Be kind.").unwrap();
        fs::write(folder.path().join("AGENTS.md"), "Be brief.").unwrap();
        let texts = read_texts(&json!({ "instructionDirectories": [folder.path(), "relative", "/no/such/folder"] }));
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].ends_with("Be brief.") && texts[1].ends_with("Be kind."), "{texts:?}");
        assert!(read_texts(&json!({})).is_empty());
    }
}
