//! Usage examples shown in the help of each command.

const AGENTS: &str = "\
Examples:
  bosun agents start \"fix the failing test\" --permission-mode accept-edits
  bosun agents                               what needs you, what works, and what is done
  bosun agents attach 0198                   its conversation; Ctrl-D leaves, and it continues
  bosun agents send 0198 \"leave out the slow tests\"
  bosun agents logs 0198 --follow            what it does, without a conversation
  bosun agents stop 0198

An ID is the beginning of the session's id.";

const APPROVALS: &str = "\
Examples:
  bosun approvals                            pending calls and questions of every session
  bosun approvals show 2                     one call in full
  bosun approvals allow 2 3                  allows these two calls, and no others
  bosun approvals deny --all --reason \"not before the release\"
  bosun approvals always 2 --in user         allows it, and similar calls from now on
  bosun approvals answer 4 \"the left one\"

An ID is the number of a request, or the beginning of its id. Calls of one message run in order: an
allowed call runs once the calls before it are decided.";

const TASKS: &str = "\
Examples:
  bosun tasks                                tasks of the newest session of this folder
  bosun tasks --all --state running          running tasks of all sessions
  bosun tasks show tests                     one agent with its messages, turns and evidence
  bosun tasks tail tests                     its messages and tool calls, live
  bosun tasks send tests \"leave out the slow ones\"
  bosun tasks background tests               continues without waiting for it
  bosun tasks stop tests                     stops it and everything below it

A TASK is a path such as /root/tests, a name, an id, or the beginning of an id. Without --session,
it is a task of the newest session of this folder.";

const LISTS: &str = "\
Examples:
  bosun lists                                items of the newest session of this folder
  bosun lists --list project --status pending
  bosun lists add \"write the docs\" --list project --after 3
  bosun lists update 4 --owner tests --status in_progress
  bosun lists done 4 --version 2             only if it has not changed since
  bosun lists export --list project -o tasks.jsonl

A LIST is session, project, or team:NAME. The project list belongs to the folder that holds .git.";

const TODOS: &str = "\
Examples:
  bosun todos                                todos of this folder's newest session, and their status
  bosun todos ready                          todos that are ready to work on
  bosun todos watch                          live progress
  bosun todos graph                          dependencies; --mermaid and --dot for other programs
  bosun todos add \"Test the parser\" --depends-on parser --check \"cargo test parser\"
  bosun todos done parser
  bosun todos block release --reason \"no key\"
  bosun todos reopen release";

const EXPLAIN: &str = "\
Examples:
  bosun explain 'shell(git push)'
  bosun explain shell 'git push && rm x'
  bosun explain 'edit(src/main.rs)'
  bosun explain 'fetch(https://docs.rs/serde)'";

/// The examples of a command.
pub(super) fn examples(command: &str) -> Option<&'static str> {
    Some(match command {
        "sessions" => {
            "Examples:\n  bosun sessions --here                sessions of this folder\n  \
             bosun sessions show 0198             one session; the beginning of its id is enough\n  \
             bosun --resume 0198 -p \"continue\"   resume it"
        }
        "sessions list" => "Example:\n  bosun sessions list --here --json",
        "sessions show" => "Example:\n  bosun sessions show 0198",
        "sessions export" => "Example:\n  bosun sessions export 0198 --format json -o session.json",
        "sessions repair" => "Example:\n  bosun sessions repair 0198",
        "sessions rm" => "Example:\n  bosun sessions rm 0198 0199",
        "sessions send" => {
            "Examples:\n  bosun sessions send 0198 \"leave the tests alone\"\n  \
             bosun sessions send 0198 \"stop and explain\" --when interrupt"
        }
        "sessions interrupt" => "Example:\n  bosun sessions interrupt 0198",
        "sessions stop" => "Example:\n  bosun sessions stop 0198",
        "sessions watch" => "Example:\n  bosun sessions watch 0198 --after 40",
        "agents" => AGENTS,
        "agents list" => "Example:\n  bosun agents list --here --json",
        "agents start" => {
            "Examples:\n  bosun agents start \"fix the failing test\" --permission-mode accept-edits\n  \
             bosun agents start \"and the docs\" --resume 0198\n  \
             git diff | bosun agents start -"
        }
        "agents attach" => {
            "Examples:\n  bosun agents attach            the session that needs you\n  bosun agents attach 0198"
        }
        "agents logs" => "Example:\n  bosun agents logs 0198 --follow --tree",
        "agents send" => "Example:\n  bosun agents send 0198 \"use the other parser\" --when interrupt",
        "agents stop" => "Example:\n  bosun agents stop 0198",
        "agents resume" => "Example:\n  bosun agents resume 0198",
        "agents rm" => "Example:\n  bosun agents rm 0198 0199",
        "tasks" => TASKS,
        "tasks list" => "Example:\n  bosun tasks list --all --state running",
        "tasks show" => "Example:\n  bosun tasks show tests",
        "tasks tail" => "Example:\n  bosun tasks tail root --tree",
        "tasks send" => "Example:\n  bosun tasks send tests \"leave out the slow ones\"",
        "tasks stop" => "Example:\n  bosun tasks stop tests --now",
        "tasks output" => "Example:\n  bosun tasks output cargo",
        "tasks background" => "Example:\n  bosun tasks background tests",
        "tasks rm" => "Example:\n  bosun tasks rm /root/tests",
        "lists" => LISTS,
        "lists list" => "Example:\n  bosun lists list --list team:red --owner tests",
        "lists show" => "Example:\n  bosun lists show 4 --json",
        "lists add" => "Example:\n  bosun lists add \"write the docs\" --description \"all of them\" --after 3",
        "lists update" => "Example:\n  bosun lists update 4 --status in_progress --owner tests",
        "lists done" => "Example:\n  bosun lists done 4",
        "lists delete" => "Example:\n  bosun lists delete 4 --list project",
        "lists archive" => "Examples:\n  bosun lists archive 4\n  bosun lists archive --list project",
        "lists export" => "Example:\n  bosun lists export --list project -o tasks.jsonl",
        "lists import" => "Example:\n  bosun lists import tasks.jsonl --list project",
        "todos" => TODOS,
        "todos list" => "Example:\n  bosun todos list --status blocked",
        "todos ready" => "Example:\n  bosun todos ready --json",
        "todos graph" => "Examples:\n  bosun todos graph\n  bosun todos graph --dot | dot -Tsvg > plan.svg",
        "todos watch" => "Example:\n  bosun todos watch",
        "todos add" => "Example:\n  bosun todos add \"Write the manual\" --id manual --depends-on parser",
        "todos done" => "Example:\n  bosun todos done parser manual",
        "todos block" => "Example:\n  bosun todos block release --reason \"no key\"",
        "todos reopen" => "Example:\n  bosun todos reopen release",
        "mcp" => {
            "Examples:\n  bosun mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  \
             bosun mcp add tracker --url https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'\n  \
             bosun mcp test files                 starts it and lists its tools"
        }
        "mcp list" => "Example:\n  bosun mcp list --mcp-config servers.json",
        "mcp add" => "Example:\n  bosun mcp add files --in local -- npx -y @modelcontextprotocol/server-filesystem .",
        "mcp remove" => "Example:\n  bosun mcp remove files",
        "mcp test" => "Example:\n  bosun mcp test files --json",
        "mcp serve" => {
            "Examples:\n  claude mcp add bosun -- bosun mcp serve     Claude Code starts agents as tools\n  \
             bosun mcp serve --http 8765 --token-file ~/.bosun-token"
        }
        "mcp login" => "Example:\n  bosun mcp login tracker",
        "mcp logout" => "Example:\n  bosun mcp logout tracker",
        "mcp logs" => "Example:\n  bosun mcp logs files",
        "approvals" => APPROVALS,
        "approvals list" => "Example:\n  bosun approvals list --session 0198",
        "approvals show" => "Example:\n  bosun approvals show 2",
        "approvals allow" => "Examples:\n  bosun approvals allow 2 3\n  bosun approvals allow --session 0198",
        "approvals deny" => "Example:\n  bosun approvals deny 2 --reason \"use make\"",
        "approvals always" => "Example:\n  bosun approvals always 2 --rule 'shell(git *)'",
        "approvals answer" => "Example:\n  bosun approvals answer 4 \"the left one\"",
        "sdk serve" => {
            "Examples:\n  bosun sdk serve copilot --headless --stdio\n  \
             bosun sdk serve claude --output-format stream-json --input-format stream-json --verbose"
        }
        "sdk" => "Example:\n  bosun sdk install ~/.local/bin",
        "sdk install" => "Example:\n  bosun sdk install ~/.local/bin --json",
        "explain" => EXPLAIN,
        "fleet" => {
            "Examples:\n  bosun fleet \"make the parser accept any input\" --permission-mode accept-edits --allow 'shell(cargo test *)'\n  \
             bosun fleet run plan.yaml         work through a plan; finished todos are not done again\n  \
             bosun fleet status                its progress, from any terminal\n  \
             bosun fleet stop                  stop it\n  \
             bosun fleet resume                resume it\n\n\
             Exit codes: 0 everything is done, 1 nothing is done or there is no plan, 2 usage or config,\n\
             3 some todos are blocked or your branch could not move, 4 time limit, 5 stopped, 6 budget, 7 parked on a quota."
        }
        "fleet run" => "Example:\n  bosun fleet run plan.yaml --parallel 8 --allow-all",
        "fleet resume" => "Example:\n  bosun fleet resume 0198 --max-budget-usd 5",
        "fleet status" => "Example:\n  bosun fleet status --json",
        "fleet graph" => "Example:\n  bosun fleet graph --mermaid",
        "fleet stop" => "Example:\n  bosun fleet stop 0198",
        "fleet check" => "Example:\n  bosun fleet check plan.yaml --json",
        "fleet schema" => "Example:\n  bosun fleet schema > plan.schema.json",
        "serve" => {
            "Examples:\n  bosun serve                       any free port, and a new token\n  \
             bosun serve --port 4780 --token-file ~/.bosun-token\n  \
             bosun serve --status               the session host and its sessions\n  \
             bosun serve --replace              takes over from it\n  \
             bosun serve --openapi > bosun.json"
        }
        "service" => "Examples:\n  bosun service install\n  bosun service status",
        "service install" => "Examples:\n  bosun service install\n  bosun service install --no-start",
        "service uninstall" => "Example:\n  bosun service uninstall",
        "service status" => "Example:\n  bosun service status --json",
        "catalog" => {
            "Examples:\n  bosun catalog list                available agents and skills, and their sources\n  \
             bosun catalog check               errors in their definitions"
        }
        "catalog list" => "Example:\n  bosun catalog list --json",
        "catalog show" => "Example:\n  bosun catalog show explore",
        "catalog check" => "Example:\n  bosun catalog check --strict --plugin-dir ./my-plugin",
        "config" => "Example:\n  bosun config show --origin",
        "config show" => {
            "Examples:\n  bosun config show --origin        every setting, and where it comes from\n  \
             bosun config show --allow-all     as it would be with these flags"
        }
        "config path" => "Example:\n  bosun config path",
        "config check" => "Example:\n  bosun config check .bosun/config.toml",
        "config allow" => "Example:\n  bosun config allow 'shell(cargo test *)'",
        "config ask" => "Example:\n  bosun config ask 'shell(git push *)' --in user",
        "config deny" => "Example:\n  bosun config deny 'read(**/.env)' --in user",
        "import" => {
            "Examples:\n  bosun import claude               what Claude Code's files become in Bosun\n  \
             bosun import claude --write       write it; existing files are kept\n  \
             bosun import codex --json"
        }
        "trust" => {
            "Examples:\n  bosun trust --show                what the files of this project would change\n  \
             bosun trust --yes                 trust them as they are\n  \
             bosun trust --revoke"
        }
        "models" => {
            "Examples:\n  bosun models                     available models, and the keys they need\n  \
             bosun models --reopen            try providers again that told Bosun to wait"
        }
        "cost" => {
            "Examples:\n  bosun cost --since 24h           the last day, by model\n  \
             bosun cost --here --by session   this folder, by session\n  \
             bosun cost 0198 --by task --csv  one session, agent by agent, for a spreadsheet"
        }
        "gc" => "Example:\n  bosun gc --days 30 --dry-run     what would be removed",
        "checkouts" => "Example:\n  bosun checkouts --json",
        "checkouts rm" => "Example:\n  bosun checkouts rm 0198a7",
        "checkouts restore" => "Example:\n  bosun checkouts restore 0198a7",
        "demo" => "Example:\n  bosun demo --dir sample          keep the sample in ./sample",
        "doctor" => {
            "Examples:\n  bosun doctor                     check the installation, and suggest fixes\n  \
             bosun doctor --json              the same for programs; exit code 1 if a check failed"
        }
        "completions" => {
            "Examples:\n  bosun completions bash > ~/.local/share/bash-completion/completions/bosun\n  \
             bosun completions zsh > ~/.zfunc/_bosun\n  \
             bosun completions fish > ~/.config/fish/completions/bosun.fish"
        }
        "selftest" => {
            "Examples:\n  bosun selftest --chaos             a short one, in temporary folders\n  \
             bosun selftest --chaos --runs 1 --seed 42"
        }
        "man" => {
            "Examples:\n  bosun man | man -l -             read it now\n  \
             bosun man --dir ~/.local/share/man/man1"
        }
        "script" => "Example:\n  bosun script check fix.yaml",
        "script check" => "Example:\n  bosun script check tests/*.yaml",
        "script schema" => "Example:\n  bosun script schema > script.schema.json",
        _other => return None,
    })
}
