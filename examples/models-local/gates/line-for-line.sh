#!/bin/sh
# The translation has a line for each line of the original.
set -eu
cd "$CLAUDE_PROJECT_DIR"
[ -f de.txt ] || { echo "there is no de.txt" >&2; exit 2; }
want=$(grep -c . en.txt)
have=$(grep -c . de.txt || true)
[ "$have" -eq "$want" ] || { echo "de.txt has $have lines, and en.txt $want" >&2; exit 2; }
