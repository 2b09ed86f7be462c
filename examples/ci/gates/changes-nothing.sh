#!/bin/sh
# Gate on TaskCompleted: who reviews a change leaves it as it is. It fails closed: without a
# repository it refuses.
changes=$(git status --porcelain .) || exit 2
[ -n "$changes" ] || exit 0
echo "The review has changed files; undo this and report instead: $changes" >&2
exit 2
