mod folder;
mod keys;
mod random;

use std::collections::BTreeMap;

use protocol::{At, Todo, TodoId};
use store::{ResultRow, StoreError};

use super::{Means, Shelf};

/// Results that are kept in memory.
#[derive(Debug, Clone, Default)]
struct Board(BTreeMap<String, ResultRow>);

impl Shelf for &mut Board {
    fn get(&self, key: &str) -> Result<Option<ResultRow>, StoreError> {
        Ok(self.0.get(key).cloned())
    }

    fn knows(&self, todo: &TodoId) -> Result<bool, StoreError> {
        Ok(self.0.values().any(|row| row.todo == *todo))
    }

    fn put(&mut self, row: &ResultRow, _at: At) -> Result<(), StoreError> {
        self.0.insert(row.key.clone(), row.clone());
        Ok(())
    }

    fn set_after(&mut self, states: &[(String, String)], _at: At) -> Result<(), StoreError> {
        for (key, after) in states {
            self.0.get_mut(key).unwrap().after = Some(after.clone());
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        self.0.remove(key);
        Ok(())
    }
}

fn means() -> Means {
    Means { agent: "a".into(), model: "m".into(), effort: None }
}

fn todo(id: &str, depends_on: &[&str], files: &[&str]) -> Todo {
    Todo {
        depends_on: depends_on.iter().map(|id| TodoId::from(*id)).collect(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Todo::new(id, format!("Do {id}"))
    }
}
