package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
)

// ended notes why a hook in the background was ended, if it was.
func ended(ctx context.Context, found *judging.Finding, limit time.Duration) {
	if !found.TimedOut {
		return
	}
	found.Fault = fmt.Sprintf("timed out after %v", limit)
	if cause := context.Cause(ctx); errors.Is(cause, errSettled) {
		found.Aborted, found.Fault = true, cause.Error()
	}
}

// background is what a hook's end means to whoever fired it. What one says that
// turned to the background by its first line stays with people, as recorded:
// hosts show their models what they get of hooks that are configured as async.
func (e *errand) background(known *hooks.EventInfo, name string, v *judging.Verdict) *hooks.Background {
	b := &hooks.Background{ID: e.id, Rewake: e.AsyncRewake}
	if v.Observed != "" {
		return b
	}
	if v.Message != "" {
		b.SystemMessages = []string{v.Message}
	}
	if v.Outcome == hooks.Blocking {
		b.Wakes, b.Feedback = true, known.EndsTurn()
		b.Messages = []string{e.wakeText(known, name, v)}
		b.Summary = cmp.Or(e.summary(v), defaultRewakeSummary)
	}
	if e.byLine {
		return b
	}
	if v.Message != "" {
		b.Messages = append(b.Messages, judging.Reminder(fmt.Sprintf("%s hook system message: %s", name, v.Message)))
	}
	for _, n := range v.Contexts {
		b.Messages = append(b.Messages, n.Shown(known, name))
	}
	return b
}

// summary is the hook's own line about a wake: the one that it printed, else the
// configured one; empty: it has none.
func (e *errand) summary(v *judging.Verdict) string { return cmp.Or(v.Summary, e.RewakeSummary) }

// wakeText is what the model reads of a hook that wakes it: a notification, as
// recorded of sessions that wait for more. A headless host waits for a hook of the
// turn end before it leaves and gives its feedback as if it had not been in the
// background, unless the hook has words of its own for the moment.
func (e *errand) wakeText(known *hooks.EventInfo, name string, v *judging.Verdict) string {
	summary := e.summary(v)
	if known.EndsTurn() && !e.interactive && e.RewakeMessage == "" && summary == "" {
		return fmt.Sprintf("%s[%s]: %s", judging.Heading(known.Event), e.label, v.Feedback)
	}
	heading := cmp.Or(e.RewakeMessage, fmt.Sprintf("Stop hook blocking error from command \"%s\":", name))
	return "<task-notification>\n<summary>" + cmp.Or(summary, defaultRewakeSummary) +
		"</summary>\n</task-notification>\n" + judging.Reminder(heading+" "+v.Feedback)
}
