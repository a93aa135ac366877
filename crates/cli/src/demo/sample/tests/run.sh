#!/bin/sh
# run.sh [PART]: tests lib/PART.sh, or all of lib; succeeds if every test passes.
cd "$(dirname "$0")/.." || exit 2
for part in dates words sums; do . "./lib/$part.sh"; done

only=${1:-}
passed=0
failed=0

# expect PART NAME WANTED GOT: one test.
expect() {
    if [ -n "$only" ] && [ "$only" != "$1" ]; then
        return
    elif [ "$3" = "$4" ]; then
        passed=$((passed + 1))
        echo "pass  $1: $2"
    else
        failed=$((failed + 1))
        echo "FAIL  $1: $2: expected $3, got $4"
    fi
}

expect dates "December 2023" 31 "$(days_in 2023 12)"
expect dates "February 2024" 29 "$(days_in 2024 2)"
expect dates "February 1900" 28 "$(days_in 1900 2)"
expect dates "February 2000" 29 "$(days_in 2000 2)"
expect words "one day" "1 day" "$(plural 1 day)"
expect words "two days" "2 days" "$(plural 2 day)"
expect words "no days" "0 days" "$(plural 0 day)"
expect sums "mean of 2 and 4" 3 "$(mean 2 4)"
expect sums "mean of 1, 2 and 2" 2 "$(mean 1 2 2)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
