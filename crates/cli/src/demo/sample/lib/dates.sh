# Dates in plain POSIX shell.

# is_leap YEAR: succeeds if the year has a 29 February.
is_leap() {
    [ $(($1 % 4)) -eq 0 ] && [ $(($1 % 100)) -ne 0 ]
}

# days_in YEAR MONTH: prints how many days the month has.
days_in() {
    case $2 in
    2) if is_leap "$1"; then echo 29; else echo 28; fi ;;
    4 | 6 | 9 | 11) echo 30 ;;
    *) echo 31 ;;
    esac
}
