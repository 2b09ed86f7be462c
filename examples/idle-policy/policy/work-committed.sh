#!/bin/sh
# TeammateIdle policy: a teammate does not rest while the repository it works in
# has changes that are not committed. It cannot tell whose changes they are, so
# it fits a teammate with a working copy of its own, or one that writes alone.
#
# usage: work-committed.sh [DIR]     a folder in the repository; where the
#                                    teammate is, unless given
cat >/dev/null
dir=${1:-.}
if ! changes=$(git -C "$dir" -c core.fsmonitor=false status --porcelain 2>&1); then
	printf 'work-committed: nothing was checked in %s: %s\n' "$dir" "$changes" >&2
	exit 1
fi
if [ -n "$changes" ]; then
	count=$(printf '%s\n' "$changes" | wc -l)
	printf 'work-committed: commit your work; paths with changes: %d\n' "$count" >&2
	printf '%s\n' "$changes" | sed 10q >&2
	exit 2
fi
