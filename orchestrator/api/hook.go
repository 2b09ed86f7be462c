package api

import "github.com/coveyteam/covey/orchestrator/accounts"

// AtMerge is the event under which lists show the gates of merges.
const AtMerge = "merge"

// Hook is one configured hook, for `covey hooks list`.
type Hook struct {
	Event      string `json:"event"`
	Matcher    string `json:"matcher,omitempty"`
	If         string `json:"if,omitempty"`
	Type       string `json:"type"`
	Command    string `json:"command"`
	Source     string `json:"source"`           // the file or plugin that defines it
	Kind       string `json:"kind"`             // of the source: spec, gates, settings, plugin, agent file, managed, callback
	Path       string `json:"path"`             // its place in the source, below the hooks section; empty for a callback
	Member     string `json:"member,omitempty"` // the only member that it applies to
	Gate       bool   `json:"gate"`             // refuses when it cannot run
	Observes   bool   `json:"observes"`         // its verdict is recorded but has no effect
	Never      string `json:"never,omitempty"`  // why it can never run
	Not        string `json:"not,omitempty"`    // why it does not run for the given input
	Only       string `json:"only,omitempty"`   // the condition under which it runs
	Runs       int    `json:"runs"`             // in this run of the team
	Refusals   int    `json:"refusals"`         // likewise
	FailedOpen int    `json:"failed_open"`      // likewise
	Would      int    `json:"would"`            // likewise: how often a hook of mode observe would have had an effect
}

// SetHookCounts sets the counts of each hook.
func SetHookCounts(infos []Hook, tally *accounts.HookTally) {
	for i := range infos {
		h := &infos[i]
		n := tally.Of(h.Event, h.Command)
		h.Runs, h.Refusals, h.FailedOpen, h.Would = n.Runs, n.Refusals, n.FailedOpen, n.Would
	}
}

// CountAs copies the counts of the same hook from another list.
func (h *Hook) CountAs(infos []Hook) {
	for _, other := range infos {
		if other.Event == h.Event && other.Command == h.Command {
			h.Runs, h.Refusals, h.FailedOpen, h.Would = other.Runs, other.Refusals, other.FailedOpen, other.Would
			return
		}
	}
}
