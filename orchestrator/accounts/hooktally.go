package accounts

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
)

// HookCount sums up the runs of one hook. Hooks with the same event and command count as one,
// as in the journal.
type HookCount struct {
	Event      string `json:"event"`
	Command    string `json:"command"`
	Runs       int    `json:"runs"`
	Refusals   int    `json:"refusals"`
	Waits      int    `json:"waits,omitempty"` // it waited for an answer
	FailedOpen int    `json:"failed_open"`     // it failed, and what it guards continued
	// Would counts how often a hook of mode observe would have had an effect.
	Would int `json:"would"`
	// Why is the reason of the last failure, in a few words; Verdict is what it would
	// have done last.
	Why     string `json:"why,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// HookTally counts the runs of hooks, in the order of the first run of each. The zero value
// is empty.
type HookTally []HookCount

// Add counts one run.
func (t *HookTally) Add(end events.HookFinished) {
	n := t.of(end.Event, end.Command)
	n.Runs++
	// A hook of mode observe refuses nothing, whatever its outcome.
	switch {
	case wouldHave(end.Observed) != "":
		n.Would++
		n.Verdict = wouldHave(end.Observed)
	case end.Outcome == "blocking":
		n.Refusals++
	case end.Outcome == "await":
		n.Waits++
	}
	if end.FailedOpen {
		n.FailedOpen++
		n.Why = whyOpen(end)
	}
}

// of returns the count of a hook, and adds it if it is missing.
func (t *HookTally) of(event, command string) *HookCount {
	i := slices.IndexFunc(*t, func(n HookCount) bool { return n.Event == event && n.Command == command })
	if i < 0 {
		i = len(*t)
		*t = append(*t, HookCount{Event: event, Command: command})
	}
	return &(*t)[i]
}

// Of returns the count of one hook.
func (t *HookTally) Of(event, command string) HookCount {
	for _, n := range *t {
		if n.Event == event && n.Command == command {
			return n
		}
	}
	return HookCount{Event: event, Command: command}
}

// Join adds the counts of another tally.
func (t *HookTally) Join(other *HookTally) {
	for _, n := range *other {
		sum := t.of(n.Event, n.Command)
		sum.Runs, sum.Refusals, sum.Waits = sum.Runs+n.Runs, sum.Refusals+n.Refusals, sum.Waits+n.Waits
		sum.FailedOpen, sum.Would = sum.FailedOpen+n.FailedOpen, sum.Would+n.Would
		if n.Why != "" {
			sum.Why = n.Why
		}
		if n.Verdict != "" {
			sum.Verdict = n.Verdict
		}
	}
}

// Noteworthy returns the hooks that failed open, and those of mode observe that would
// have had an effect. The caller may change the list.
func (t *HookTally) Noteworthy() []HookCount {
	var list []HookCount
	for _, n := range *t {
		if n.FailedOpen+n.Would > 0 {
			list = append(list, n)
		}
	}
	return list
}

// FailedOpen returns how many runs failed open.
func (t *HookTally) FailedOpen() int {
	sum := 0
	for _, n := range *t {
		sum += n.FailedOpen
	}
	return sum
}

// wouldHave returns what a hook of mode observe would have done, from its verdict; empty:
// nothing.
func wouldHave(observed string) string {
	switch observed {
	case "", "pass":
		return ""
	case "block":
		return "refused"
	case "stop":
		return "stopped"
	case "deny":
		return "denied"
	case "await":
		return "waited"
	case "defer":
		return "deferred"
	}
	return observed + "ed" // ask, allow
}

// whyOpen returns in a few words why a hook failed open.
func whyOpen(end events.HookFinished) string {
	switch {
	case end.Outcome == "cancelled":
		return "no answer in time"
	case end.ExitCode > 0:
		return fmt.Sprintf("exit %d", end.ExitCode)
	case end.Warning != "":
		return texts.OneLine(end.Warning)
	}
	return "no verdict"
}
