package hooklist

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// End is how one run of a hook ended, as the journal's lines of type
// hook_finished have it.
type End struct {
	Event      string `json:"event"`
	Command    string `json:"command"`
	Outcome    string `json:"outcome"`
	ExitCode   int    `json:"exit_code"`
	Warning    string `json:"warning"`
	FailedOpen bool   `json:"failed_open"`
	Observed   string `json:"observed"`
}

// Count is what the runs of one hook came to. Hooks that have one event and
// one command are one here, as they are in the journal.
type Count struct {
	Event      string `json:"event"`
	Command    string `json:"command"`
	Runs       int    `json:"runs"`
	Refusals   int    `json:"refusals"`
	Waits      int    `json:"waits,omitempty"` // it waited for somebody's answer
	FailedOpen int    `json:"failed_open"`     // it had no say, and what it guards went on
	// Would counts what a hook of mode observe would have done.
	Would int `json:"would"`
	// Why is why it failed last, in a few words; Verdict is what it would have done
	// last.
	Why     string `json:"why,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// Tally counts the runs of hooks, in the order in which each first ended. The
// zero value has counted nothing.
type Tally struct{ counts []Count }

// Add counts one run.
func (t *Tally) Add(end End) {
	n := t.of(end.Event, end.Command)
	n.Runs++
	// What only observes has refused nothing, whatever its outcome says.
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

// of is the count of a hook, made when it is first asked for.
func (t *Tally) of(event, command string) *Count {
	i := slices.IndexFunc(t.counts, func(n Count) bool { return n.Event == event && n.Command == command })
	if i < 0 {
		i = len(t.counts)
		t.counts = append(t.counts, Count{Event: event, Command: command})
	}
	return &t.counts[i]
}

// Of is the count of one hook.
func (t *Tally) Of(event, command string) Count {
	for _, n := range t.counts {
		if n.Event == event && n.Command == command {
			return n
		}
	}
	return Count{Event: event, Command: command}
}

// Join adds the counts of another tally.
func (t *Tally) Join(other *Tally) {
	for _, n := range other.counts {
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

// Noteworthy are the hooks that a person should know of: those that failed open,
// and those that only observed and would have done something. The list is the
// caller's own.
func (t *Tally) Noteworthy() []Count {
	var list []Count
	for _, n := range t.counts {
		if n.FailedOpen+n.Would > 0 {
			list = append(list, n)
		}
	}
	return list
}

// FailedOpen is how many runs failed open.
func (t *Tally) FailedOpen() int {
	sum := 0
	for _, n := range t.counts {
		sum += n.FailedOpen
	}
	return sum
}

// wouldHave says what a hook that only observes would have done, by what it would
// have decided; empty: nothing.
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

// whyOpen says in a few words why a hook had no say.
func whyOpen(end End) string {
	switch {
	case end.Outcome == "cancelled":
		return "no answer in time"
	case end.ExitCode > 0:
		return fmt.Sprintf("exit %d", end.ExitCode)
	case end.Warning != "":
		return notation.OneLine(end.Warning)
	}
	return "no verdict"
}

// EndOf takes from a member's event what is counted.
func EndOf(f agent.HookFinished) End {
	return End{Event: f.Event, Command: f.Command, Outcome: f.Outcome, ExitCode: f.ExitCode,
		Warning: f.Warning, FailedOpen: f.FailedOpen, Observed: f.Observed}
}
