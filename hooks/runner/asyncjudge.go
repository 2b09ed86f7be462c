package runner

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// judgeLate decides what the end of a hook in the background means: it decides
// nothing any more, but may have something to say, and one with asyncRewake may
// wake the agent by exit code 2. It is pure.
func judgeLate(known *hooks.EventInfo, h *hooks.Handler, found finding) verdict {
	v := verdict{Result: hooks.Result{ExitCode: found.code, Outcome: hooks.Success}}
	switch {
	case found.aborted || found.timedOut:
		v.Outcome = hooks.Cancelled
		v.warn("%s", found.fault)
	case found.fault != "":
		v.Outcome = hooks.NonBlockingError
		v.warn("%s", found.fault)
	case found.code == 2 && h.AsyncRewake && known.Event != hooks.SessionEnd:
		v.Outcome, v.Feedback = hooks.Blocking, found.lateText()
	case found.code == 2, found.code != 0 && (found.answer.fields == nil || found.answer.fields.async):
		v.Outcome = hooks.NonBlockingError
		v.warn("Failed with non-blocking status code %d: %s", found.code, firstLine(found.stderr))
	}
	// A hook with async alone guards nothing, so nothing goes unchecked without it.
	v.FailedOpen = h.AsyncRewake && !found.aborted && v.Outcome != hooks.Success && v.Outcome != hooks.Blocking
	return v
}

// lateText is what a hook that wakes an agent says: stderr, else stdout.
func (found finding) lateText() string {
	text := strings.TrimRight(found.stderr, " \t\r\n")
	if text == "" {
		text = found.answer.plain
	}
	return cmp.Or(text, noStderr)
}

// hear takes in what a hook in the background may say on stdout: systemMessage,
// additionalContext and, in place of the configured one, rewakeSummary. Fields of a wrong type do not count;
// the others do. stdout is all that it printed.
func (v *verdict) hear(event hooks.Event, stdout string, byLine bool) {
	if v.Outcome == hooks.Cancelled {
		return
	}
	if stdout = strings.TrimSpace(stdout); byLine {
		_, stdout, _ = strings.Cut(stdout, "\n")
	}
	answer := fieldsOf(stdout)
	v.summary = strings.TrimSpace(rawjson.Text(answer["rewakeSummary"]))
	v.message = rawjson.Text(answer["systemMessage"])
	specific := fieldsOf(string(answer["hookSpecificOutput"]))
	if name := rawjson.Text(specific["hookEventName"]); name != "" && hooks.Event(name) != event {
		v.warn("hookSpecificOutput is for %s, not for %s: it was left out", wording.Preview(name, 40), event)
		return
	}
	if text := rawjson.Text(specific["additionalContext"]); strings.TrimSpace(text) != "" {
		v.contexts = []note{{additionalContext, text}}
	}
}

// fieldsOf are the fields of a JSON object; none if text is no such thing.
func fieldsOf(text string) map[string]json.RawMessage {
	raw, err := rawjson.Fields([]byte(text))
	if err != nil {
		return nil
	}
	fields := make(map[string]json.RawMessage, len(raw))
	for _, f := range raw {
		fields[f.Name] = f.Value
	}
	return fields
}
