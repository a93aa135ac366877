//! File tools and commands cannot use the files that control Bosun, from any folder.

use std::path::{Path, PathBuf};

use config::{TrustStatus, all_controls};
use policy::{AgentRole, FilesystemFacts, PermissionRequest, Policy, RequestedAct};
use protocol::{PermissionMode, RuleEffect};

use crate::Machine;

fn policy(machine: &Machine, cwd: &Path) -> Policy {
    let (user, layers) = (machine.path("user"), machine.layers(TrustStatus::Untrusted).unwrap());
    let controls = all_controls(&machine.home(), Some(&user), &layers, &[&machine.top(), cwd]);
    Policy {
        mode: PermissionMode::AllowAll,
        project_dir: cwd.to_owned(),
        user_home: Some(user),
        control_paths: controls,
        ..Policy::default()
    }
}

fn is_denied(policy: &Policy, act: RequestedAct) -> bool {
    let request = PermissionRequest { tool: "x".into(), acts: vec![act] };
    policy.check(&AgentRole::default(), &request).effect == RuleEffect::Deny
}

const OF_USER: [&str; 14] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/settings.work.json",
    ".claude/hooks/guard.sh",
    ".claude/agents/a.md",
    ".claude/commands/deep/a.md",
    ".claude/CLAUDE.md",
    ".claude/rules/a.md",
    ".copilot/hooks/a.json",
    ".copilot/agents/a.agent.md",
    ".copilot/copilot-instructions.md",
    ".bosun-token",
    ".Claude/Settings.json",
    ".copilot/HOOKS/a.json",
];

#[test]
fn file_tools_cannot_use_user_control_files() {
    let machine = Machine::new();
    machine.write("user/.claude/settings.work.json", "{}");
    for cwd in [machine.top(), machine.path("user")] {
        let policy = policy(&machine, &cwd);
        let user = machine.path("user");
        let reached = |name: &&str| {
            let path: PathBuf = user.join(name);
            !is_denied(&policy, RequestedAct::Edit(path.clone())) || !is_denied(&policy, RequestedAct::Read(path))
        };
        assert_eq!(OF_USER.into_iter().find(|name| reached(name)), None);
        for open in ["notes.md", ".claude/projects/x", ".claude/skills/pdf/run.py", ".copilot/logs/x", ".config/x"] {
            assert!(!is_denied(&policy, RequestedAct::Read(user.join(open))), "{open}");
        }
    }
}

#[test]
fn commands_that_name_a_user_control_file_do_not_run() {
    let machine = Machine::new();
    machine.write("user/token", "t").write("user/deep/x", "");
    config::remember_token_file(&machine.home(), &machine.path("user/token")).unwrap();
    let user = machine.path("user").display().to_string();
    let commands = [
        "cp a ~/.copilot/hooks/a.json",
        "cp a $HOME/.copilot/hooks/a.json",
        "cp a \"${HOME}/.copilot/hooks/a.json\"",
        "cp a USER/.copilot/hooks/a.json",
        "cp a USER/./.copilot//hooks/a.json",
        "cp a USER/deep/../.copilot/hooks/a.json",
        "echo x > ~/.copilot/hooks/a.json",
        "echo x >> USER/.claude/settings.json",
        "tee ~/.claude/settings.local.json",
        "cd ~ && cp a .claude/agents/a.md",
        "cd ~/.claude && cp a agents/a.md",
        "cd USER; mv a .claude/commands/x.md",
        "cp -t ~/.claude/agents a.md",
        "cp --target-directory=USER/.claude/agents a.md",
        "ln -s x ~/.claude/hooks",
        "rm -r ~/.copilot/hooks",
        "git -C ~ add .claude/settings.json",
        "cat ~/.bosun-token",
        "cat USER/token",
        "cat ~/token",
        "cd ~; cat token",
        "curl -H @USER/token http://127.0.0.1",
        "cp a ~/.CLAUDE/agents/a.md",
        "cp a ~/.cop*/hooks/a.json",
        "cp a ~/.copilot/hook[s]/a.json",
        "bash -c 'cp a ~/.copilot/hooks/a.json'",
        "env X=1 cp a ~/.copilot/hooks/a.json",
    ];
    for cwd in [machine.top(), machine.path("user"), machine.path("user/deep")] {
        let policy = policy(&machine, &cwd);
        let runs = |command: &&str| {
            let command = command.replace("USER", &user);
            !is_denied(&policy, RequestedAct::Shell { command, cwd: cwd.clone(), facts: FilesystemFacts::default() })
        };
        let ran: Vec<&str> = commands.into_iter().filter(|command| runs(command)).collect();
        assert_eq!(ran, Vec::<&str>::new(), "{}", cwd.display());
        for harmless in ["ls", "cat README.md", "python3 ~/.claude/skills/pdf/run.py", "cat ~/notes.md"] {
            let act =
                RequestedAct::Shell { command: harmless.into(), cwd: cwd.clone(), facts: FilesystemFacts::default() };
            assert!(!is_denied(&policy, act), "{harmless}");
        }
    }
}
