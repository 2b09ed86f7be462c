#!/bin/sh
# A hook that nobody waits for: the member goes on while the review runs, and is
# woken if there is something to say (exit code 2, the text on stderr).
file=$(sed -n 's/.*"tool_input":{[^}]*"file_path":"\([^"]*\)".*/\1/p')
[ -f "$file" ] || exit 0
sleep 0.2 # stands for a review that takes its time
if grep -q '???' "$file"; then
  echo "review of $(basename "$file"): there is an open place (???) in it" >&2
  exit 2
fi
