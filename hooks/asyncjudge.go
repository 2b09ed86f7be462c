package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// ended notes why a hook in the background was ended, if it was.
func (found *finding) ended(ctx context.Context, limit time.Duration) {
	if !found.timedOut {
		return
	}
	found.fault = fmt.Sprintf("timed out after %v", limit)
	if cause := context.Cause(ctx); errors.Is(cause, errSettled) {
		found.aborted, found.fault = true, cause.Error()
	}
}

// judgeLate decides what the end of a hook in the background means: it decides
// nothing any more, but may have something to say, and one with asyncRewake may
// wake the agent by exit code 2. It is pure.
func judgeLate(known *EventInfo, h *Handler, found finding) verdict {
	v := verdict{Result: Result{ExitCode: found.code, Outcome: Success}}
	switch {
	case found.aborted || found.timedOut:
		v.Outcome = Cancelled
		v.warn("%s", found.fault)
	case found.fault != "":
		v.Outcome = NonBlockingError
		v.warn("%s", found.fault)
	case found.code == 2 && h.AsyncRewake && known.Event != SessionEnd:
		v.Outcome, v.Feedback = Blocking, found.lateText()
	case found.code == 2, found.code != 0 && (found.answer.fields == nil || found.answer.fields.async):
		v.Outcome = NonBlockingError
		v.warn("Failed with non-blocking status code %d: %s", found.code, firstLine(found.stderr))
	}
	// A hook with async alone guards nothing, so nothing goes unchecked without it.
	v.FailedOpen = h.AsyncRewake && !found.aborted && v.Outcome != Success && v.Outcome != Blocking
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
func (v *verdict) hear(event Event, stdout string, byLine bool) {
	if v.Outcome == Cancelled {
		return
	}
	if stdout = strings.TrimSpace(stdout); byLine {
		_, stdout, _ = strings.Cut(stdout, "\n")
	}
	answer := fieldsOf(stdout)
	v.summary = strings.TrimSpace(rawjson.Text(answer["rewakeSummary"]))
	v.message = rawjson.Text(answer["systemMessage"])
	specific := fieldsOf(string(answer["hookSpecificOutput"]))
	if name := rawjson.Text(specific["hookEventName"]); name != "" && Event(name) != event {
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

// background is what a hook's end means to whoever fired it. What one says that
// turned to the background by its first line stays with people, as recorded:
// hosts show their models what they get of hooks that are configured as async.
func (e *errand) background(known *EventInfo, name string, v *verdict) *Background {
	b := &Background{ID: e.id, Rewake: e.AsyncRewake}
	if v.Observed != "" {
		return b
	}
	if v.message != "" {
		b.SystemMessages = []string{v.message}
	}
	if v.Outcome == Blocking {
		b.Wakes, b.Feedback = true, known.EndsTurn()
		b.Messages = []string{e.wakeText(known, name, v)}
		b.Summary = cmp.Or(e.summary(v), defaultRewakeSummary)
	}
	if e.byLine {
		return b
	}
	if v.message != "" {
		b.Messages = append(b.Messages, reminder(fmt.Sprintf("%s hook system message: %s", name, v.message)))
	}
	for _, n := range v.contexts {
		b.Messages = append(b.Messages, n.shown(known, name))
	}
	return b
}

// summary is the hook's own line about a wake: the one that it printed, else the
// configured one; empty: it has none.
func (e *errand) summary(v *verdict) string { return cmp.Or(v.summary, e.RewakeSummary) }

// wakeText is what the model reads of a hook that wakes it: a notification, as
// recorded of sessions that wait for more. A headless host waits for a hook of the
// turn end before it leaves and gives its feedback as if it had not been in the
// background, unless the hook has words of its own for the moment.
func (e *errand) wakeText(known *EventInfo, name string, v *verdict) string {
	summary := e.summary(v)
	if known.EndsTurn() && !e.interactive && e.RewakeMessage == "" && summary == "" {
		return fmt.Sprintf("%s[%s]: %s", feedbackHeading(known.Event), e.label, v.Feedback)
	}
	heading := cmp.Or(e.RewakeMessage, fmt.Sprintf("Stop hook blocking error from command \"%s\":", name))
	return "<task-notification>\n<summary>" + cmp.Or(summary, defaultRewakeSummary) +
		"</summary>\n</task-notification>\n" + reminder(heading+" "+v.Feedback)
}
