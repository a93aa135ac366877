#!/bin/sh
# Tests lib/dates.sh; succeeds if every test passes.
cd "$(dirname "$0")/.." || exit 2
. ./lib/dates.sh

passed=0
failed=0

# expect NAME WANTED GOT: one test.
expect() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "pass  $1"
    else
        failed=$((failed + 1))
        echo "FAIL  $1: expected $2 days, got $3"
    fi
}

expect "December 2023" 31 "$(days_in 2023 12)"
expect "September 2024" 30 "$(days_in 2024 9)"
expect "February 2023" 28 "$(days_in 2023 2)"
expect "February 2024" 29 "$(days_in 2024 2)"
expect "February 1900" 28 "$(days_in 1900 2)"
expect "February 2000" 29 "$(days_in 2000 2)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
