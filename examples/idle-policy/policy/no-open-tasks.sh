#!/bin/sh
# TeammateIdle policy: a teammate does not rest while there is a task that it
# could be doing: one that it owns, or a ready one that nobody has taken. Tasks
# of others, and tasks that wait for other tasks, do not hold it.
#
# A task is ready when it is pending and all that it waits for is completed.
# COVEY_BIN is the covey that runs the team.
me=$(sed -n 's/.*"teammate_name" *: *"\([^"\\]*\)".*/\1/p')
list=$("${COVEY_BIN:-covey}" tasks list --json) || {
	echo "no-open-tasks: the task list cannot be read, so nothing was checked" >&2
	exit 1
}
open=$(printf '%s\n' "$list" |
	awk '{ gsub(/"([^"\\]|\\.)*"|[][{},:]/, "\n&\n"); print }' | # one JSON token a line
	awk -v me="$me" '
	function bare(s) { gsub(/^[ \t]*"?|"?[ \t]*$/, "", s); return s }
	NF == 0                 { next }
	/^[[{]$/                { depth++; next }
	/^[]}]$/                { if (--depth == 1) keep(); next }
	depth == 2 && $0 == ":" { key = last; next }
	depth == 2 && $0 == "," { key = ""; next }
	                        { last = bare($0) }
	depth == 2 && key != "" { task[key] = last }
	depth == 3 && key == "blockedBy" && $0 != "," { waits = waits " " last }

	function keep() { # at the end of each task
		id[++n] = task["id"]
		status[id[n]] = task["status"]
		owner[n] = task["owner"]
		subject[n] = task["subject"]
		blockers[n] = waits
		waits = key = ""
		split("", task)
	}
	function waiting(i,   b, k, count) {
		count = split(blockers[i], b, " ")
		for (k = 1; k <= count; k++) if (status[b[k]] != "completed") return 1
		return 0
	}
	END {
		for (i = 1; i <= n; i++) {
			state = status[id[i]]
			if (state == "in_progress" && owner[i] == me)
				print "- task " id[i] " (" subject[i] ") is yours and in progress"
			else if (state == "pending" && owner[i] == me && !waiting(i))
				print "- task " id[i] " (" subject[i] ") is yours and ready"
			else if (state == "pending" && owner[i] == "" && !waiting(i))
				print "- task " id[i] " (" subject[i] ") is ready and nobody has it"
		}
	}')
if [ -n "$open" ]; then
	printf 'no-open-tasks: there is work left for you:\n%s\n' "$open" >&2
	exit 2
fi
