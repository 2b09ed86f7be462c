package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// upRunning lets a running team apply its spec. done is false if the team has to be
// started. If the file has a new team name or workspace, the team that runs with the
// file is asked, and refuses: a start would make a second team.
func upRunning(ctx context.Context, out *term.Screen, team *configs.Team, f upFlags,
	goal string) (done bool, err error) {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return false, err
	}
	// The team may begin or end at any moment. What is found here only chooses the way; the
	// lock of the team and the reply of the running one decide.
	_, up := state.Running(place)
	// A running team cannot start fresh, run Setup hooks or be recorded; starting it reports that.
	if up && (f.fresh || f.init || f.initOnly || f.maintenance || f.record+f.replay != "") && !f.dryRun {
		return false, nil
	}
	if !up {
		if place, up, err = state.FindRunning(team.File); !up || err != nil {
			return false, err
		}
	}
	client, err := api.Dial(ctx, place)
	if errors.Is(err, api.ErrNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer client.Close()
	r := api.ApplySpec{Spec: team.File, Goal: goal, DryRun: f.dryRun}
	if !f.dryRun {
		report, err := trust.Check(ctx, team)
		if err != nil {
			return false, err
		}
		// The running team compares it with what it reads itself, so that it applies what
		// was trusted here and nothing else.
		r.Digest = report.Digest()
	}
	change, err := client.ApplySpec(ctx, r)
	if errors.Is(err, context.Canceled) && !f.dryRun {
		return true, fmt.Errorf("%w; the running team applies the change that it has begun, "+
			"and covey up --dry-run shows what is left", err)
	}
	if err != nil {
		return true, cli.SpecTrouble(team.File, err)
	}
	return true, printChange(out, change, f)
}

// dryRun prints what up would start or change. It starts and writes nothing.
func dryRun(ctx context.Context, env *cli.Env, team *configs.Team, f upFlags, goal string) error {
	done, err := upRunning(ctx, env.Out, team, f, goal)
	if err == nil && !done {
		var change events.SpecChanged
		if change, err = specs.Preview(ctx, team, goal, f.fresh); err == nil {
			err = printChange(env.Out, change, f)
		}
		if copies := cli.CopiesText(ctx, team); err == nil && copies != "" && !f.json {
			env.Out.Printf("%s\n", copies)
		}
	}
	if err != nil {
		return err
	}
	if list := launch.StandIns(team); len(list) > 0 {
		env.Err.Printf("%s", standInText(list))
	}
	if f.trust {
		return nil
	}
	report, err := trust.Check(ctx, team)
	if err != nil || report.Trusted {
		return err
	}
	return fmt.Errorf("%s is %w; covey trust --show says what it would run", team.File, cli.ErrNotTrusted)
}

// printChange prints the changes of a spec, one line each.
func printChange(out *term.Screen, change events.SpecChanged, f upFlags) error {
	if f.json {
		return out.JSON(change)
	}
	out.Printf("%s\n", out.Paint(term.Bold, changeHead(change, f.dryRun)))
	t := &term.Table{Head: []string{"WHAT", "", "HOW"}}
	for _, m := range change.Members {
		t.Add(term.Cell{Text: "member"}, term.Cell{Text: m.Name}, term.Cell{Text: memberChangeText(m)})
	}
	if change.Goal != "" {
		t.Add(term.Cell{Text: "goal"}, term.Cell{Text: change.Goal}, term.Cell{Text: "the lead gets it"})
	}
	for _, subject := range change.Tasks {
		t.Add(term.Cell{Text: "task"}, term.Cell{Text: subject}, term.Cell{Text: "added"})
	}
	for _, key := range change.Settings {
		t.Add(term.Cell{Text: "key"}, term.Cell{Text: key}, term.Cell{Text: "counts from now on"})
	}
	if len(t.Rows) > 0 {
		t.Print(out)
	}
	return nil
}

// changeHead summarizes a change.
func changeHead(change events.SpecChanged, dry bool) string {
	team := "team " + term.PlainLine(change.Team)
	switch {
	case change.Running && change.Empty():
		return team + " runs, and nothing in its spec has changed; covey attach watches it"
	case change.Running && dry:
		return team + " runs; covey up would change this:"
	case change.Running:
		return team + " runs and has taken up its spec:"
	case change.Resumed:
		return team + " would go on where it was:"
	}
	return team + " would start:"
}

// memberChangeText returns what happens to a member.
func memberChangeText(m events.MemberChange) string {
	switch m.Change {
	case events.MemberAdded:
		return "joins the team, on " + m.Agent
	case events.MemberRetires:
		return "leaves when its turn is over; its tasks are open again"
	case events.MemberChanges:
		return "restarts when its turn ends: " + strings.Join(m.Keys, ", ")
	}
	return "starts, on " + m.Agent
}
