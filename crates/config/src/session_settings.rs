//! A session's previous settings, as a layer.

use std::num::NonZeroU64;
use std::path::PathBuf;

use policy::RuleError;
use protocol::api::SessionView;
use protocol::{RuleEffect, Usd};

use crate::file::{BudgetSettings, LimitSettings, ListSettings, PermissionSettings, SettingsFile, WorkspaceSettings};
use crate::permissions::{PermissionModeSetting, RuleLine};

impl SettingsFile {
    /// The settings that a session last ran with, for resuming it.
    pub fn from_session(session: &SessionView) -> Result<SettingsFile, RuleError> {
        let rules = |effect: RuleEffect| -> Result<Vec<RuleLine>, RuleError> {
            let texts = session.rules.iter().filter(|rule| rule.effect == effect);
            texts.map(|rule| RuleLine::parse(&rule.rule)).collect()
        };
        Ok(SettingsFile {
            model: Some(session.model.clone()),
            effort: session.effort,
            max_turns: session.max_turns,
            limits: LimitSettings {
                live: session.limits.live,
                depth: session.limits.depth,
                total: session.limits.total,
                spawns_per_minute: session.limits.rate,
                continues: session.limits.continues,
                ..LimitSettings::default()
            },
            lists: ListSettings { chosen: Some(session.list.clone()) },
            budget: BudgetSettings {
                usd: session.budget.micros.map(Usd),
                tokens: session.budget.tokens.and_then(NonZeroU64::new),
                day_usd: None,
            },
            permissions: PermissionSettings {
                mode: Some(PermissionModeSetting(session.permission)),
                allow: rules(RuleEffect::Allow)?,
                ask: rules(RuleEffect::Ask)?,
                deny: rules(RuleEffect::Deny)?,
            },
            workspace: WorkspaceSettings { add_dirs: session.roots.iter().map(PathBuf::from).collect() },
            ..SettingsFile::default()
        })
    }
}
