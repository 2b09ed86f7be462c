#!/bin/sh
# The release notes name each change of the log by its number.
set -eu
cd "$CLAUDE_PROJECT_DIR"
[ -f NOTES.md ] || { echo "there is no NOTES.md" >&2; exit 2; }
for number in $(cut -d' ' -f1 log.txt); do
	grep -q -- "$number" NOTES.md || { echo "NOTES.md does not name $number" >&2; exit 2; }
done
