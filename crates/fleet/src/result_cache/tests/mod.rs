mod folder;
mod keys;
mod random;

use std::collections::BTreeMap;

use protocol::{Timestamp, Todo, TodoId};
use store::{FleetResultRow, StoreError};

use super::{Assignment, ResultBackend};

/// Results that are kept in memory.
#[derive(Debug, Clone, Default)]
struct MemoryResultStore(BTreeMap<String, FleetResultRow>);

impl ResultBackend for &mut MemoryResultStore {
    fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError> {
        Ok(self.0.get(key).cloned())
    }

    fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError> {
        Ok(self.0.values().any(|row| row.todo == *todo))
    }

    fn put(&mut self, row: &FleetResultRow, _at: Timestamp) -> Result<(), StoreError> {
        self.0.insert(row.key.clone(), row.clone());
        Ok(())
    }

    fn set_files_after(&mut self, hashes: &[(String, String)], _at: Timestamp) -> Result<(), StoreError> {
        for (key, after) in hashes {
            self.0.get_mut(key).unwrap().after = Some(after.clone());
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        self.0.remove(key);
        Ok(())
    }
}

fn default_assignment() -> Assignment {
    Assignment { agent: "a".into(), model: "m".into(), effort: None }
}

fn todo(id: &str, depends_on: &[&str], files: &[&str]) -> Todo {
    Todo {
        depends_on: depends_on.iter().map(|id| TodoId::from(*id)).collect(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Todo::new(id, format!("Do {id}"))
    }
}
