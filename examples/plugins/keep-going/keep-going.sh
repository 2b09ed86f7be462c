#!/bin/sh
# A Stop hook that sends the member round again with the same prompt, until its
# last message holds the promise, or there were enough rounds. What it needs to
# know stands in out/keep-going.md; without that file it agrees.
#
#   round: 1            <- counted on by this script
#   most: 5
#   promise: THE POEM IS DONE
#   ---
#   the prompt, one line
set -eu
input=$(cat)
state="$CLAUDE_PROJECT_DIR/out/keep-going.md"
[ -f "$state" ] || exit 0

# field NAME: a line of the state file's head.
field() { sed -n "/^---\$/q; s/^$1: //p" "$state"; }

# string TEXT: as a JSON string.
string() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&"/'; }

transcript=$(printf '%s' "$input" | sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')
last=$(grep '"role":"assistant"' "$transcript" | tail -1)
if command -v jq >/dev/null 2>&1; then
  said=$(printf '%s' "$last" | jq -r '[.message.content[] | select(.type == "text") | .text] | join("\n")')
else
  said=$(printf '%s' "$last" | sed 's/\\u003c/</g; s/\\u003e/>/g')
fi

round=$(field round) most=$(field most) promise=$(field promise)
case $said in *"<promise>$promise</promise>"*)
  rm -f "$state"
  exit 0
esac
if [ "$round" -ge "$most" ]; then
  rm -f "$state"
  printf '{"systemMessage": "keep-going: %s rounds are enough"}\n' "$most"
  exit 0
fi
sed "s/^round: .*/round: $((round + 1))/" "$state" >"$state.new"
mv "$state.new" "$state"
prompt=$(sed '1,/^---$/d' "$state")
printf '{"decision": "block", "reason": %s}\n' "$(string "$prompt")"
