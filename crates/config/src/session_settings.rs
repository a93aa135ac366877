//! A session's previous settings, as a layer.

use std::num::NonZeroU64;
use std::path::PathBuf;

use policy::RuleError;
use protocol::RuleEffect;
use protocol::api::SessionView;

use crate::amount::Usd;
use crate::file::{BudgetSettings, LimitSettings, ListSettings, PermissionSettings, SettingsFile, WorkspaceSettings};
use crate::permissions::{PermissionModeSetting, RuleLine};

impl SettingsFile {
    /// The settings of the previous run of a session, for resuming it.
    pub fn of_session(before: &SessionView) -> Result<SettingsFile, RuleError> {
        let rules = |effect: RuleEffect| -> Result<Vec<RuleLine>, RuleError> {
            let texts = before.rules.iter().filter(|rule| rule.effect == effect);
            texts.map(|rule| RuleLine::parse(&rule.rule)).collect()
        };
        Ok(SettingsFile {
            model: Some(before.model.clone()),
            effort: before.effort,
            max_turns: before.max_turns,
            limits: LimitSettings {
                live: before.limits.live,
                depth: before.limits.depth,
                total: before.limits.total,
                spawns_per_minute: before.limits.rate,
                continues: before.limits.continues,
                ..LimitSettings::default()
            },
            lists: ListSettings { chosen: Some(before.list.clone()) },
            budget: BudgetSettings {
                usd: before.budget.micros.map(Usd),
                tokens: before.budget.tokens.and_then(NonZeroU64::new),
                day_usd: None,
            },
            permissions: PermissionSettings {
                mode: Some(PermissionModeSetting(before.permission)),
                allow: rules(RuleEffect::Allow)?,
                ask: rules(RuleEffect::Ask)?,
                deny: rules(RuleEffect::Deny)?,
            },
            workspace: WorkspaceSettings { add_dirs: before.roots.iter().map(PathBuf::from).collect() },
            ..SettingsFile::default()
        })
    }
}
