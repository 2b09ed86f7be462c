package ask

import (
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
)

// printSchedules lists the schedules and their times. While the team does not run
// nothing is triggered; missed schedules run when it is started.
func printSchedules(out *term.Screen, of api.Status, now time.Time) {
	if len(of.Schedules) == 0 {
		return
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return notation.ShortTime(t.Local(), now)
	}
	t := &term.Table{Head: []string{"SCHEDULE", "CRON", "NEXT", "LAST", "WHAT"}}
	for _, s := range of.Schedules {
		next := when(s.Next)
		if missed := !s.Next.IsZero() && s.Next.Before(now); missed && of.PID == 0 {
			next = "with covey up"
		}
		t.Add(term.Cell{Text: s.Name}, term.Cell{Text: s.Cron}, term.Cell{Text: next},
			term.Cell{Text: when(s.Last)}, term.Cell{Text: s.What})
	}
	out.Printf("\n")
	t.Print(out)
}

// printServers prints the MCP servers of a spec, if it has any.
func printServers(out *term.Screen, servers []api.ServerStatus) {
	if len(servers) == 0 {
		return
	}
	out.Printf("\n")
	term.TableOf(servers,
		term.Text("MCP SERVER", func(s api.ServerStatus) string { return s.Name }),
		term.Text("STATE", func(s api.ServerStatus) string { return string(s.State) }),
		term.Text("TOOLS", func(s api.ServerStatus) string { return count(s.Tools) }),
		term.Text("WHY", func(s api.ServerStatus) string { return s.Why }),
	).Print(out)
}
