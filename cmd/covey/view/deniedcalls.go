package view

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// PrintTrouble prints what the operator should know of a run: the calls that nobody was asked about, and the
// hooks that need a look. spec is the path of the team's spec.
func PrintTrouble(out *term.Screen, spec string, members []api.MemberStatus) {
	printDenied(out, spec, members)
	printHooks(out, members)
}

// TroubleIn returns what PrintTrouble needs to know of the members of a run, also of those that have left. The
// gates at merges belong to none.
func TroubleIn(run *view.State) []api.MemberStatus {
	var list []api.MemberStatus
	for _, m := range run.Members {
		list = append(list, api.MemberStatus{Name: m.Name, Counts: m.Done.Counts, Hooks: m.Hooks.Noteworthy()})
	}
	return append(list, api.MemberStatus{Hooks: run.MergeHooks.Noteworthy()})
}

// DeniedText returns which calls of a member did not run because nobody was asked; empty: there were none.
func DeniedText(of accounts.Counts) string {
	if of.DeniedCalls == 0 {
		return ""
	}
	return fmt.Sprintf("was refused %s that nobody was asked about, the first %s",
		texts.Plural(of.DeniedCalls, "tool call"), term.ShortMiddle(of.FirstDenied))
}

// printDenied prints, per member, the calls that did not run because nobody was asked, and how a person
// allows them. A team whose members could do nothing looks like one that had nothing to do.
func printDenied(out *term.Screen, spec string, list []api.MemberStatus) {
	told := false
	for _, m := range list {
		if text := DeniedText(m.Counts); text != "" {
			told = true
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+term.PlainLine(m.Name)+" "+text))
		}
	}
	switch {
	case !told:
	case state.IsRunSpec(spec):
		out.Printf("%s\n", out.Paint(term.Faint, "  covey run --allow RULE allows such calls; "+
			"while covey attach is open in another terminal, it asks you, but not in the mode dontAsk"))
	default:
		out.Printf("%s\n", out.Paint(term.Faint, "  permissions.allow in the spec allows such calls, unless a rule under ask names them; "+
			"with on_ask: wait they wait for you in covey inbox, but not in the mode dontAsk"))
	}
}
