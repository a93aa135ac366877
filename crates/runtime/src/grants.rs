//! What a person granted while the session ran: rules that come with a decision and hold for the rest of the session,
//! whoever owns it.

use std::sync::{Arc, PoisonError, RwLock};

use hooks::{RuleUpdate, RuleUpdateKind};
use kernel::KernelInput;
use policy::{Policy, Rule, RuleError, RuleSource};
use protocol::api::RuleChange;
use protocol::{AskDecision, DecidedBy, Event, HookDialect, PermissionMode, RuleEffect, SessionMode};

/// What calls may do now: the policy that the session was opened with, and what was granted since it began. In plan mode
/// nobody may change anything, whatever was granted.
#[derive(Debug)]
pub(crate) struct Grants(RwLock<Ceiling>);

#[derive(Debug)]
struct Ceiling {
    policy: Arc<Policy>,
    /// The policy of plan mode, while the session is in it.
    planning: Option<Arc<Policy>>,
}

impl Grants {
    pub(crate) fn new(policy: Policy) -> Grants {
        Grants(RwLock::new(Ceiling { policy: Arc::new(policy), planning: None }))
    }

    /// The policy as it is now.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let ceiling = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(ceiling.planning.as_ref().unwrap_or(&ceiling.policy))
    }

    /// Takes in a durable event.
    pub(crate) fn read(&self, event: &Event) {
        if let Event::ModeChanged { mode, .. } = event {
            return self.apply_session_mode(*mode);
        }
        let Event::AskDecided { decision, by: DecidedBy::User, .. } = event else { return };
        match granted_rules(decision) {
            Ok(rules) => rules.into_iter().for_each(|rule| self.add_rule(rule)),
            // Another version took it for a rule; this one does not widen anything by it.
            Err(error) => tracing::warn!(%error, "a granted rule cannot be read"),
        }
    }

    /// Treats calls that no rule speaks of like this from now on. Rules stay, and so does plan mode.
    pub(crate) fn set_mode(&self, mode: PermissionMode) {
        let mut ceiling = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut ceiling.policy).mode = mode;
        if ceiling.planning.is_some() {
            ceiling.planning = Some(plan_mode_policy(&ceiling.policy));
        }
    }

    /// Changes the rules from now on: all of them, or none if one is not a rule. What forbids is not removed unless it was
    /// added while the session ran.
    pub(crate) fn change_rules(&self, changes: &[RuleChange]) -> Result<(), RuleError> {
        let mut ceiling = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut rules = ceiling.policy.rules.clone();
        for change in changes {
            match change {
                RuleChange::Add { effect, rule } => {
                    insert_rule(&mut rules, Rule::parse(*effect, rule, RuleSource::Session)?)
                }
                RuleChange::Remove { effect, rule } => {
                    let gone = Rule::parse(*effect, rule, RuleSource::Session)?;
                    let may_go = |source: &RuleSource| match source {
                        RuleSource::Session => true,
                        RuleSource::Flag => *effect == RuleEffect::Allow,
                        RuleSource::BuiltIn
                        | RuleSource::Managed(_)
                        | RuleSource::Local(_)
                        | RuleSource::Project(_)
                        | RuleSource::User(_) => false,
                    };
                    rules
                        .retain(|rule| (rule.effect, &rule.text) != (gone.effect, &gone.text) || !may_go(&rule.source));
                }
                RuleChange::Replace { effect, rules: texts } => {
                    rules.retain(|rule| rule.effect != *effect || rule.source != RuleSource::Session);
                    for text in texts {
                        insert_rule(&mut rules, Rule::parse(*effect, text, RuleSource::Session)?);
                    }
                }
            }
        }
        Arc::make_mut(&mut ceiling.policy).rules = rules;
        if ceiling.planning.is_some() {
            ceiling.planning = Some(plan_mode_policy(&ceiling.policy));
        }
        Ok(())
    }

    /// Changes the rules as hooks want it, as far as that narrows: their yes is not a person's. A rule that cannot be
    /// kept to the letter holds for its whole tool.
    pub(crate) fn apply_hook_updates(&self, updates: &[RuleUpdate]) {
        for update in updates {
            let changes = self.narrowing_changes(update);
            if let Err(error) = self.change_rules(&changes) {
                tracing::warn!(%error, "a hook's change of the rules is passed over");
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
                let stay: Vec<String> = rules.map(|rule| rule.text).collect();
                let policy = self.policy();
                let own =
                    policy.rules.iter().filter(|rule| rule.effect == effect && rule.source == RuleSource::Session);
                let rules = own.map(|rule| rule.text.clone()).filter(|rule| stay.contains(rule)).collect();
                vec![RuleChange::Replace { effect, rules }]
            }
            (RuleUpdateKind::Add, RuleEffect::Allow) | (RuleUpdateKind::Remove, RuleEffect::Ask | RuleEffect::Deny) => {
                Vec::new()
            }
        }
    }

    fn apply_session_mode(&self, mode: SessionMode) {
        let mut ceiling = self.0.write().unwrap_or_else(PoisonError::into_inner);
        ceiling.planning = (mode == SessionMode::Plan).then(|| plan_mode_policy(&ceiling.policy));
    }

    fn add_rule(&self, rule: Rule) {
        let mut ceiling = self.0.write().unwrap_or_else(PoisonError::into_inner);
        insert_rule(&mut Arc::make_mut(&mut ceiling.policy).rules, rule);
        if ceiling.planning.is_some() {
            ceiling.planning = Some(plan_mode_policy(&ceiling.policy));
        }
    }
}

/// A rule in the words of another family. One that forbids and cannot be read is one for its whole tool.
fn parse_foreign_rule(effect: RuleEffect, text: &str) -> Option<Rule> {
    let (tool, pattern) = text.split_once('(').map_or((text, None), |(tool, rest)| (tool, Some(rest)));
    let ours = hooks::tool_names::own_tool_name(tool.trim(), HookDialect::Snake);
    let whole = (pattern.is_none() || effect != RuleEffect::Allow).then(|| [tool.trim().to_owned(), ours.to_owned()]);
    let exact = [Some(text.to_owned()), pattern.map(|rest| format!("{ours}({rest}"))];
    let mut rules = exact.into_iter().flatten().chain(whole.into_iter().flatten());
    let rule = rules.find_map(|text| {
        let rule = Rule::parse(effect, &text, RuleSource::Session).ok()?;
        rule.unknown_tool().is_none().then_some(rule)
    });
    if rule.is_none() {
        tracing::warn!(text, "a hook's rule is passed over");
    }
    rule
}

/// Puts a rule among others, after those of stronger sources, unless it is there.
fn insert_rule(rules: &mut Vec<Rule>, rule: Rule) {
    if !rules.contains(&rule) {
        let place = rules.partition_point(|known| known.source <= rule.source);
        rules.insert(place, rule);
    }
}

/// The same policy for whoever only looks.
fn plan_mode_policy(policy: &Policy) -> Arc<Policy> {
    Arc::new(Policy { mode: PermissionMode::Plan, ..policy.clone() })
}

/// Refuses a decision whose rule is none, before anything is decided.
pub(crate) fn check(input: &KernelInput) -> Result<(), RuleError> {
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
    fn a_granted_rule_stands_once_after_the_stronger_sources() {
        let rules = vec![rule("view", RuleSource::Flag), rule("grep", RuleSource::User("/u".into()))];
        let grants = Grants::new(Policy { rules, ..Policy::default() });
        for _ in 0..2 {
            grants.read(&decided(allow("shell(git *)"), DecidedBy::User));
        }
        let expected =
            ["the command line view", "granted while the session ran shell(git *)", "your settings, /u grep"];
        assert_eq!(texts(&grants), expected);
    }

    #[test]
    fn plan_mode_narrows_whatever_was_granted_and_its_end_gives_it_back() {
        let grants = Grants::new(Policy { mode: PermissionMode::AllowAll, ..Policy::default() });
        let change = |mode| grants.read(&Event::ModeChanged { mode, by: protocol::Principal::User });
        change(SessionMode::Plan);
        grants.read(&decided(allow("shell"), DecidedBy::User));
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::Plan, 1));
        change(SessionMode::Autopilot);
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::AllowAll, 1));
    }

    #[test]
    fn another_mode_holds_from_now_on_but_not_in_plan_mode() {
        let grants = Grants::new(Policy { rules: vec![rule("view", RuleSource::Flag)], ..Policy::default() });
        grants.set_mode(PermissionMode::AllowAll);
        assert_eq!((grants.policy().mode, texts(&grants).len()), (PermissionMode::AllowAll, 1));
        grants.read(&Event::ModeChanged { mode: SessionMode::Plan, by: protocol::Principal::User });
        grants.set_mode(PermissionMode::AcceptEdits);
        assert_eq!(grants.policy().mode, PermissionMode::Plan);
    }

    /// The rules that are left.
    type RemainingRules<'a> = &'a [(RuleEffect, &'a str)];

    #[test]
    fn rules_are_changed_while_the_session_runs_and_what_forbids_stays() {
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
            let left: Vec<_> = policy.rules.iter().map(|rule| (rule.effect, rule.text.as_str())).collect();
            assert_eq!(left, expected, "{changes:?}");
            assert_eq!(
                is_refused,
                changes.iter().any(|change| matches!(change, RuleChange::Add { rule, .. } if rule == "  "))
            );
        }
    }

    #[test]
    fn what_hooks_want_of_the_rules_only_narrows() {
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
            let left: Vec<_> = policy.rules.iter().map(|rule| (rule.effect, rule.text.as_str())).collect();
            assert_eq!(left, expected, "{update:?}");
        }
    }

    #[test]
    fn only_a_person_s_allowing_grants_anything() {
        let grants = Grants::new(Policy::default());
        grants.read(&decided(allow("shell"), DecidedBy::Deadline));
        grants.read(&decided(AskDecision::Allow { rules: Vec::new(), input: None }, DecidedBy::User));
        grants.read(&decided(AskDecision::Deny { message: "shell".into() }, DecidedBy::User));
        grants.read(&decided(allow("  "), DecidedBy::User));
        grants.read(&Event::AdmissionClosed);
        assert_eq!(texts(&grants), [""; 0]);
    }

    #[test]
    fn a_decision_with_no_rule_in_it_is_refused() {
        let input = |decision| KernelInput::Decide { ask: AskId("a".into()), decision, by: DecidedBy::User };
        assert!(check(&input(allow(" "))).is_err());
        assert_eq!(check(&input(allow("shell"))), Ok(()));
        assert_eq!(check(&KernelInput::Tick), Ok(()));
    }
}
