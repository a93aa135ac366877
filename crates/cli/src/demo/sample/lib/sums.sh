# Sums in plain POSIX shell.

# mean NUMBER…: prints the mean, rounded to the nearest whole number.
mean() {
    total=0
    for number; do total=$((total + number)); done
    echo $((total / $#))
}
