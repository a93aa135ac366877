//! Every definition in a line.

use std::path::Path;

use config::{ListedAgent, ListedSkill, ListedSlash, Plugin, Problem, RemoteState, Severity};
use protocol::Source;
use serde::Serialize;

use crate::print;
use crate::setup::{Found, remote_words};

/// The catalogue as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    agents: Vec<Line<'a>>,
    skills: Vec<Line<'a>>,
    commands: Vec<Line<'a>>,
    plugins: Vec<PluginLine<'a>>,
    /// Files of the project that do not count, since nobody has trusted it.
    ignored: Vec<&'a Path>,
    remote: &'a RemoteState,
    problems: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    name: &'a str,
    description: &'a str,
    source: &'a Source,
    /// The definition of the same name that counts instead.
    shadowed_by: Option<&'a Source>,
    user_invocable: bool,
    model_invocable: bool,
    /// What it asks for and this version cannot do.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unserved: &'a [String],
}

#[derive(Serialize)]
struct PluginLine<'a> {
    name: &'a str,
    version: Option<&'a str>,
    folder: String,
}

pub(super) fn list(found: &Found, json: bool) {
    let gathered = &found.gathered;
    let agents: Vec<Line<'_>> = gathered.agents.iter().map(Line::from).collect();
    let skills: Vec<Line<'_>> = gathered.skills.iter().map(Line::from).collect();
    let commands: Vec<Line<'_>> = gathered.slashes.iter().map(Line::from).collect();
    let plugins: Vec<PluginLine<'_>> = gathered.plugins.iter().map(PluginLine::from).collect();
    let untrusted = |problem: &&Problem| problem.severity == Severity::Untrusted;
    let ignored: Vec<&Path> =
        gathered.problems.iter().filter(untrusted).map(|problem| problem.file.as_path()).collect();
    let problems = gathered.problems.len();
    if json {
        return print::json(&Written {
            agents,
            skills,
            commands,
            plugins,
            ignored,
            remote: &gathered.remote,
            problems,
        });
    }
    rows("agents", &agents);
    rows("skills", &skills);
    rows("commands", &commands);
    if !plugins.is_empty() {
        print::answer("plugins");
    }
    for PluginLine { name, version, folder } in &plugins {
        print::row(print::plain(&format!("  {name:<20}  {:<10}  {folder}", version.unwrap_or_default())));
    }
    if !ignored.is_empty() {
        print::answer("ignored, since you have not trusted the project (`bosun trust`)");
    }
    for file in ignored {
        print::row(print::plain(&format!("  {}", file.display())).replace(['\n', '\t'], " "));
    }
    if let Some((_, words)) = remote_words(&gathered.remote) {
        print::note(print::plain(&words));
    }
    if problems > 0 {
        let verb = if problems == 1 { "is 1 problem" } else { &format!("are {problems} problems") };
        print::note(format_args!("there {verb}; `bosun catalog check` lists them"));
    }
}

fn rows(title: &str, lines: &[Line<'_>]) {
    if !lines.is_empty() {
        print::answer(title);
    }
    for line in lines {
        let state = match (line.shadowed_by, line.unserved.is_empty()) {
            (Some(stronger), _) => format!("  (not used: {stronger} stands in for it)"),
            (None, false) => "  (cannot be started)".to_owned(),
            (None, true) => String::new(),
        };
        let text = format!("  {:<20}  {}{state}", line.name, line.source);
        print::row(print::plain(&text).replace(['\n', '\t'], " "));
        if line.shadowed_by.is_none() {
            let about = print::one_line(line.description, 200);
            print::row(print::plain(&format!("  {:<20}  {about}", "")));
        }
    }
}

impl<'a> From<&'a ListedAgent> for Line<'a> {
    fn from(ListedAgent { spec, shadowed_by, .. }: &'a ListedAgent) -> Line<'a> {
        Line {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: spec.user_invocable,
            model_invocable: spec.model_invocable,
            unserved: &spec.unserved,
        }
    }
}

impl<'a> From<&'a ListedSkill> for Line<'a> {
    fn from(ListedSkill { spec, shadowed_by }: &'a ListedSkill) -> Line<'a> {
        Line {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: spec.user_invocable,
            model_invocable: spec.model_invocable,
            unserved: &[],
        }
    }
}

impl<'a> From<&'a ListedSlash> for Line<'a> {
    fn from(ListedSlash { spec, shadowed_by }: &'a ListedSlash) -> Line<'a> {
        Line {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: true,
            model_invocable: false,
            unserved: &[],
        }
    }
}

impl<'a> From<&'a Plugin> for PluginLine<'a> {
    fn from(plugin: &'a Plugin) -> PluginLine<'a> {
        let Plugin { name, version, folder, .. } = plugin;
        PluginLine { name, version: version.as_deref(), folder: folder.display().to_string() }
    }
}
