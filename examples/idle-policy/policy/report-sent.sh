#!/bin/sh
# TeammateIdle policy: a teammate that has completed a task does not rest before
# it has sent the lead a message about it. A turn without a completed task needs
# no report, so a "thank you" of the lead does not start a chain of them.
#
# usage: report-sent.sh [LEAD]     the lead's name; lead, unless given
#
# It reads the transcript, which is complete on disk when the hook runs.
lead=${1:-lead}
transcript=$(sed -n 's/.*"transcript_path" *: *"\([^"\\]*\)".*/\1/p')
if [ ! -r "$transcript" ]; then
	printf 'report-sent: the transcript "%s" cannot be read, so nothing was checked\n' "$transcript" >&2
	exit 1
fi
# A line is {…, "message": {…, "content": [block, …]}}: blocks are 4 deep, the
# input of a tool call is 5 deep.
due=$(grep -E '"(SendMessage|TaskUpdate)"|"is_error" *: *true' "$transcript" |
	awk '{ gsub(/"([^"\\]|\\.)*"|[][{},:]/, "\n&\n"); print }' | # one JSON token a line
	awk -v lead="$lead" '
	function bare(s) { gsub(/^[ \t]*"?|"?[ \t]*$/, "", s); return s }
	NF == 0     { next }
	/^[[{]$/    { key[++depth] = ""; next }
	/^[]}]$/    { if (--depth == 3) judge(); next }
	$0 == ":"   { key[depth] = last; next }
	$0 == ","   { key[depth] = ""; next }
	            { last = bare($0) }
	depth == 4  { block[key[4]] = last }
	depth == 5 && key[4] == "input" { input[key[5]] = last }

	function judge(   to) { # at the end of each block
		to = input["to"] input["recipient"]
		if (block["type"] == "tool_use" && block["name"] == "TaskUpdate" && input["status"] == "completed") {
			due = 1
		} else if (block["type"] == "tool_use" && block["name"] == "SendMessage" && (to == lead || to == "*")) {
			was[block["id"]] = due
			due = 0
		} else if (block["type"] == "tool_result" && block["is_error"] == "true" && was[block["tool_use_id"]]) {
			due = 1 # the message did not get there
		}
		split("", block)
		split("", input)
	}
	END { if (due) print "due" }')
if [ -n "$due" ]; then
	echo "report-sent: you have completed a task; tell $lead with SendMessage what you did before you rest" >&2
	exit 2
fi
