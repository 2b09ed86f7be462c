package hookinfo

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
)

// End is how one run of a hook ended, as in the journal's lines of type hook_finished.
type End struct {
	Event      string `json:"event"`
	Command    string `json:"command"`
	Outcome    string `json:"outcome"`
	ExitCode   int    `json:"exit_code"`
	Warning    string `json:"warning"`
	FailedOpen bool   `json:"failed_open"`
	Observed   string `json:"observed"`
}

// Count sums up the runs of one hook. Hooks with the same event and command count as one,
// as in the journal.
type Count struct {
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

// Tally counts the runs of hooks, in the order of the first run of each. The zero value
// is empty.
type Tally []Count

// Add counts one run.
func (t *Tally) Add(end End) {
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
func (t *Tally) of(event, command string) *Count {
	i := slices.IndexFunc(*t, func(n Count) bool { return n.Event == event && n.Command == command })
	if i < 0 {
		i = len(*t)
		*t = append(*t, Count{Event: event, Command: command})
	}
	return &(*t)[i]
}

// Of returns the count of one hook.
func (t *Tally) Of(event, command string) Count {
	for _, n := range *t {
		if n.Event == event && n.Command == command {
			return n
		}
	}
	return Count{Event: event, Command: command}
}

// Join adds the counts of another tally.
func (t *Tally) Join(other *Tally) {
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
func (t *Tally) Noteworthy() []Count {
	var list []Count
	for _, n := range *t {
		if n.FailedOpen+n.Would > 0 {
			list = append(list, n)
		}
	}
	return list
}

// FailedOpen returns how many runs failed open.
func (t *Tally) FailedOpen() int {
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
func whyOpen(end End) string {
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

// EndOf returns the counted part of a member's event.
func EndOf(f events.HookFinished) End {
	return End{Event: f.Event, Command: f.Command, Outcome: f.Outcome, ExitCode: f.ExitCode,
		Warning: f.Warning, FailedOpen: f.FailedOpen, Observed: f.Observed}
}
