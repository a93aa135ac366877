use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use protocol::SettingsFileScope;

use super::read::MAX_FILE_BYTES;
use super::{InstructionPlaces, Instructions};

/// A home folder with a repository in it that other people could have written.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        for folder in ["user/.bosun", "user/.ssh", "repo/.git", "repo/a/b"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        machine.write("user/.ssh/id", "SECRET");
        machine
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, cwd: &str) -> Instructions {
        self.read_where(cwd, &|_path| true)
    }

    fn read_where(&self, cwd: &str, may_read: &dyn Fn(&Path) -> bool) -> Instructions {
        self.read_scopes(cwd, may_read, &SettingsFileScope::ALL)
    }

    fn read_scopes(&self, cwd: &str, may_read: &dyn Fn(&Path) -> bool, scopes: &[SettingsFileScope]) -> Instructions {
        let (cwd, home, user) = (self.path(cwd), self.path("user/.bosun"), self.path("user"));
        let top = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd).to_owned();
        let places = InstructionPlaces { cwd: &cwd, project_dir: &top, home: &home, user_home: Some(&user), may_read };
        Instructions::read_scopes(&places, scopes)
    }
}

fn texts(found: &Instructions) -> Vec<&str> {
    found.files.iter().map(|file| file.text.as_str()).collect()
}

fn notices(found: &Instructions) -> Vec<&str> {
    found.notices.iter().map(|notice| notice.text.as_str()).collect()
}

#[test]
fn only_the_files_of_the_named_scopes_are_read() {
    let machine = Machine::new();
    machine.write("user/.bosun/AGENTS.md", "user");
    machine.write("user/.claude/CLAUDE.md", "user's claude");
    machine.write("repo/AGENTS.md", "project");
    machine.write("repo/CLAUDE.local.md", "local");
    machine.write("repo/.claude/rules/a.md", "rule");
    let read = |scopes: &[SettingsFileScope]| {
        let found = machine.read_scopes("repo", &|_path| true, scopes);
        texts(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), [""; 0]);
    assert_eq!(read(&[SettingsFileScope::User]), ["user", "user's claude"]);
    assert_eq!(read(&[SettingsFileScope::Project]), ["project", "rule"]);
    assert_eq!(read(&[SettingsFileScope::Local]), ["local"]);
}

#[test]
fn files_come_from_the_top_of_the_repository_down_and_not_from_above() {
    let machine = Machine::new();
    machine.write("AGENTS.md", "not ours");
    machine.write("repo/AGENTS.md", "top");
    machine.write("repo/.github/copilot-instructions.md", "github");
    machine.write("repo/a/b/CLAUDE.md", "near");
    machine.write("repo/a/b/AGENTS.md", "top");
    assert_eq!(texts(&machine.read("repo/a/b")), ["top", "github", "near"]);
}

#[test]
fn outside_a_repository_only_the_folder_itself_counts() {
    let machine = Machine::new();
    machine.write("plain/AGENTS.md", "above");
    machine.write("plain/a/AGENTS.md", "here");
    assert_eq!(texts(&machine.read("plain/a")), ["here"]);
}

#[test]
fn a_repository_of_another_user_above_is_not_read() {
    let machine = Machine::new();
    machine.write("repo/AGENTS.md", "a stranger's");
    machine.write("repo/a/AGENTS.md", "mine");
    let (cwd, home) = (machine.path("repo/a"), machine.path("user/.bosun"));
    // The project of this folder is the folder itself, since the repository above belongs to another user.
    let places =
        InstructionPlaces { cwd: &cwd, project_dir: &cwd, home: &home, user_home: None, may_read: &|_path| true };
    assert_eq!(texts(&Instructions::read(&places)), ["mine"]);
}

#[test]
fn unreadable_and_altered_files_are_reported() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("repo/AGENTS.md")).unwrap();
    fs::write(machine.path("repo/CLAUDE.md"), [b'o', b'k', 0xff]).unwrap();
    machine.write("repo/.github/copilot-instructions.md", &"x".repeat(MAX_FILE_BYTES + 5));
    let found = machine.read("repo");
    let notices = notices(&found);
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(notices[0].contains("not a regular file"));
    assert!(notices[1].contains("UTF-8"));
    assert!(notices[2].contains("longer than"));
    assert!(found.files.iter().all(|file| file.text.len() <= MAX_FILE_BYTES));
}

/// Every way by which a clone could bring a file of the user's into the first request.
#[test]
fn no_file_of_a_project_leads_out_of_it() {
    type Attack = (&'static str, fn(&Machine));
    let names = ["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".github/copilot-instructions.md"];
    let scoped = [".claude/rules/x.md", ".github/instructions/x.instructions.md"];
    for name in names.into_iter().chain(scoped) {
        let targets = [
            "../user/.ssh/id",
            "../../user/.ssh/id",
            "../../../user/.ssh/id",
            "/proc/self/environ",
            "/etc/passwd",
            "/dev/zero",
            "x.md",
        ];
        for target in targets {
            let machine = Machine::new();
            machine.write(&format!("repo/{name}"), "");
            fs::remove_file(machine.path(&format!("repo/{name}"))).unwrap();
            symlink(target, machine.path(&format!("repo/{name}"))).unwrap();
            let found = machine.read("repo");
            assert_eq!((found.files.len(), found.notices.len()), (0, 1), "{name} -> {target}");
        }
    }
    let attacks: [Attack; 14] = [
        ("an absolute link", |m| symlink(m.path("user/.ssh/id"), m.path("repo/AGENTS.md")).unwrap()),
        ("a link by way of a link", |m| {
            symlink("b", m.path("repo/AGENTS.md")).unwrap();
            symlink(m.path("user/.ssh/id"), m.path("repo/b")).unwrap();
        }),
        ("a link with the ending of a text", |m| {
            fs::rename(m.path("user/.ssh/id"), m.path("user/notes.md")).unwrap();
            symlink("../user/notes.md", m.path("repo/AGENTS.md")).unwrap();
        }),
        ("a folder that is a link", |m| {
            m.write("user/dir/copilot-instructions.md", "SECRET");
            symlink("../user/dir", m.path("repo/.github")).unwrap();
        }),
        ("a folder of rules that is a link", |m| {
            m.write("user/dir/x.md", "SECRET");
            fs::create_dir(m.path("repo/.claude")).unwrap();
            symlink(m.path("user/dir"), m.path("repo/.claude/rules")).unwrap();
        }),
        ("a folder among rules that is a link", |m| {
            m.write("user/dir/x.md", "SECRET");
            fs::create_dir_all(m.path("repo/.claude/rules")).unwrap();
            symlink(m.path("user/dir"), m.path("repo/.claude/rules/more")).unwrap();
        }),
        ("an import upwards", |m| m.write("repo/CLAUDE.md", "@../user/.ssh/id")),
        ("an import at home", |m| m.write("repo/CLAUDE.md", "@~/.ssh/id")),
        ("an absolute import", |m| {
            let id = m.path("user/.ssh/id");
            m.write("repo/CLAUDE.md", &format!("@{}", id.display()));
        }),
        ("an import down and up again", |m| m.write("repo/CLAUDE.md", "@a/b/../../../user/.ssh/id")),
        ("an import of a link", |m| {
            m.write("repo/CLAUDE.md", "@notes.md");
            symlink("../user/.ssh/id", m.path("repo/notes.md")).unwrap();
        }),
        ("an import behind a folder that is a link", |m| {
            m.write("repo/CLAUDE.md", "@docs/id");
            symlink("../user/.ssh", m.path("repo/docs")).unwrap();
        }),
        ("an import by way of an import", |m| {
            m.write("repo/CLAUDE.md", "@a/one.md");
            m.write("repo/a/one.md", "@../../user/.ssh/id");
        }),
        ("a link among the rules", |m| {
            fs::create_dir_all(m.path("repo/.claude/rules")).unwrap();
            symlink("../../../user/.ssh/id", m.path("repo/.claude/rules/x.md")).unwrap();
        }),
    ];
    for (what, attack) in attacks {
        let machine = Machine::new();
        attack(&machine);
        let found = machine.read("repo");
        assert!(texts(&found).iter().all(|text| !text.contains("SECRET")), "{what}: {found:?}");
    }
}

/// The user's own secrets in the project are not instructions either.
#[test]
fn neither_links_nor_imports_include_hidden_or_forbidden_files() {
    let machine = Machine::new();
    machine.write("repo/.env", "SECRET");
    machine.write("repo/key.pem", "SECRET");
    machine.write("repo/private/notes.md", "SECRET");
    machine.write("repo/CLAUDE.md", "Words @.env @private/notes.md");
    symlink(".env", machine.path("repo/AGENTS.md")).unwrap();
    symlink("key.pem", machine.path("repo/CLAUDE.local.md")).unwrap();
    let private = machine.path("repo/private");
    let found = machine.read_where("repo", &|path| !path.starts_with(&private));
    assert_eq!(texts(&found), ["Words @.env @private/notes.md"]);
    assert_eq!(found.notices.len(), 4, "{:?}", found.notices);
}

#[test]
fn neither_sockets_nor_huge_files_are_read_whole() {
    let machine = Machine::new();
    let _socket = std::os::unix::net::UnixListener::bind(machine.path("repo/AGENTS.md")).unwrap();
    fs::File::create(machine.path("repo/CLAUDE.md")).unwrap().set_len(1 << 40).unwrap();
    let found = machine.read("repo");
    assert!(notices(&found)[0].contains("not a regular file"), "{found:?}");
    assert!(notices(&found)[1].contains("longer than"));
}

#[test]
fn a_file_of_another_user_in_a_shared_folder_is_not_read() {
    let machine = Machine::new();
    machine.write("repo/AGENTS.md", "a stranger's");
    // Only root can give files away.
    if std::os::unix::fs::chown(machine.path("repo/AGENTS.md"), Some(65_534), None).is_err() {
        return;
    }
    let found = machine.read("repo");
    assert_eq!((texts(&found), notices(&found)), (vec![], vec!["not read: it belongs to another user"]));
}

#[test]
fn a_link_to_another_instruction_file_of_the_project_is_that_file() {
    let machine = Machine::new();
    machine.write("repo/docs/AGENTS.md", "words");
    symlink("docs/AGENTS.md", machine.path("repo/AGENTS.md")).unwrap();
    symlink("AGENTS.md", machine.path("repo/CLAUDE.md")).unwrap();
    let found = machine.read("repo");
    assert_eq!((texts(&found), notices(&found)), (vec!["words"], vec![]));
}

#[test]
fn the_users_files_may_link_and_import_anywhere() {
    let machine = Machine::new();
    machine.write("user/.bosun/AGENTS.md", "home");
    machine.write("user/dotfiles/claude.md", "mine @~/more.md and me@example.com `@code.md`\n```\n@fenced.md\n```");
    machine.write("user/more.md", "more");
    machine.write("user/.copilot/copilot-instructions.md", "copilot");
    fs::create_dir_all(machine.path("user/.claude")).unwrap();
    symlink(machine.path("user/dotfiles/claude.md"), machine.path("user/.claude/CLAUDE.md")).unwrap();
    let found = machine.read("repo");
    assert_eq!(found.files.len(), 4, "{found:?}");
    assert_eq!((texts(&found)[0], texts(&found)[2], texts(&found)[3]), ("home", "more", "copilot"));
    assert_eq!(notices(&found), Vec::<&str>::new());
}

#[test]
fn imports_and_rules_are_read_with_their_scopes() {
    let machine = Machine::new();
    machine.write("repo/CLAUDE.md", "See @docs/style.md, (@README.md) and @nobody.");
    machine.write("repo/docs/style.md", "style @./deep.md");
    machine.write("repo/docs/deep.md", "deep @style.md");
    machine.write("repo/README.md", "readme");
    machine.write("repo/CLAUDE.local.md", "local");
    machine.write("repo/.claude/rules/all.md", "for all");
    machine.write("repo/.claude/rules/sub/api.md", "---\npaths:\n  - \"src/api/**\"\n  - x.rs\n---\napi");
    machine.write("repo/.github/instructions/ts.instructions.md", "---\napplyTo: '**/*.ts'\n---\nts");
    machine.write("repo/.github/instructions/notes.md", "not one");
    let found = machine.read("repo/a");
    let texts_and_scopes: Vec<(&str, Option<&str>)> =
        found.files.iter().map(|file| (file.text.as_str(), file.scope.as_deref())).collect();
    assert_eq!(
        texts_and_scopes,
        [
            ("See @docs/style.md, (@README.md) and @nobody.", None),
            ("style @./deep.md", None),
            ("deep @style.md", None),
            ("readme", None),
            ("local", None),
            ("for all", None),
            ("api", Some("src/api/**, x.rs")),
            ("ts", Some("**/*.ts")),
        ]
    );
    assert_eq!(notices(&found), Vec::<&str>::new());
}
