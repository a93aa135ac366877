//! `bosun explain`: whether a call would be allowed, asked about or denied, what decided, and what would change it.

mod written;

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use policy::{Act, Explanation, Request, Role};
use protocol::RuleEffect;

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder};
use runtime::Surroundings;

pub(crate) fn tell(args: &ExplainArgs) -> Result<Exit, Failure> {
    let cwd = folder(args.directory.as_deref())?;
    let setup = Setup::read()?;
    let policy = setup.policy(&args.permit, None, &cwd)?;
    let path = setup.env.text("PATH");
    let path = path.as_deref().map(OsStr::new);
    let request = question(&args.call, &cwd, Surroundings { roots: &policy.roots, controls: &policy.controls, path })?;
    let explanation = policy.outside(&request, &cwd).unwrap_or_else(|| policy.explain(&Role::default(), &request));
    if args.json {
        print::json(&written::explanation(&request.tool, &explanation));
    } else {
        show(&explanation);
    }
    Ok(Exit::Success)
}

fn question(call: &[String], cwd: &Path, around: Surroundings<'_>) -> Result<Request, Failure> {
    let request = match call {
        [tool, given] => Request::of(tool, Some(given), cwd),
        [call] => Request::parse(call, cwd),
        _more => return Err(Failure::usage("a call is a tool and what it is given")),
    };
    let hint = "for example: bosun explain 'shell(git push)', or bosun explain edit src/main.rs";
    let Request { tool, acts } = request.map_err(|error| Failure::usage(error).hint(hint))?;
    Ok(Request { tool, acts: acts.into_iter().flat_map(|act| real(act, around)).collect() })
}

/// The same with paths as they really lead.
fn real(act: Act, around: Surroundings<'_>) -> Vec<Act> {
    match act {
        Act::Read(path) => vec![Act::Read(real_path(&path))],
        Act::Edit(path) => vec![Act::Edit(real_path(&path))],
        Act::Shell { command, cwd, seen: _ } => {
            let elsewhere = runtime::redirects(&command, &cwd);
            let seen = runtime::look(&command, &cwd, around);
            std::iter::once(Act::Shell { command, cwd, seen }).chain(elsewhere).collect()
        }
        Act::Fetch(_) | Act::Agent(_) | Act::Session | Act::Other => vec![act],
    }
}

/// Follows the links of what there is; a file that is yet to be made keeps its name.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        if let Ok(real) = folder.canonicalize() {
            return missing.into_iter().rev().fold(real, below);
        }
        missing.extend(folder.components().next_back());
    }
    path.to_owned()
}

fn below(mut folder: PathBuf, part: Component<'_>) -> PathBuf {
    if part == Component::ParentDir {
        folder.pop();
    } else {
        folder.push(part);
    }
    folder
}

fn show(explanation: &Explanation) {
    let Explanation { verdict, parts } = explanation;
    print::answer(format_args!("{}: {}", verdict.effect.word(), line(&verdict.reason())));
    let several = parts.iter().filter(|part| part.effect != RuleEffect::Allow).count() > 1;
    let remedy = if several { "every part must be allowed, each for itself".into() } else { verdict.remedy() };
    print::answer(format_args!("what would change it: {}", line(&remedy)));
    // Of a file that is both read and changed the stricter says enough.
    if parts.iter().any(|part| part.part != verdict.part) {
        print::answer("its parts:");
        for part in parts {
            print::answer(format_args!("  {:<5}  {}", part.effect.word(), line(&part.reason())));
            if several && part.effect != RuleEffect::Allow {
                print::answer(format_args!("         → {}", line(&part.remedy())));
            }
        }
    }
}

/// Words on one line that cannot drive the terminal.
fn line(text: &str) -> String {
    print::plain(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_followed_as_far_as_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", top.join("link")).unwrap();
        let real = |path: &str| real_path(&top.join(path));
        assert_eq!(real("link/new.conf"), Path::new("/etc/new.conf"));
        assert_eq!(real("new/er/a.rs"), top.join("new/er/a.rs"));
        assert_eq!(real("new/../a.rs"), top.join("a.rs"));
        assert_eq!(real("link/../x"), Path::new("/x"));
    }
}
