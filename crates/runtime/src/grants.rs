//! Permissions granted while the session runs: rules that a user adds when deciding an ask. They apply for the rest of
//! the session, even when another process adopts it.

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use hooks::{RuleUpdate, RuleUpdateKind};
use kernel::KernelInput;
use policy::{Policy, Rule, RuleError, RuleSource};
use protocol::api::RuleChange;
use protocol::{AskDecision, DecidedBy, Event, HookDialect, PermissionMode, RuleEffect, SessionMode};
use tokio::sync::watch;

/// The current policy: the one that the session was opened with, and the rules granted since it began. In plan mode no
/// call may change anything, regardless of grants.
#[derive(Debug)]
pub(crate) struct Grants {
    state: RwLock<PolicyState>,
    changes: watch::Sender<()>,
}

#[derive(Debug)]
struct PolicyState {
    policy: Arc<Policy>,
    /// The policy in plan mode; none in other session modes.
    plan_policy: Option<Arc<Policy>>,
}

impl Grants {
    pub(crate) fn new(policy: Policy) -> Grants {
        let state = RwLock::new(PolicyState { policy: Arc::new(policy), plan_policy: None });
        Grants { state, changes: watch::channel(()).0 }
    }

    /// The policy as it is now.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(state.plan_policy.as_ref().unwrap_or(&state.policy))
    }

    /// Signals every change of the policy from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Replaces the policy: the session of a run in this process changed it elsewhere.
    pub(crate) fn replace(&self, policy: Policy) {
        *self.write() = PolicyState { policy: Arc::new(policy), plan_policy: None };
    }

    /// The policy, to be changed.
    fn write(&self) -> RwLockWriteGuard<'_, PolicyState> {
        let state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // A notified reader waits for the lock, so it reads the policy when the change is complete.
        self.changes.send_replace(());
        state
    }

    /// Applies a durable event.
    pub(crate) fn apply_event(&self, event: &Event) {
        if let Event::ModeChanged { mode, .. } = event {
            return self.apply_session_mode(*mode);
        }
        let Event::AskDecided { decision, by: DecidedBy::User, .. } = event else { return };
        match granted_rules(decision) {
            Ok(rules) => rules.into_iter().for_each(|rule| self.add_rule(rule)),
            // Another version of Bosun accepted the rule; this one cannot parse it and grants nothing.
            Err(error) => tracing::warn!(%error, "ignored a granted rule that cannot be parsed"),
        }
    }

    /// Changes the permission mode. The rules and plan mode remain in force.
    pub(crate) fn set_mode(&self, mode: PermissionMode) {
        let mut state = self.write();
        Arc::make_mut(&mut state.policy).mode = mode;
        if state.plan_policy.is_some() {
            state.plan_policy = Some(plan_mode_policy(&state.policy));
        }
    }

    /// Applies all changes to the rules, or none if one of them is invalid. Ask and deny rules are removed only if they
    /// were added while the session ran.
    pub(crate) fn change_rules(&self, changes: &[RuleChange]) -> Result<(), RuleError> {
        let mut state = self.write();
        let mut rules = state.policy.rules.clone();
        for change in changes {
            match change {
                RuleChange::Add { effect, rule } => {
                    insert_rule(&mut rules, Rule::parse(*effect, rule, RuleSource::Session)?)
                }
                RuleChange::Remove { effect, rule } => {
                    let removed = Rule::parse(*effect, rule, RuleSource::Session)?;
                    let is_removable = |source: &RuleSource| match source {
                        RuleSource::Session => true,
                        RuleSource::Flag => *effect == RuleEffect::Allow,
                        RuleSource::BuiltIn
                        | RuleSource::Managed(_)
                        | RuleSource::Local(_)
                        | RuleSource::Project(_)
                        | RuleSource::User(_) => false,
                    };
                    rules.retain(|rule| {
                        (rule.effect, &rule.text) != (removed.effect, &removed.text) || !is_removable(&rule.source)
                    });
                }
                RuleChange::Replace { effect, rules: texts } => {
                    rules.retain(|rule| rule.effect != *effect || rule.source != RuleSource::Session);
                    for text in texts {
                        insert_rule(&mut rules, Rule::parse(*effect, text, RuleSource::Session)?);
                    }
                }
            }
        }
        Arc::make_mut(&mut state.policy).rules = rules;
        if state.plan_policy.is_some() {
            state.plan_policy = Some(plan_mode_policy(&state.policy));
        }
        Ok(())
    }

    /// Applies the rule updates of hooks that restrict permissions and ignores the others: a hook cannot grant in place
    /// of the user.
    pub(crate) fn apply_hook_updates(&self, updates: &[RuleUpdate]) {
        for update in updates {
            let changes = self.narrowing_changes(update);
            if let Err(error) = self.change_rules(&changes) {
                tracing::warn!(%error, "ignored a hook's rule update");
            }
        }
    }

    fn narrowing_changes(&self, update: &RuleUpdate) -> Vec<RuleChange> {
        let effect = update.effect;
        let rules = update.rules.iter().filter_map(|text| parse_foreign_rule(effect, text));
        match (update.change, effect) {
            (RuleUpdateKind::Add | RuleUpdateKind::Replace, RuleEffect::Ask | RuleEffect::Deny) => {
                rules.map(|rule| RuleChange::Add { effect, rule: rule.text }).collect()
            }
            (RuleUpdateKind::Remove, RuleEffect::Allow) => {
                rules.map(|rule| RuleChange::Remove { effect, rule: rule.text }).collect()
            }
            (RuleUpdateKind::Replace, RuleEffect::Allow) => {
                let listed: Vec<String> = rules.map(|rule| rule.text).collect();
                let policy = self.policy();
                let session_rules =
                    policy.rules.iter().filter(|rule| rule.effect == effect && rule.source == RuleSource::Session);
                let rules = session_rules.map(|rule| rule.text.clone()).filter(|rule| listed.contains(rule)).collect();
                vec![RuleChange::Replace { effect, rules }]
            }
            (RuleUpdateKind::Add, RuleEffect::Allow) | (RuleUpdateKind::Remove, RuleEffect::Ask | RuleEffect::Deny) => {
                Vec::new()
            }
        }
    }

    fn apply_session_mode(&self, mode: SessionMode) {
        let mut state = self.write();
        state.plan_policy = (mode == SessionMode::Plan).then(|| plan_mode_policy(&state.policy));
    }

    fn add_rule(&self, rule: Rule) {
        let mut state = self.write();
        insert_rule(&mut Arc::make_mut(&mut state.policy).rules, rule);
        if state.plan_policy.is_some() {
            state.plan_policy = Some(plan_mode_policy(&state.policy));
        }
    }
}

/// Parses a rule with another product's tool names. If the pattern of an ask or deny rule cannot be parsed, the rule
/// applies to all calls of its tool.
fn parse_foreign_rule(effect: RuleEffect, text: &str) -> Option<Rule> {
    let (tool, pattern) = text.split_once('(').map_or((text, None), |(tool, rest)| (tool, Some(rest)));
    let bosun_name = hooks::tool_names::own_tool_name(tool.trim(), HookDialect::Snake);
    let without_pattern =
        (pattern.is_none() || effect != RuleEffect::Allow).then(|| [tool.trim().to_owned(), bosun_name.to_owned()]);
    let with_pattern = [Some(text.to_owned()), pattern.map(|rest| format!("{bosun_name}({rest}"))];
    let mut texts = with_pattern.into_iter().flatten().chain(without_pattern.into_iter().flatten());
    let rule = texts.find_map(|text| {
        let rule = Rule::parse(effect, &text, RuleSource::Session).ok()?;
        rule.unknown_tool().is_none().then_some(rule)
    });
    if rule.is_none() {
        tracing::warn!(text, "ignored a hook's rule that is invalid or names an unknown tool");
    }
    rule
}

/// Inserts a rule after those from sources of the same or higher precedence, unless it is already there.
fn insert_rule(rules: &mut Vec<Rule>, rule: Rule) {
    if !rules.contains(&rule) {
        let position = rules.partition_point(|known| known.source <= rule.source);
        rules.insert(position, rule);
    }
}

/// The policy with its mode set to plan.
fn plan_mode_policy(policy: &Policy) -> Arc<Policy> {
    Arc::new(Policy { mode: PermissionMode::Plan, ..policy.clone() })
}

/// Checks the rules that a decision grants, before the kernel applies it.
pub(crate) fn check_granted_rules(input: &KernelInput) -> Result<(), RuleError> {
    match input {
        KernelInput::Decide { decision, .. } => granted_rules(decision).map(|_rules| ()),
        _other => Ok(()),
    }
}

fn granted_rules(decision: &AskDecision) -> Result<Vec<Rule>, RuleError> {
    match decision {
        AskDecision::Allow { rules, .. } => {
            rules.iter().map(|text| Rule::parse(RuleEffect::Allow, text, RuleSource::Session)).collect()
        }
        AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. } => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{AskId, CallId};

    use super::*;

    fn decided(decision: AskDecision, by: DecidedBy) -> Event {
        Event::AskDecided { ask: AskId("a".into()), call: CallId("c".into()), decision, by }
    }

    fn allow(rule: &str) -> AskDecision {
        AskDecision::Allow { rules: vec![rule.into()], input: None }
    }

    fn texts(grants: &Grants) -> Vec<String> {
        grants.policy().rules.iter().map(|rule| format!("{} {}", rule.source, rule.text)).collect()
    }

    fn rule(text: &str, source: RuleSource) -> Rule {
        Rule::parse(RuleEffect::Allow, text, source).unwrap()
    }

    #[test]
    fn a_granted_rule_is_added_once_after_sources_of_higher_precedence() {
        let rules = vec![rule("view", RuleSource::Flag), rule("grep", RuleSource::User("/u".into()))];
        let grants = Grants::new(Policy { rules, ..Policy::default() });
        for _ in 0..2 {
            grants.apply_event(&decided(allow("shell(git *)"), DecidedBy::User));
        }
        let expected =
            ["the command line view", "granted while the session ran shell(git *)", "your settings, /u grep"];
        assert_eq!(texts(&grants), expected);
    }

    #[test]
    fn grants_apply_again_after_plan_mode() {
        let grants = Grants::new(Policy { mode: PermissionMode::AllowAll, ..Policy::default() });
        let change = |mode| grants.apply_event(&Event::ModeChanged { mode, by: protocol::Principal::User });
        change(SessionMode::Plan);
        grants.apply_event(&decided(allow("shell"), DecidedBy::User));
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::Plan, 1));
        change(SessionMode::Autopilot);
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::AllowAll, 1));
    }

    #[test]
    fn a_new_permission_mode_applies_except_in_plan_mode() {
        let grants = Grants::new(Policy { rules: vec![rule("view", RuleSource::Flag)], ..Policy::default() });
        grants.set_mode(PermissionMode::AllowAll);
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::AllowAll, 1));
        grants.apply_event(&Event::ModeChanged { mode: SessionMode::Plan, by: protocol::Principal::User });
        grants.set_mode(PermissionMode::AcceptEdits);
        assert_eq!(grants.policy().mode, PermissionMode::Plan);
    }

    /// The rules that remain after a change.
    type RemainingRules<'a> = &'a [(RuleEffect, &'a str)];

    #[test]
    fn rule_changes_keep_configured_deny_rules() {
        use RuleEffect::{Allow, Ask, Deny};
        let parsed = |effect, text: &str, source| Rule::parse(effect, text, source).unwrap();
        let add = |effect, rule: &str| RuleChange::Add { effect, rule: rule.into() };
        let remove = |effect, rule: &str| RuleChange::Remove { effect, rule: rule.into() };
        let replace = |effect, rules: &[&str]| {
            let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
            RuleChange::Replace { effect, rules }
        };
        let cases: [(Vec<RuleChange>, RemainingRules<'_>); 10] = [
            (vec![], &[(Allow, "view"), (Deny, "shell(rm *)")]),
            (vec![add(Deny, "fetch")], &[(Allow, "view"), (Deny, "shell(rm *)"), (Deny, "fetch")]),
            (vec![add(Ask, "fetch")], &[(Allow, "view"), (Deny, "shell(rm *)"), (Ask, "fetch")]),
            (vec![add(Deny, "fetch"), add(Deny, "fetch")], &[(Allow, "view"), (Deny, "shell(rm *)"), (Deny, "fetch")]),
            (vec![add(Deny, "fetch"), remove(Deny, "fetch")], &[(Allow, "view"), (Deny, "shell(rm *)")]),
            (vec![remove(Allow, "view")], &[(Deny, "shell(rm *)")]),
            (vec![remove(Deny, "shell(rm *)")], &[(Allow, "view"), (Deny, "shell(rm *)")]),
            (vec![replace(Deny, &[])], &[(Allow, "view"), (Deny, "shell(rm *)")]),
            (vec![add(Deny, "a"), replace(Deny, &["b"])], &[(Allow, "view"), (Deny, "shell(rm *)"), (Deny, "b")]),
            (vec![add(Deny, "a"), add(Deny, "  ")], &[(Allow, "view"), (Deny, "shell(rm *)")]),
        ];
        for (changes, expected) in cases {
            let rules = vec![parsed(Allow, "view", RuleSource::Flag), parsed(Deny, "shell(rm *)", RuleSource::Flag)];
            let grants = Grants::new(Policy { rules, ..Policy::default() });
            let is_refused = grants.change_rules(&changes).is_err();
            let policy = grants.policy();
            let remaining: Vec<_> = policy.rules.iter().map(|rule| (rule.effect, rule.text.as_str())).collect();
            assert_eq!(remaining, expected, "{changes:?}");
            assert_eq!(
                is_refused,
                changes.iter().any(|change| matches!(change, RuleChange::Add { rule, .. } if rule == "  "))
            );
        }
    }

    #[test]
    fn hook_updates_only_restrict() {
        use RuleEffect::{Allow, Ask, Deny};
        use RuleUpdateKind::{Add, Remove, Replace};
        let parsed = |effect, text: &str, source| Rule::parse(effect, text, source).unwrap();
        let update = |change, effect, rule: &str| RuleUpdate { change, effect, rules: vec![rule.into()] };
        let before = [(Allow, "view"), (Deny, "fetch"), (Allow, "edit")];
        let cases: [(RuleUpdate, RemainingRules<'_>); 9] = [
            (update(Add, Deny, "Bash(rm:*)"), &[before[0], before[1], before[2], (Deny, "shell(rm:*)")]),
            (update(Add, Ask, "Write([)"), &[before[0], before[1], before[2], (Ask, "edit")]),
            (update(Replace, Deny, "Bash"), &[before[0], before[1], before[2], (Deny, "shell")]),
            (update(Add, Allow, "Bash"), &before),
            (update(Remove, Deny, "WebFetch"), &before),
            (update(Remove, Allow, "Edit"), &before[..2]),
            (update(Remove, Allow, "view"), &before[1..]),
            (update(Replace, Allow, "Bash"), &before[..2]),
            (update(Add, Deny, "("), &before),
        ];
        for (update, expected) in cases {
            let rules = vec![
                parsed(Allow, "view", RuleSource::Flag),
                parsed(Deny, "fetch", RuleSource::Session),
                parsed(Allow, "edit", RuleSource::Session),
            ];
            let grants = Grants::new(Policy { rules, ..Policy::default() });
            grants.apply_hook_updates(std::slice::from_ref(&update));
            let policy = grants.policy();
            let remaining: Vec<_> = policy.rules.iter().map(|rule| (rule.effect, rule.text.as_str())).collect();
            assert_eq!(remaining, expected, "{update:?}");
        }
    }

    #[test]
    fn only_a_users_allow_decision_grants_rules() {
        let grants = Grants::new(Policy::default());
        grants.apply_event(&decided(allow("shell"), DecidedBy::Deadline));
        grants.apply_event(&decided(AskDecision::Allow { rules: Vec::new(), input: None }, DecidedBy::User));
        grants.apply_event(&decided(AskDecision::Deny { message: "shell".into() }, DecidedBy::User));
        grants.apply_event(&decided(allow("  "), DecidedBy::User));
        grants.apply_event(&Event::AdmissionClosed);
        assert_eq!(texts(&grants), [""; 0]);
    }

    #[test]
    fn a_decision_with_an_invalid_rule_is_refused() {
        let input = |decision| KernelInput::Decide { ask: AskId("a".into()), decision, by: DecidedBy::User };
        assert!(check_granted_rules(&input(allow(" "))).is_err());
        assert_eq!(check_granted_rules(&input(allow("shell"))), Ok(()));
        assert_eq!(check_granted_rules(&KernelInput::Tick), Ok(()));
    }
}
