#!/bin/sh
# Stands in for the builder's program: it gets a prompt on stdin, works with covey's
# commands, and prints its reply. Its first greet.sh forgets those without a name, which
# the gate finds.
set -eu
prompt=$(cat)
case $prompt in
*"sh greet.sh prints"*) echo 'echo "Hello, ${1:-you}!"' >greet.sh ;;
*"Write greet.sh"*) echo 'echo "Hello, ${1-}!"' >greet.sh ;;
*) echo "I have nothing to do." && exit ;;
esac
"$COVEY_BIN" tasks update 1 --status completed 2>&1 || echo "The gate refuses."
echo "I wrote greet.sh."
