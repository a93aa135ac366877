//! `bosun catalog show`: one definition in full.

use protocol::api::FullDefinition;
use protocol::{AgentSpec, Isolation, ModelPreference, SkillSpec, SlashSpec};
use tui::print;

pub(super) fn show(definition: FullDefinition, json: bool) {
    match definition {
        FullDefinition::Agent { agent } if json => print::json(&agent),
        FullDefinition::Agent { agent } => show_agent(&agent),
        FullDefinition::Skill { skill } if json => print::json(&skill),
        FullDefinition::Skill { skill } => show_skill(&skill),
        FullDefinition::Command { command } if json => print::json(&command),
        FullDefinition::Command { command } => show_slash(&command),
    }
}

fn show_agent(agent: &AgentSpec) {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let spawns = match &agent.spawns {
        protocol::SpawnPolicy::None => "no agents".to_owned(),
        protocol::SpawnPolicy::Any => "any agent".to_owned(),
        protocol::SpawnPolicy::Only(names) => list(names),
    };
    print_field("name", &agent.name);
    print_field("description", &agent.description);
    print_field("source", &agent.source.to_string());
    print_field("tools", &agent.tools.as_ref().map_or("all".into(), |tools| list(tools)));
    print_field("starts", &spawns);
    let optional = [
        ("without", (!agent.denied.is_empty()).then(|| list(&agent.denied))),
        ("models", (!agent.models.is_empty()).then(|| list(&agent.models))),
        ("prefers", describe_model_preference(agent.model_preference)),
        ("effort", agent.effort.map(|effort| format!("{effort:?}").to_lowercase())),
        ("turns", agent.max_turns.map(|turns| turns.to_string())),
        ("mode", agent.permission.map(|mode| mode.to_string())),
        ("tokens", agent.budget.tokens.map(|tokens| tokens.to_string())),
        ("budget", agent.budget.micros.map(|micros| tui::money::Money::Known(micros).to_string())),
        ("skills", (!agent.skills.is_empty()).then(|| list(&agent.skills))),
        ("isolation", agent.isolation.as_ref().map(describe_isolation)),
        ("place", agent.place.as_ref().map(ToString::to_string)),
        ("background", agent.background.then(|| "yes".to_owned())),
        ("user", (!agent.user_invocable).then(|| "may not talk to it".to_owned())),
        ("model", (!agent.model_invocable).then(|| "may not start it".to_owned())),
    ];
    for (key, value) in optional {
        value.into_iter().for_each(|value| print_field(key, &value));
    }
    for reason in &agent.unsupported {
        print_field("error", &format!("cannot be started: {reason}"));
    }
    print::output(print::sanitize(&format!("\n{}", agent.prompt)));
}

/// Describes the isolation of an agent.
fn describe_isolation(isolation: &Isolation) -> String {
    match isolation {
        Isolation::Worktree { base: None, .. } => "worktree".to_owned(),
        Isolation::Worktree { base: Some(base), .. } => format!("worktree at {base}"),
    }
}

/// Describes the model an agent prefers when none is named.
fn describe_model_preference(preference: ModelPreference) -> Option<String> {
    match preference {
        ModelPreference::Same => None,
        ModelPreference::Small => Some("a small model: agents.small-model, if it is set".to_owned()),
        ModelPreference::Other => Some("a model of another family: agents.other-model, if it is set".to_owned()),
    }
}

fn show_skill(skill: &SkillSpec) {
    print_field("name", &skill.name);
    print_field("description", &skill.description);
    print_field("source", &skill.source.to_string());
    if !skill.user_invocable {
        print_field("user", "may not call it");
    }
    if !skill.model_invocable {
        print_field("model", "may not load it on its own");
    }
    if !skill.allowed_tools.is_empty() {
        print_field("tools", &skill.allowed_tools.join(", "));
    }
    match runtime::read_skill(skill) {
        Ok(file) => print::output(print::sanitize(&format!("\n{}", runtime::skill_text(&file)))),
        Err(error) => print_field("text", &format!("cannot be read: {error}")),
    }
}

fn show_slash(slash: &SlashSpec) {
    print_field("command", &format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default()));
    print_field("description", &slash.description);
    print_field("source", &slash.source.to_string());
    if let Some(agent) = &slash.agent {
        print_field("agent", agent);
    }
    if !slash.allowed_tools.is_empty() {
        print_field("tools", &format!("{} (required; this does not allow them)", slash.allowed_tools.join(", ")));
    }
    match runtime::slash::read(slash) {
        Ok(text) => print::output(print::sanitize(&format!("\n{text}"))),
        Err(error) => print_field("text", &format!("cannot be read: {error}")),
    }
}

/// Prints a field on one line; its text is untrusted.
fn print_field(key: &str, value: &str) {
    print::output(print::sanitize(&format!("{key:<12}  {value}")).replace(['\n', '\t'], " "));
}
