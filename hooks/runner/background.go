package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks"
)

// ended notes why a hook in the background was ended, if it was.
func ended(ctx context.Context, found *finding, limit time.Duration) {
	if !found.timedOut {
		return
	}
	found.fault = fmt.Sprintf("timed out after %v", limit)
	if cause := context.Cause(ctx); errors.Is(cause, errSettled) {
		found.aborted, found.fault = true, cause.Error()
	}
}

// background is what a hook's end means to whoever fired it. What one says that
// turned to the background by its first line stays with people, as recorded:
// hosts show their models what they get of hooks that are configured as async.
func (e *errand) background(known *hooks.EventInfo, name string, v *verdict) *hooks.Background {
	b := &hooks.Background{ID: e.id, Rewake: e.AsyncRewake}
	if v.Observed != "" {
		return b
	}
	if v.message != "" {
		b.SystemMessages = []string{v.message}
	}
	if v.Outcome == hooks.Blocking {
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
func (e *errand) wakeText(known *hooks.EventInfo, name string, v *verdict) string {
	summary := e.summary(v)
	if known.EndsTurn() && !e.interactive && e.RewakeMessage == "" && summary == "" {
		return fmt.Sprintf("%s[%s]: %s", feedbackHeading(known.Event), e.label, v.Feedback)
	}
	heading := cmp.Or(e.RewakeMessage, fmt.Sprintf("Stop hook blocking error from command \"%s\":", name))
	return "<task-notification>\n<summary>" + cmp.Or(summary, defaultRewakeSummary) +
		"</summary>\n</task-notification>\n" + reminder(heading+" "+v.Feedback)
}
