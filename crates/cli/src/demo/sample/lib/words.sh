# Words in plain POSIX shell.

# plural COUNT WORD: prints the count with the word in its right form.
plural() {
    if [ "$1" -le 1 ]; then echo "$1 $2"; else echo "$1 $2s"; fi
}
