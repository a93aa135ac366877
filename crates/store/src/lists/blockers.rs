//! Dependencies between items: unfinished blockers, and cycles.

use std::collections::{BTreeMap, BTreeSet};

use protocol::ItemId;
use rusqlite::params;

use super::rows::ListRows;

impl ListRows<'_> {
    /// The unfinished items that an item waits for.
    pub(super) fn open_blockers(&self, id: ItemId) -> rusqlite::Result<Vec<ItemId>> {
        self.conn
            .prepare_cached(
                "SELECT DISTINCT b.id FROM bosun_items AS i, json_each(i.body, '$.blockedBy') AS e
                 JOIN bosun_items AS b ON b.list = i.list AND b.id = CAST(e.value AS INTEGER)
                 WHERE i.list = ?1 AND i.id = ?2 AND b.status IN ('pending', 'in_progress') ORDER BY b.id",
            )?
            .query_map(params![self.key, id.0], |row| row.get(0).map(ItemId))?
            .collect()
    }

    /// The blockers of each item that has any.
    pub(super) fn blockers_by_item(&self) -> rusqlite::Result<BTreeMap<ItemId, Vec<ItemId>>> {
        let mut select = self.conn.prepare_cached(
            "SELECT i.id, CAST(e.value AS INTEGER) FROM bosun_items AS i, json_each(i.body, '$.blockedBy') AS e
             WHERE i.list = ?1 AND i.status <> 'deleted' ORDER BY 1, 2",
        )?;
        let mut edges: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        for row in select.query_map([self.key], |row| Ok((ItemId(row.get(0)?), ItemId(row.get(1)?))))? {
            let (item, blocker) = row?;
            edges.entry(item).or_default().push(blocker);
        }
        Ok(edges)
    }
}

/// A cycle of items, each waiting for the next, that can be reached from any of these items.
pub(super) fn find_cycle(
    edges: &BTreeMap<ItemId, Vec<ItemId>>,
    from: impl Iterator<Item = ItemId>,
) -> Option<Vec<ItemId>> {
    let mut without_cycle = BTreeSet::new();
    from.into_iter().find_map(|start| find_cycle_from(edges, start, &mut without_cycle))
}

/// A cycle that can be reached from `start`. Items in `without_cycle` lead to none.
fn find_cycle_from(
    edges: &BTreeMap<ItemId, Vec<ItemId>>,
    start: ItemId,
    without_cycle: &mut BTreeSet<ItemId>,
) -> Option<Vec<ItemId>> {
    let blockers = |id: ItemId| edges.get(&id).map(Vec::as_slice).unwrap_or_default().iter().copied();
    let mut path = vec![(start, blockers(start))];
    while let Some((id, unvisited)) = path.last_mut() {
        match unvisited.find(|to| !without_cycle.contains(to)) {
            None => {
                without_cycle.insert(*id);
                path.pop();
            }
            Some(to) => {
                if let Some(first) = path.iter().position(|(id, _)| *id == to) {
                    return Some(path.split_off(first).into_iter().map(|(id, _)| id).collect());
                }
                path.push((to, blockers(to)));
            }
        }
    }
    None
}
