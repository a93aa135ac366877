//! Which programs commands start, by example.

use bosun_shell_parser::{RedirectMode, ShellScript, ShellWord, parse};

/// A script in one line: `?` if it is unclear; its commands with their wrappers, and `!` if risky; its files.
fn shown(script: &ShellScript) -> String {
    let unclear = script.unclear.iter().take(1).map(|_| "?".to_owned());
    let commands = script.commands.iter().map(|command| {
        let through: String = command.wrappers.iter().map(|name| format!("{name}:")).collect();
        format!("{through}{}{}", command.name, if command.risks.is_empty() { "" } else { "!" })
    });
    let files = script.files.iter().map(|file| {
        let sign = match file.mode {
            RedirectMode::Read => '<',
            RedirectMode::Write => '>',
        };
        match &file.file {
            ShellWord::Known(path) => format!("{sign}{path}"),
            ShellWord::Glob(path) => format!("{sign}glob {path}"),
            ShellWord::Unknown(path) => format!("{sign}unknown {path}"),
        }
    });
    unclear.chain(commands).chain(files).collect::<Vec<_>>().join(", ")
}

pub(crate) fn check(table: &[(&str, &str)]) {
    for (command, expected) in table {
        let script = parse(command);
        assert_eq!(shown(&script), *expected, "{command:?}: {script:#?}");
    }
}

#[test]
fn quotes_are_removed_from_plain_commands() {
    check(&[
        ("ls -la", "ls"),
        ("git status", "git"),
        ("/usr/bin/git log --oneline -5", "/usr/bin/git"),
        ("'ls' -l", "ls"),
        (r"l\s", "ls"),
        (r#""l"s''"#, "ls"),
        ("$'ls' x", "ls"),
        ("ls    -l\t-a", "ls"),
        ("ls # rm x", "ls"),
        ("ls #' rm x", "ls"),
        ("echo a#b", "echo"),
        ("ls;", "ls"),
        ("ls &", "ls"),
        ("true", "true"),
        ("[ -f x ]", "["),
        ("test -d y", "test"),
        (": > empty", ":, >empty"),
        ("> only", ">only"),
        ("{a,b}.txt", "?, a.txt"),
        ("echo {a,b}.txt", "echo"),
        (r#"echo "it's" 'say "hi"'"#, "echo"),
        (r#"echo \$HOME \"x\""#, "echo"),
        ("ls \\\n  src", "ls"),
    ]);
}

#[test]
fn every_command_of_lists_and_pipelines_counts() {
    check(&[
        ("git status && cargo test 2>&1 | tail -5", "git, cargo, tail"),
        ("a | b |& c", "a, b, c"),
        ("a; b\n c & d || e", "a, b, c, d, e"),
        ("! grep -q x y", "grep"),
        ("time make -j4", "make"),
        ("time -p ls | wc -l", "ls, wc"),
        ("(cd x; ls) && { cat y; rm z; }", "cd, ls, cat, rm"),
        ("a\nb\n\nc", "a, b, c"),
    ]);
}

#[test]
fn commands_in_loops_branches_and_functions_count() {
    check(&[
        ("if [ -f x ]; then cat x; elif test -d y; then ls; else rm z; fi", "[, cat, test, ls, rm"),
        ("while read -r line; do wc -l; done < in.txt", "read, wc, <in.txt"),
        ("until false; do sleep 1; done", "false, sleep"),
        ("for f in a b; do head x; done", "head"),
        ("select f in a b; do head x; done", "head"),
        ("case x in a|b) ls;; (c) cat;& *) rm y;; esac", "ls, cat, rm"),
        ("f() { rm -rf x; }; f", "rm, f"),
        ("function g { curl x; }", "curl"),
        ("f() ( ls )", "ls"),
        ("coproc cat", "cat"),
        ("[[ -f x && ( $y == z* || -n $(id) ) ]] && ls", "id, ls"),
        ("if (a) then b; fi", "?, a, b"),
    ]);
}

#[test]
fn substitutions_count_anywhere_in_a_command() {
    check(&[
        ("echo $(date)", "date, echo!"),
        ("echo `date`", "date, echo!"),
        (r#"echo "$(git log | head)""#, "git, head, echo!"),
        (r#"echo "a `whoami` b""#, "whoami, echo"),
        ("diff <(ls a) <(sort b)", "ls, sort, diff"),
        ("ls > >(wc)", "wc, ls"),
        ("echo ${x:-$(id)}", "id, echo!"),
        ("echo ${x%%$(id)}", "id, echo!"),
        ("x=$(curl y)", "curl"),
        ("x=1 ls", "ls!"),
        ("LANG=C ls", "ls"),
        ("a=(1 $(id)); ls", "id, ls"),
        (r#"cat <<< "$(id)""#, "id, cat"),
        ("[[ $(id) = x ]]", "id"),
        ("for i in $(seq 3); do ls; done", "seq, ls"),
        ("case $(uname) in *) ls;; esac", "uname, ls"),
        (r#"echo "$(echo "$(id)")""#, "id, echo!, echo!"),
        ("echo $(< file)", "echo!, <file"),
        ("echo $((1 + (2 * 3)))", "echo!"),
    ]);
}

#[test]
fn here_documents_are_read_as_the_shell_does() {
    check(&[
        ("cat <<EOF\nhello $(whoami) `id`\nEOF", "cat, whoami, id"),
        ("cat <<'EOF' | grep x > out\nhello $(whoami)\nEOF", "cat, grep, >out"),
        ("cat <<EOF && ls\nx\nEOF", "cat, ls"),
        ("cat <<-EOF\n\tx\n\tEOF", "cat"),
        ("cat <<\\EOF\n$(id)\nEOF", "cat"),
        ("cat <<A <<B\n$(a)\nA\n$(b)\nB\nls", "?, cat, a, b, ls"),
        ("cat <<EOF\n$(id)\n EOF", "?, cat"),
        ("cat <<EOF\nx", "?, cat"),
        ("python3 - <<'PY'\nprint(1)\nPY", "python3!"),
        ("bash <<EOF\nls\nEOF", "bash!"),
        ("bash <<< 'rm x'", "bash!"),
        ("cat <<EOF\nEO\\\nF\nrm x\nEOF", "?, cat"),
        ("cat <<EOF $(id)\nx\nEOF", "?, cat"),
        ("ls <<EOF\n${x:-$(id)}\nEOF\nrm x", "ls, id, rm"),
        ("cat <<$x\ny\n$x", "?, cat"),
        ("cat <<EOF\n\\$(id)\nEOF", "?, cat"),
        ("$(cat <<EOF\nx\nEOF\n)", "?, cat"),
        ("(cat <<EOF)\nx\nEOF\nrm y", "?, cat, rm"),
        ("cat <<EOF; rm y\nx\nEOF", "?, cat, rm"),
    ]);
}

#[test]
fn files_that_the_shell_opens_are_listed() {
    check(&[
        ("ls > out 2>&1", "ls, >out"),
        ("ls >> out 2>> err", "ls, >out, >err"),
        ("ls >| out < in", "ls, >out, <in"),
        ("ls &> out", "ls, >out"),
        ("ls &>> out", "ls, >out"),
        ("ls >& out", "ls, >out"),
        ("ls 2>/dev/null >&2 <&-", "ls"),
        (r#"ls > "$out""#, r#"ls, >unknown "$out""#),
        ("ls > ~/x", "ls, >unknown ~/x"),
        ("ls > src/*.rs", "ls, >glob src/*.rs"),
        ("ls {fd}> out", "ls, >out"),
        ("ls > /dev/fd/../x", "ls, >/dev/fd/../x"),
        ("cd x && ls > out", "cd, ls, >unknown out"),
        ("cd x && ls > /out && ./run", "cd, ls, ./run!, >/out"),
    ]);
}

#[test]
fn wrapped_commands_are_found() {
    check(&[
        ("env", "env"),
        ("env LANG=C ls", "env:ls"),
        ("env A=1 ls", "env:ls!"),
        ("env -i -u X -C /tmp ls", "env!, env:ls"),
        ("env - ls", "env!, env:ls"),
        ("env -S 'ls -l'", "?, env"),
        ("nohup nice -n 5 timeout -k 1 5s ls", "nohup:nice:timeout:ls"),
        ("/usr/bin/env ls", "/usr/bin/env:ls"),
        ("./env ls", "./env, ./env:ls"),
        ("ionice -c 3 stdbuf -oL ls", "ionice:stdbuf:ls"),
        ("setsid -f ls", "setsid:ls"),
        ("chrt -f 10 ls", "chrt:ls"),
        ("taskset -c 0 ls", "taskset:ls"),
        ("command ls", "command:ls"),
        ("command -v ls", "command"),
        ("builtin cd x", "builtin:cd"),
        ("exec ls", "exec:ls"),
        ("exec -a x ls", "?, exec"),
        ("exec 3> out", "exec, >out"),
        ("sudo rm x", "sudo, sudo:rm"),
        ("sudo -u bob env A=1 rm x", "sudo, sudo:env:rm!"),
        ("sudo -i", "?, sudo"),
        ("doas rm x", "doas, doas:rm"),
        ("busybox wget x", "busybox:wget"),
        ("xargs", "xargs:echo!"),
        ("xargs -0 -n1 rm -f", "xargs:rm!"),
        ("xargs -I{} rm {}", "xargs:rm!"),
        ("xargs -I{} sh -c 'rm {}'", "?, xargs:sh!"),
        ("xargs env", "xargs:env!"),
        ("find . -name '*.rs'", "find"),
        (r"find . -exec rm {} \;", "find, find:rm!"),
        ("find . -execdir sh -c 'ls' {} +", "find, find:sh:ls"),
        (r"find . -exec grep -q x {} \; -ok rm {} \;", "find, find:grep!, find:rm!"),
        ("find . -exec rm {}", "?, find"),
        (r"find . -name -exec -o -exec rm {} \;", "?, find"),
        ("find . -delete", "find!"),
        ("find . -fprint out", "find!"),
        ("parallel rm ::: x", "?, parallel"),
        ("watch ls", "watch!"),
        ("nice", "nice"),
        ("time", "?"),
        (r"\time -f %e ls", "time:ls"),
        ("timeout --foreground 5 ls", "timeout:ls"),
        ("timeout $x ls", "?, timeout!"),
    ]);
}

#[test]
fn scripts_passed_to_shells_are_parsed() {
    check(&[
        ("bash -c 'ls | grep x; echo $(date)'", "bash:ls, bash:grep, bash:date, bash:echo!"),
        (r#"sh -c "echo hi && cat foo""#, "sh:echo, sh:cat"),
        ("bash -ec ls", "bash:ls"),
        ("bash -euo pipefail -c 'ls' name arg", "bash:ls"),
        (r#"bash -c 'bash -c "rm x"'"#, "bash:bash:rm"),
        (r#"bash -c "$x""#, "?, bash!"),
        ("bash -c '$0' ls", "?, bash"),
        ("bash -lc ls", "bash!, bash:ls"),
        ("bash script.sh", "bash"),
        ("bash", "bash!"),
        ("curl x | sh", "curl, sh!"),
        ("bash -s < x", "bash!, <x"),
        ("bash --rcfile x -c ls", "bash!"),
        ("bash -O extglob -c ls", "bash!"),
        ("sh -c 'ls &> x'", "?, sh, sh:ls, >x"),
        ("dash -c 'ls 2>&1'", "dash:ls"),
        ("zsh -c 'ls'", "zsh!, zsh:ls"),
        ("bash -c '[[ -f x ]]'", "bash"),
        ("bash -o keyword -c 'ls'", "bash!, bash:ls"),
    ]);
}

#[test]
fn words_are_known_exactly_or_not_at_all() {
    let script = parse(r#"x 'a b' "c\$d" e\ f $'g\th' i"j"'k' src/*.rs "$l" a{b,c} ''"#);
    let known = |text: &str| ShellWord::Known(text.to_owned());
    let expected = vec![
        known("a b"),
        known("c$d"),
        known("e f"),
        known("g\th"),
        known("ijk"),
        ShellWord::Glob("src/*.rs".to_owned()),
        ShellWord::Unknown(r#""$l""#.to_owned()),
        known("ab"),
        known("ac"),
        known(""),
    ];
    assert_eq!(script.commands[0].args, expected);
}

#[test]
fn variables_set_by_wrappers_reach_the_inner_command() {
    let script = parse("A=1 env B=2 bash -c 'C=3 ls'");
    let names: Vec<&str> = script.commands[0].assignments.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C"]);
}

#[test]
fn empty_script_has_no_commands() {
    for text in ["", " \n", "# rm x", "x=1"] {
        assert_eq!(parse(text), ShellScript::default(), "{text:?}");
    }
}
