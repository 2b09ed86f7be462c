package acp

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// retryNotice returns the text of an update that only says that the program has lost its
// model and is trying to reach it again; "" for any other update. Such an update is not a
// sign of life: a program may send it for as long as the model does not answer.
func retryNotice(raw json.RawMessage) string {
	if len(raw) > maxNotice || !program.MayBeRetryNotice(raw) {
		return ""
	}
	fields := program.Fields(raw)
	switch texts.Text(fields["sessionUpdate"]) {
	case "session_info_update": // codex-acp 2.6
		failed := program.Fields(program.Fields(program.Fields(fields["_meta"])["codex"])["error"])
		var again bool
		if program.Lenient(failed["willRetry"], &again); again {
			return texts.Text(failed["message"]) + " " + texts.Text(failed["additionalDetails"])
		}
	case "agent_message_chunk", "agent_thought_chunk":
		var b block
		program.Lenient(fields["content"], &b)
		if said := b.words(); program.IsRetryNotice(said) {
			return said
		}
	}
	return ""
}

// substantial reports whether an update shows that the program's model is working, and not
// only that the program is running.
func substantial(kind string) bool {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}

// isRetryNotice reports whether a message is a retry notice. Programs also send it in
// notifications of their own.
func (m message) isRetryNotice() bool {
	switch {
	case m.Method == "" || m.ID != nil || len(m.Params) > maxNotice || !program.MayBeRetryNotice(m.Params):
		return false
	case m.Method == "session/update":
		return retryNotice(program.Fields(m.Params)["update"]) != ""
	}
	return program.IsRetryNotice(string(m.Params))
}

// maxNotice is the length in bytes of the longest message that is checked for a retry notice.
const maxNotice = 4096

// reportSilence tells people that nothing was heard from the model for d, and what the
// program has last written to stderr. It does nothing during a tool call, which may take long.
func (t *talk) reportSilence(d time.Duration) {
	if t.rec.Busy() {
		return
	}
	beside := ""
	if said := t.live.proc.Stderr.Text(); said != t.before {
		beside = "; its last words on stderr: " + program.Shorten(said[strings.LastIndexByte(said, '\n')+1:], 200)
	}
	t.a.reportHeldUp("the agent program, which has said nothing for %v%s", d, beside)
}
