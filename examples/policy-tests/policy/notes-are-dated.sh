#!/bin/sh
# Gate on TaskCompleted: the notes have a date.
grep -Eq '20[0-9]{2}-[0-9]{2}-[0-9]{2}' NOTES.md && exit 0
echo "NOTES.md has no date such as 2026-01-31."
exit 1
