//! One definition in full.

use protocol::{AgentSpec, Isolation, SkillSpec, SlashSpec, Taste};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Found, refused};

pub(super) fn show(found: &Found, name: &str, json: bool) -> Result<Exit, Failure> {
    let agent = found.gathered.agent(name).map(|agent| &agent.spec);
    let skill = || found.gathered.effective_skills().find(|skill| skill.spec.name == name).map(|skill| &skill.spec);
    let plain = name.trim_start_matches('/');
    let slash = found.gathered.effective_slashes().find(|slash| slash.spec.name == plain).map(|slash| &slash.spec);
    match (agent, skill(), slash) {
        (Some(agent), ..) if json => print::json(agent),
        (Some(agent), ..) => show_agent(agent),
        (None, Some(skill), _) if json => print::json(skill),
        (None, Some(skill), _) => show_skill(skill),
        (None, None, Some(slash)) if json => print::json(slash),
        (None, None, Some(slash)) => show_slash(slash),
        (None, None, None) => {
            return Err(refused(format!("there is no agent, skill or command `{name}`"))
                .hint("`bosun catalog list` shows which there are"));
        }
    }
    Ok(Exit::Success)
}

fn show_agent(agent: &AgentSpec) {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let spawns = match &agent.spawns {
        protocol::Spawns::Nobody => "nobody".to_owned(),
        protocol::Spawns::Anybody => "any agent".to_owned(),
        protocol::Spawns::Only(names) => list(names),
    };
    tell("name", &agent.name);
    tell("description", &agent.description);
    tell("source", &agent.source.to_string());
    tell("tools", &agent.tools.as_ref().map_or("all".into(), |tools| list(tools)));
    tell("starts", &spawns);
    let optional = [
        ("without", (!agent.denied.is_empty()).then(|| list(&agent.denied))),
        ("models", (!agent.models.is_empty()).then(|| list(&agent.models))),
        ("likes", likes(agent.taste)),
        ("effort", agent.effort.map(|effort| format!("{effort:?}").to_lowercase())),
        ("turns", agent.max_turns.map(|turns| turns.to_string())),
        ("mode", agent.permission.map(|mode| mode.to_string())),
        ("tokens", agent.budget.tokens.map(|tokens| tokens.to_string())),
        ("budget", agent.budget.micros.map(|micros| crate::money::Money::Known(micros).to_string())),
        ("skills", (!agent.skills.is_empty()).then(|| list(&agent.skills))),
        ("isolation", agent.isolation.as_ref().map(isolation)),
        ("background", agent.background.then(|| "yes".to_owned())),
        ("you", (!agent.user_invocable).then(|| "may not talk to it".to_owned())),
        ("models may", (!agent.model_invocable).then(|| "not start it".to_owned())),
    ];
    for (key, value) in optional {
        value.into_iter().for_each(|value| tell(key, &value));
    }
    for words in &agent.unserved {
        tell("cannot be", &format!("started: {words}"));
    }
    print::answer(print::plain(&format!("\n{}", agent.prompt)));
}

/// Where an agent works that has a place of its own.
fn isolation(isolation: &Isolation) -> String {
    match isolation {
        Isolation::Worktree { base: None, .. } => "worktree".to_owned(),
        Isolation::Worktree { base: Some(base), .. } => format!("worktree at {base}"),
    }
}

/// Which model an agent likes when nobody names one.
fn likes(taste: Taste) -> Option<String> {
    match taste {
        Taste::Same => None,
        Taste::Small => Some("a small model: agents.small-model, if it is set".to_owned()),
        Taste::Other => Some("a model of another family: agents.other-model, if it is set".to_owned()),
    }
}

fn show_skill(skill: &SkillSpec) {
    tell("name", &skill.name);
    tell("description", &skill.description);
    tell("source", &skill.source.to_string());
    if !skill.user_invocable {
        tell("you", "may not name it");
    }
    if !skill.model_invocable {
        tell("models may", "not load it on their own");
    }
    if !skill.allowed_tools.is_empty() {
        tell("tools", &skill.allowed_tools.join(", "));
    }
    match runtime::read_skill(skill) {
        Ok(file) => print::answer(print::plain(&format!("\n{}", runtime::skill_text(&file)))),
        Err(why) => tell("text", &format!("cannot be read: {why}")),
    }
}

fn show_slash(slash: &SlashSpec) {
    tell("command", &format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default()));
    tell("description", &slash.description);
    tell("source", &slash.source.to_string());
    if let Some(agent) = &slash.agent {
        tell("agent", agent);
    }
    if !slash.allowed_tools.is_empty() {
        tell("tools", &format!("{} (it needs them; that allows nothing)", slash.allowed_tools.join(", ")));
    }
    match runtime::slash::read(slash) {
        Ok(text) => print::answer(print::plain(&format!("\n{text}"))),
        Err(why) => tell("text", &format!("cannot be read: {why}")),
    }
}

/// One line; every word of it may be a stranger's.
fn tell(key: &str, value: &str) {
    print::answer(print::plain(&format!("{key:<12}  {value}")).replace(['\n', '\t'], " "));
}
