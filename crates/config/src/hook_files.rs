//! The files that a hook's command runs: programs and scripts that it names, and files that define a named task. They
//! are part of the hook, so they are trusted together with it, and agents may not change them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use protocol::{HookAction, HookProgram, HookSpec};
use shell_parser::{RedirectMode, ShellScript, ShellWord, SimpleCommand};

/// Programs that run a script file.
#[rustfmt::skip]
const INTERPRETERS: [&str; 30] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "python", "python2", "python3", "pypy3", "node",
    "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "awk", "gawk", "pwsh", "osascript", "Rscript",
    "uv", "java", "env",
];

/// Commands that read commands from a file or from input.
const COMMAND_READERS: [&str; 4] = [".", "source", "eval", "xargs"];

/// Programs whose tasks a file of the project defines.
const TASK_RUNNERS: [(&[&str], &[&str]); 8] = [
    (&["npm", "pnpm", "yarn", "bun"], &["package.json"]),
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task", "go-task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["rake"], &["Rakefile"]),
    (&["composer"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["mise"], &["mise.toml", ".mise.toml"]),
];

/// File extensions of scripts.
#[rustfmt::skip]
const SCRIPT_EXTENSIONS: [&str; 22] = [
    "sh", "bash", "zsh", "fish", "ksh", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php", "lua", "awk",
    "sed", "jq", "ps1", "r", "mk",
];

/// Expressions that expand to the project's top or the current folder.
const FOLDER_EXPRESSIONS: [&str; 8] = [
    "${CLAUDE_PROJECT_DIR}",
    "$CLAUDE_PROJECT_DIR",
    "${COPILOT_PROJECT_DIR}",
    "$COPILOT_PROJECT_DIR",
    "$(git rev-parse --show-toplevel)",
    "`git rev-parse --show-toplevel`",
    "$(pwd)",
    "$PWD",
];

/// Maximum number of words and folders examined per command.
const MAX_WORDS: usize = 256;
const MAX_FOLDERS: usize = 8;

/// A file that a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HookFile {
    /// The path, relative to the hook's folder unless the command has an absolute path.
    pub(crate) path: PathBuf,
    pub(crate) role: HookFileRole,
}

/// How a hook uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HookFileRole {
    /// It is run.
    Script,
    /// It defines tasks, among other things that agents may have to change.
    Tasks,
}

impl HookFile {
    /// Its full path for a hook that runs in this folder.
    pub(crate) fn full_path(&self, folder: &Path) -> PathBuf {
        normalize_lexically(&folder.join(&self.path))
    }
}

/// The files that a hook of the project with this top runs. Programs that do not exist are included, since an agent
/// could create them.
pub(crate) fn files_run(action: &HookAction, top: &Path, user: Option<&Path>) -> BTreeSet<HookFile> {
    let HookAction::Command { command, cwd, env } = action else { return BTreeSet::new() };
    let folder = cwd.as_ref().map_or_else(|| top.to_owned(), |cwd| top.join(cwd));
    let mut text = command.clone();
    for (name, value) in env {
        text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    for word in FOLDER_EXPRESSIONS {
        let folder_of_word = if word.contains("pwd") || word.contains("PWD") { &folder } else { top };
        text = text.replace(word, &folder_of_word.display().to_string());
    }
    if let Some(user) = user {
        let user = user.display().to_string();
        text = text.replace("${HOME}", &user).replace("$HOME", &user).replace(" ~/", &format!(" {user}/"));
        text = text.strip_prefix("~/").map(|rest| format!("{user}/{rest}")).unwrap_or(text);
    }
    let script = shell_parser::parse(&text);
    let mut scan = CommandScan { folder, found: BTreeSet::new(), folders: vec![PathBuf::new()], paths: Vec::new() };
    scan.scan(&script, &text, env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    scan.found
}

/// The project's files that a hook runs, with their current digests.
pub(crate) fn pinned_programs(spec: &HookSpec, top: &Path) -> Vec<HookProgram> {
    let HookAction::Command { cwd, .. } = &spec.action else { return Vec::new() };
    let folder = cwd.as_ref().map_or_else(|| top.to_owned(), |cwd| top.join(cwd));
    let all = files_run(&spec.action, top, None).into_iter();
    let inside = all.filter(|program| program.full_path(&folder).starts_with(top));
    let pin = |program: HookFile| HookProgram {
        digest: hooks::program_digest(&program.full_path(&folder)),
        path: program.path.display().to_string(),
    };
    inside.map(pin).collect()
}

/// Collects the files that a command runs.
struct CommandScan {
    /// The folder it runs in.
    folder: PathBuf,
    /// Folders that it may change to, relative to `folder`.
    folders: Vec<PathBuf>,
    /// Folders on its `PATH`.
    paths: Vec<PathBuf>,
    /// The files found so far.
    found: BTreeSet<HookFile>,
}

impl CommandScan {
    fn scan<'a>(&mut self, script: &ShellScript, text: &str, env: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
        let words: Vec<&str> = text.split(is_separator).filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
        let values =
            env.clone().flat_map(|(_, value)| value.split([':', '=', ' ', ','])).filter(|value| !value.is_empty());
        let own = env.filter(|(name, _)| *name == "PATH").map(|(_, value)| value.to_owned());
        let set = script.commands.iter().flat_map(|simple| &simple.assignments).filter(|(name, _)| name == "PATH");
        for path in own.chain(set.map(|(_, value)| word_text(value).to_owned())) {
            self.paths
                .extend(path.split(':').filter(|path| !path.is_empty() && !path.starts_with('$')).map(PathBuf::from));
        }
        for word in &words {
            let is_new = !self.folders.iter().any(|known| known == Path::new(word));
            if is_new && self.folders.len() < MAX_FOLDERS && *word != "/" && self.folder.join(word).is_dir() {
                self.folders.push(PathBuf::from(word));
            }
        }
        for simple in &script.commands {
            self.scan_command(simple);
        }
        let runs_input = script.commands.iter().any(reads_commands) || !script.unclear.is_empty();
        if runs_input {
            let args = script.commands.iter().flat_map(|simple| simple.args.iter().map(word_text));
            let read = script.files.iter().filter(|redirect| redirect.mode == RedirectMode::Read);
            for word in args.chain(read.map(|redirect| word_text(&redirect.file))) {
                self.add_existing(word, |_path| true);
            }
        }
        for word in words.into_iter().chain(values) {
            self.add_existing(word, is_script);
            word.split(['=', ':', ',', '@']).for_each(|piece| self.add_existing(piece, is_script));
        }
    }

    fn scan_command(&mut self, simple: &SimpleCommand) {
        let name = simple.name.as_str();
        let base = name.rsplit('/').next().unwrap_or(name);
        if name.contains('/') {
            self.add_program(name);
        } else {
            let places: Vec<PathBuf> = self.paths.iter().map(|path| path.join(name)).collect();
            places.iter().for_each(|place| self.add_program(&place.to_string_lossy()));
        }
        simple.wrappers.iter().filter(|through| through.contains('/')).for_each(|through| self.add_program(through));
        if INTERPRETERS.contains(&base) || COMMAND_READERS.contains(&base) {
            self.add_script(&simple.args);
        }
        if ["npx", "pnpx", "bunx"].contains(&base) {
            let bins = simple.args.iter().map(word_text).map(|word| format!("node_modules/.bin/{word}"));
            bins.for_each(|bin| self.add_existing(&bin, |_path| true));
        }
        for (_, files) in TASK_RUNNERS.iter().filter(|(runners, _)| runners.contains(&base)) {
            for folder in self.folders.clone() {
                let existing =
                    files.iter().map(|file| folder.join(file)).filter(|file| self.folder.join(file).is_file());
                let tasks: Vec<HookFile> = existing.map(|path| HookFile { path, role: HookFileRole::Tasks }).collect();
                self.found.extend(tasks);
            }
        }
    }

    /// Adds what an interpreter runs: the first word that is not an option, or a module.
    fn add_script(&mut self, args: &[ShellWord]) {
        let words: Vec<&str> = args.iter().map(word_text).collect();
        if let Some(module) = words.iter().skip_while(|word| **word != "-m").nth(1) {
            let path = module.replace('.', "/");
            [format!("{path}.py"), format!("{path}/__main__.py")]
                .iter()
                .for_each(|file| self.add_existing(file, |_| true));
        }
        let subcommands = ["run", "exec", "tool"];
        let operand = words.iter().find(|word| !word.starts_with('-') && !subcommands.contains(word));
        if let Some(operand) = operand {
            self.add_program(operand);
            for end in [".js", ".mjs", ".cjs", ".ts", ".py", "/index.js", "/__main__.py", "/package.json"] {
                self.add_existing(&format!("{operand}{end}"), |_path| true);
            }
        }
    }

    /// Adds a word that names a program, whether it exists or not.
    fn add_program(&mut self, word: &str) {
        for folder in self.folders.clone() {
            let path = normalize_lexically(&folder.join(word));
            let full = self.folder.join(&path);
            // A folder is not a program.
            if !full.is_dir() && !path.as_os_str().is_empty() && (folder.as_os_str().is_empty() || full.exists()) {
                self.found.insert(HookFile { path, role: HookFileRole::Script });
            }
        }
    }

    /// Adds a word that names an existing file of this kind.
    fn add_existing(&mut self, word: &str, is_fit: impl Fn(&Path) -> bool) {
        for folder in self.folders.clone() {
            let path = normalize_lexically(&folder.join(word));
            let full = self.folder.join(&path);
            if full.is_file() && is_fit(&full) {
                self.found.insert(HookFile { path, role: HookFileRole::Script });
            }
        }
    }
}

/// Whether a command runs its input rather than a file that it names.
fn reads_commands(simple: &SimpleCommand) -> bool {
    let base = simple.name.rsplit('/').next().unwrap_or(&simple.name);
    let names_none = || simple.args.iter().map(word_text).all(|word| word.starts_with('-'));
    COMMAND_READERS.contains(&base) || (INTERPRETERS.contains(&base) && names_none())
}

/// Whether a file is a script, judging by its extension, mode or `#!` line.
pub(crate) fn is_script(path: &Path) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    if end.is_some_and(|end| SCRIPT_EXTENSIONS.contains(&end.as_str())) {
        return true;
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0) {
        return true;
    }
    let mut start = [0; 2];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || ";|&()<>\"'`{}$".contains(c)
}

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text.trim_matches(['"', '\'']),
    }
}

/// Resolves `.` and `..` in a path as text, without looking at links.
fn normalize_lexically(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        let leaves_name = matches!(tidy.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if leaves_name => drop(tidy.pop()),
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => tidy.push(part),
        }
    }
    tidy
}
