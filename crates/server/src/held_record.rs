//! What the next session host needs to resume the sessions of this one: one file per session.

use std::io;

use host::Home;
use protocol::{SessionId, SessionOptions};
use serde::{Deserialize, Serialize};

use crate::KeepMode;

/// A session that a host keeps, as the next host finds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldRecord {
    /// The session.
    pub(crate) session: SessionId,
    /// How long it is kept.
    pub(crate) keep: KeepMode,
    /// The options that the session does not store itself.
    pub(crate) options: SessionOptions,
}

impl HeldRecord {
    /// The record of a session that was opened with these options, without those that a session stores itself: they may
    /// have changed by the time it is adopted.
    pub(crate) fn new(session: SessionId, keep: KeepMode, options: &SessionOptions) -> HeldRecord {
        let SessionOptions {
            prompt: _,
            cwd: _,
            model: _,
            effort: _,
            mode: _,
            permission: _,
            allow: _,
            ask: _,
            deny: _,
            add_dirs: _,
            max_turns: _,
            max_budget_usd: _,
            max_tokens: _,
            list: _,
            agent: _,
            plan_exit,
            settings,
            setting_sources,
            untrusted_definitions,
            ask_outside_workspace,
            ask_reads,
            timeout_seconds,
            max_agents,
            max_depth,
            max_total_agents,
            max_continues,
            agents,
            agents_source,
            plugin_dirs,
            skill_dirs,
            disabled_skills,
            mcp_servers,
            mcp_sources,
            only_these_mcp_servers,
            disabled_mcp_servers,
            strict,
            ask_user,
            ask_wait_seconds,
            record,
        } = options.clone();
        let options = SessionOptions {
            plan_exit,
            settings,
            setting_sources,
            untrusted_definitions,
            ask_outside_workspace,
            ask_reads,
            timeout_seconds,
            max_agents,
            max_depth,
            max_total_agents,
            max_continues,
            agents,
            agents_source,
            plugin_dirs,
            skill_dirs,
            disabled_skills,
            mcp_servers,
            mcp_sources,
            only_these_mcp_servers,
            disabled_mcp_servers,
            strict,
            ask_user,
            ask_wait_seconds,
            record,
            ..SessionOptions::default()
        };
        HeldRecord { session, keep, options }
    }
}

/// A record that cannot be read.
#[derive(Debug)]
pub(crate) struct UnreadableRecord {
    /// Its session.
    pub(crate) session: SessionId,
    /// Why.
    pub(crate) why: String,
}

/// The records of a home.
#[derive(Debug, Clone)]
pub(crate) struct HeldRecords {
    home: Home,
}

impl HeldRecords {
    /// The records of this home.
    pub(crate) fn new(home: &Home) -> HeldRecords {
        HeldRecords { home: home.clone() }
    }

    /// Writes a session's record, which replaces an earlier one.
    pub(crate) async fn write(&self, record: &HeldRecord) -> io::Result<()> {
        let json = serde_json::to_vec(record).map_err(io::Error::other)?;
        let (home, session) = (self.home.clone(), record.session);
        blocking(move || home.write_held_record(session, &json)).await
    }

    /// Removes a session's record, if there is one.
    pub(crate) async fn remove(&self, session: SessionId) -> io::Result<()> {
        let home = self.home.clone();
        blocking(move || home.remove_held_record(session)).await
    }

    /// All records.
    pub(crate) async fn read_all(&self) -> io::Result<Vec<Result<HeldRecord, UnreadableRecord>>> {
        let home = self.home.clone();
        let records = blocking(move || home.held_records()).await?;
        let parse = |(session, json): (SessionId, Vec<u8>)| {
            serde_json::from_slice(&json).map_err(|error| UnreadableRecord { session, why: error.to_string() })
        };
        Ok(records.into_iter().map(parse).collect())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|failed| Err(io::Error::other(failed)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::{Seconds, SessionMode};

    use super::*;

    #[tokio::test]
    async fn a_record_keeps_the_options_that_the_session_does_not_store() {
        let folder = tempfile::tempdir().unwrap();
        let records = HeldRecords::new(&Home::open(folder.path().to_owned()).unwrap());
        assert!(records.read_all().await.unwrap().is_empty());
        let options = SessionOptions {
            prompt: Some("go".into()),
            model: Some("script/a.yaml".into()),
            mode: Some(SessionMode::Plan),
            ask_wait_seconds: Some(Seconds(Duration::from_secs(60))),
            ..SessionOptions::default()
        };
        let session: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        for keep in [KeepMode::UntilClosed, KeepMode::UntilQuiet] {
            records.write(&HeldRecord::new(session, keep, &options)).await.unwrap();
        }
        let read: Vec<_> = records.read_all().await.unwrap().into_iter().map(Result::unwrap).collect();
        let wait = Some(Seconds(Duration::from_secs(60)));
        let stored = SessionOptions { ask_wait_seconds: wait, ..SessionOptions::default() };
        assert_eq!(read, [HeldRecord { session, keep: KeepMode::UntilQuiet, options: stored }]);
        records.remove(session).await.unwrap();
        records.remove(session).await.unwrap();
        assert!(records.read_all().await.unwrap().is_empty());
    }
}
