package view

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// deniedCalls are the calls of one member that nobody was asked about, and that did not run.
type deniedCalls struct {
	member string
	accounts.Counts
}

// PrintTrouble prints what the operator should know of the present run: the calls that nobody was asked
// about, and the hooks that need a look.
func PrintTrouble(out *term.Screen, run *view.State) {
	var list []deniedCalls
	for _, m := range run.Members {
		list = append(list, deniedCalls{m.Name, m.Done.Counts})
	}
	PrintDenied(out, run.Run().Spec, list)
	PrintHookTrouble(out, hooksIn(run))
}

// DeniedOf returns the calls that nobody was asked about from the status of a team's members.
func DeniedOf(members []api.MemberStatus) []deniedCalls {
	var list []deniedCalls
	for _, m := range members {
		list = append(list, deniedCalls{m.Name, m.Counts})
	}
	return list
}

// DeniedText says which calls of a member did not run because nobody was asked; empty: there were none.
func DeniedText(of accounts.Counts) string {
	if of.DeniedCalls == 0 {
		return ""
	}
	return fmt.Sprintf("was refused %s that nobody was asked about, the first %s",
		term.Plural(of.DeniedCalls, "tool call"), term.Short(of.FirstDenied))
}

// PrintDenied prints, per member, the calls that did not run because nobody was asked, and how a person
// allows them. A team whose members could do nothing looks like one that had nothing to do. spec is the
// path of the team's spec.
func PrintDenied(out *term.Screen, spec string, list []deniedCalls) {
	told := false
	for _, d := range list {
		if text := DeniedText(d.Counts); text != "" {
			told = true
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+term.PlainLine(d.member)+" "+text))
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
