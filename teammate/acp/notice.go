package acp

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/program"
)

// retryNotice is what an update says in words if it is nothing but the news that the
// program has lost its model and tries to reach it again; empty: it is something else.
// Such news is no sign of life: a program may send it for as long as nobody answers.
func retryNotice(raw json.RawMessage) string {
	if len(raw) > maxNotice || !program.MayBeRetryNotice(raw) {
		return ""
	}
	fields := fieldsOf(raw)
	switch text(fields["sessionUpdate"]) {
	case "session_info_update": // codex-acp 2.6
		failed := fieldsOf(fieldsOf(fieldsOf(fields["_meta"])["codex"])["error"])
		var again bool
		if lenient(failed["willRetry"], &again); again {
			return text(failed["message"]) + " " + text(failed["additionalDetails"])
		}
	case "agent_message_chunk", "agent_thought_chunk":
		var b block
		lenient(fields["content"], &b)
		if said := b.words(); program.IsRetryNotice(said) {
			return said
		}
	}
	return ""
}

// substantial reports whether an update shows that the program's model is at work, and
// not only that the program is there.
func substantial(kind string) bool {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}

// tellsOfRetry reports whether a message is nothing but the news of retryNotice. Programs
// tell it in notifications of their own, too.
func (m message) tellsOfRetry() bool {
	switch {
	case m.Method == "" || m.ID != nil || len(m.Params) > maxNotice || !program.MayBeRetryNotice(m.Params):
		return false
	case m.Method == "session/update":
		return retryNotice(fieldsOf(m.Params)["update"]) != ""
	}
	return program.IsRetryNotice(string(m.Params))
}

// maxNotice is how long a message may be that is looked at for such news, in bytes.
const maxNotice = 4096

// tellOfRetry tells people of such news, each word of it once in a row.
func (t *talk) tellOfRetry(words string) {
	if words = strings.Join(strings.Fields(words), " "); words != t.notice {
		t.notice = words
		t.a.heldUp("the agent program, which tries to reach its model again: %s", words)
	}
}

// tellOfSilence tells people that nothing was heard of the model for some time, with what
// the program has said of it where only people read it. A call may take as long as it likes.
func (t *talk) tellOfSilence(d time.Duration) {
	if t.rec.busy() {
		return
	}
	beside := ""
	if said := t.live.proc.stderr.Text(); said != t.before {
		beside = "; its last words on stderr: " + cut(said[strings.LastIndexByte(said, '\n')+1:], 200)
	}
	t.a.heldUp("the agent program, which has said nothing for %v%s", d, beside)
}
