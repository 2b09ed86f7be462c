#!/bin/sh
# Gate on TeammateIdle: nobody rests while a ready task has no owner. A task is
# ready when it is pending and all that it waits for is completed. COVEY_BIN is
# the covey that runs this team.
list=$("${COVEY_BIN:-covey}" tasks list --json) || exit 1
ready=$(printf '%s\n' "$list" |
	awk '{ gsub(/"([^"\\]|\\.)*"|[][{},:]/, "\n&\n"); print }' | # one JSON token a line
	awk '
	function bare(s) { gsub(/^[ \t]*"?|"?[ \t]*$/, "", s); return s }
	NF == 0                { next }
	/^[[{]$/               { depth++; next }
	/^[]}]$/               { if (--depth == 1) keep(); next }
	depth == 2 && $0 == ":" { key = last; next }
	depth == 2 && $0 == "," { key = ""; next }
	                       { last = bare($0) }
	depth == 2 && key != "" { task[key] = last }
	depth == 3 && key == "blockedBy" && $0 != "," { waits = waits " " last }

	function keep() { # at the end of each task
		id[++n] = task["id"]
		status[task["id"]] = task["status"]
		free[n] = task["status"] == "pending" && task["owner"] == ""
		name[n] = task["id"] " (" task["subject"] ")"
		blockers[n] = waits
		waits = key = ""
		split("", task)
	}
	function ready(i,   b, k, count) {
		count = split(blockers[i], b, " ")
		for (k = 1; k <= count; k++) if (status[b[k]] != "completed") return 0
		return free[i]
	}
	END { for (i = 1; i <= n; i++) if (ready(i)) print "task " name[i] }')
if [ -n "$ready" ]; then
	printf 'Ready, and nobody has taken it:\n%s\n' "$ready" >&2
	exit 2
fi
