#!/bin/sh
# Counts the leap years of four centuries, after which the calendar repeats; succeeds if there are 97.
cd "$(dirname "$0")/.." || exit 2
. ./lib/dates.sh

leap=0
year=1601
while [ "$year" -le 2000 ]; do
    if is_leap "$year"; then leap=$((leap + 1)); fi
    year=$((year + 1))
done

echo "$leap leap years from 1601 to 2000"
[ "$leap" -eq 97 ]
