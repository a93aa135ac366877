//! The lease: the record of the process that may write to a session's file. The fence increases with every owner, and a
//! write with an older fence is refused.

use host::ProcessIdentity;
use protocol::{Fence, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

/// The lease of a session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionLease {
    /// The fence of the last owner.
    pub(crate) fence: Fence,
    /// The last owner, unless it ended cleanly.
    pub(crate) holder: Option<ProcessIdentity>,
}

impl SessionLease {
    /// The process that holds the lease and is alive.
    pub(crate) fn live_pid(&self) -> Option<u32> {
        self.holder.as_ref().filter(|holder| holder.is_alive()).map(|holder| holder.pid)
    }
}

/// Reads the lease; none when the file never had an owner.
pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Option<SessionLease>> {
    conn.prepare_cached("SELECT fence, boot, pid, started, held FROM bosun_lease")?
        .query_row([], |row| {
            let owner = ProcessIdentity { boot: row.get(1)?, pid: row.get(2)?, start_ticks: row.get(3)? };
            let held: bool = row.get(4)?;
            Ok(SessionLease { fence: Fence(row.get(0)?), holder: held.then_some(owner) })
        })
        .optional()
}

/// Reads the fence of the last owner; 0 when there was none.
pub(crate) fn fence(conn: &Connection) -> rusqlite::Result<Fence> {
    conn.prepare_cached("SELECT ifnull(max(fence), 0) FROM bosun_lease")?.query_row([], |row| Ok(Fence(row.get(0)?)))
}

/// Records the next owner.
pub(crate) fn take(conn: &Connection, fence: Fence, owner: &ProcessIdentity, now: Timestamp) -> rusqlite::Result<()> {
    conn.execute(
        "INSERT OR REPLACE INTO bosun_lease (one, fence, boot, pid, started, held, taken_at)
         VALUES (1, ?1, ?2, ?3, ?4, 1, ?5)",
        params![fence.0, owner.boot, owner.pid, owner.start_ticks, now.0],
    )?;
    Ok(())
}

/// Records that the file has no owner; the fence stays.
pub(crate) fn clear(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("UPDATE bosun_lease SET held = 0", [])?;
    Ok(())
}
