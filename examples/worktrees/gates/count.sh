#!/bin/sh
# Merge gate: the first line of menu.txt counts the dishes. Two members who each
# count right can be wrong together, so it looks at the result of a merge.
cat >/dev/null
says=$(sed -n '1s/^dishes: //p' menu.txt)
has=$(sed 1d menu.txt | wc -l | tr -d ' ')
if [ "$says" != "$has" ]; then
	echo "count: menu.txt says ${says:-nothing} and has $has dishes, merged into ${COVEY_MERGE_INTO:-nothing}" >&2
	exit 2
fi
