#!/bin/sh
# Task gate: every dish of menu.txt has a price, and nothing else stands there.
# It looks where it is run: in the working copy of who says that a task is done,
# and again at what a merge has made.
cat >/dev/null
if wrong=$(sed 1d menu.txt | grep -nvE '^[a-z]+ [0-9]+\.[0-9]{2}$'); then
	printf 'prices: lines of menu.txt that are no dish with a price:\n%s\n' "$wrong" >&2
	exit 2
fi
