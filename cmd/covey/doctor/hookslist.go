package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
)

// hookListFlags are the flags of `covey hooks list`.
type hookListFlags struct {
	hookFlags
	event, tool, input string // the input to check; all empty: none
	events, json       bool
}

// hooksListCommand returns `covey hooks list`.
func hooksListCommand(env *cli.Env) *cobra.Command {
	var f hookListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List hooks and gates, which would run, and how often they ran",
		Long: `List the hooks and gates that a team has and, if it has run, how often each of them
ran in its last run, refused, and failed open. With --event or --input, list the
hooks of that event, which of them would run, and why the others would not. --events
lists the events instead, with what each may decide.`,
		Example: `  covey hooks list
  covey hooks list --event PreToolUse --tool Bash
  echo '{"hook_event_name": "PreToolUse", "tool_name": "Bash",
    "tool_input": {"command": "git push"}}' | covey hooks list --input -
  covey hooks list --events
  covey hooks list --json | jq '.[] | select(.failed_open > 0)'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.events {
				return listEvents(env.Out, f)
			}
			return listHooks(cmd.Context(), env, f)
		},
	}
	f.Add(env, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.events, "events", false, "list all events, and what each may decide")
	flags.StringVar(&f.event, "event", "", "only hooks on `EVENT`, and which would run")
	flags.StringVar(&f.tool, "tool", "", "about a call of `TOOL`; of the event PreToolUse unless --event says otherwise")
	flags.StringVar(&f.input, "input", "", "about the hook input in `FILE`; - is standard input")
	_ = cmd.RegisterFlagCompletionFunc("event", completeEvent) // fails only for an unknown flag
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// listEvents prints the table of events. The table does not depend on flags about
// hooks, so they are refused.
func listEvents(out *term.Screen, f hookListFlags) error {
	if f.event != "" || f.tool != "" || f.input != "" || !f.none() {
		return cli.Usagef("--events lists what events there are, and takes no flag but --json; leave it out to ask about hooks")
	}
	return out.Show(f.json, hooks.Events(), func() { printEvents(out, hooks.Events()) })
}

// listHooks prints the hooks that the flags name.
func listHooks(ctx context.Context, env *cli.Env, f hookListFlags) error {
	in, err := inputOf(env, f)
	if err != nil {
		return err
	}
	l := hookListing{env: env, in: in}
	if f.none() {
		err = l.ofTeam(ctx)
	} else {
		err = l.ofFiles(f.hookFlags)
	}
	if err != nil {
		return err
	}
	return env.Out.Show(f.json, append([]api.Hook{}, l.infos...), func() { l.print() })
}

// inputOf returns the hook input that the flags describe; nil: none.
func inputOf(env *cli.Env, f hookListFlags) (*hooks.Input, error) {
	if f.event == "" && f.tool == "" && f.input == "" {
		return nil, nil
	}
	raw, err := hookInput(env, f.input)
	if err != nil {
		return nil, err
	}
	var named struct {
		Event string `json:"hook_event_name"`
	}
	_ = json.Unmarshal(raw, &named) // ParseInput reports the error
	name := cmp.Or(f.event, named.Event)
	switch {
	case name == "" && f.tool != "":
		name = string(hooks.PreToolUse)
	case name == "":
		return nil, cli.Usagef("--input names no hook_event_name; add --event EVENT")
	}
	event := hooks.Event(name)
	if !event.Known() {
		return nil, unknownEvent(name)
	}
	if f.tool != "" {
		if f.input != "" {
			return nil, cli.Usagef("--tool and --input exclude each other: write tool_name into the input")
		}
		if raw, err = json.Marshal(map[string]string{"tool_name": f.tool}); err != nil {
			return nil, err
		}
	}
	in, err := hooks.ParseInput(event, raw, hooks.Common{})
	if err != nil {
		return nil, cli.Usagef("input of %s: %v", event, err)
	}
	return &in, nil
}

// hookListing is the output of `covey hooks list`.
type hookListing struct {
	env   *cli.Env
	in    *hooks.Input // the input to check; nil: none
	infos []api.Hook
	ran   bool // there was a run, so that counts mean something
}

// ofFiles lists the hooks that the flags name, whether a team has run or not.
func (l *hookListing) ofFiles(f hookFlags) error {
	set, err := readHookSet(l.env, f)
	if err != nil {
		return err
	}
	if err := set.usable(); err != nil {
		return err
	}
	warnAll(l.env, set.Warnings)
	if l.in != nil && l.in.Cwd == "" {
		l.in.Cwd = set.Workspace // as for `hooks run`
	}
	l.infos, err = teamhooks.List(set.Team, set.Workspace, set.Sources, l.in)
	return err
}

// ofTeam lists the hooks of the team: those that it has if it runs, else those of its
// spec with the counts of its last run.
func (l *hookListing) ofTeam(ctx context.Context) error {
	place, err := l.env.Find()
	if err != nil { // it has never run
		return l.ofFiles(hookFlags{})
	}
	l.ran = true
	client, err := api.Dial(ctx, place)
	switch {
	case err == nil:
		defer client.Close()
		return l.ofRunning(ctx, client)
	case !errors.Is(err, api.ErrNotRunning):
		return err
	}
	if err := l.ofFiles(hookFlags{Spec: cli.SpecOf(place)}); err != nil {
		return err
	}
	run, err := view.ReadLastRun(place)
	if err == nil {
		api.SetHookCounts(l.infos, run.Hooks())
	}
	return err
}

// ofRunning lists the hooks of a running team, with its counts.
func (l *hookListing) ofRunning(ctx context.Context, client *api.Client) (err error) {
	l.infos, err = client.Hooks(ctx)
	if err != nil || l.in == nil {
		return err
	}
	// The input is checked against the hooks of the spec's files, which the team uses
	// too. Only the team knows its callbacks.
	asked := hookListing{env: l.env, in: l.in}
	if err := asked.ofFiles(hookFlags{Spec: cli.SpecOf(client.Place())}); err != nil {
		return err
	}
	for _, h := range l.infos {
		if h.Kind == "callback" && h.Event == string(l.in.Payload.Event()) {
			group := hooks.Group{Matcher: h.Matcher, Hooks: []hooks.Handler{{Type: "command", If: h.If}}}
			one := settings.Source{Settings: hooks.Settings{l.in.Payload.Event(): {group}}}
			found, err := teamhooks.List(nil, l.in.Cwd, []settings.Source{one}, l.in)
			if err != nil {
				return err
			}
			h.Never, h.Not, h.Only = found[0].Never, found[0].Not, found[0].Only
			asked.infos = append(asked.infos, h)
		}
	}
	// The team's counts are up to date, while the journal may lag behind.
	for i := range asked.infos {
		asked.infos[i].CountAs(l.infos)
	}
	l.infos = asked.infos
	return nil
}

// print prints the hooks as a table, and below it why some of them do not run.
// Failures are highlighted.
func (l *hookListing) print() {
	if len(l.infos) == 0 {
		l.env.Out.Printf("no hooks\n")
		return
	}
	l.table().Print(l.env.Out)
	l.printReasons()
}

// table is the table of hooks; each column is declared only here.
func (l *hookListing) table() *term.Table {
	type hook = api.Hook
	asks := l.in != nil
	of := func(text string, h hook) term.Cell { // hooks that never run are faint
		if h.Never != "" && !asks {
			return term.Cell{Text: text, Style: term.Faint}
		}
		return term.Cell{Text: text}
	}
	return term.TableOf(l.infos,
		term.Cells("RUNS", wouldRun).If(asks),
		term.Text("EVENT", func(h hook) string { return h.Event }),
		term.Text("MATCHER", func(h hook) string { return h.Matcher }),
		term.Cells("TYPE", func(h hook) term.Cell { return of(h.Type, h) }),
		term.Cells("COMMAND", func(h hook) term.Cell { return of(h.Command, h) }),
		term.Text("FROM", l.from),
		term.Text("RAN", func(h hook) string { return fmt.Sprint(h.Runs) }).If(l.ran),
		term.Cells("REFUSED", refusals).If(l.ran),
		term.Cells("OPEN", failures).If(l.ran),
	)
}

// refusals returns how often a hook refused; in brackets, how often an observing one
// would have.
func refusals(h api.Hook) term.Cell {
	if h.Observes {
		return term.Cell{Text: fmt.Sprintf("(%d)", h.Would)}
	}
	return term.Cell{Text: fmt.Sprint(h.Refusals)}
}

// failures returns how often a hook failed open.
func failures(h api.Hook) term.Cell {
	if h.FailedOpen > 0 {
		return term.Cell{Text: fmt.Sprint(h.FailedOpen), Style: term.Yellow}
	}
	return term.Cell{Text: "0"}
}

// wouldRun reports whether a hook runs for the input.
func wouldRun(h api.Hook) term.Cell {
	switch {
	case h.Never+h.Not != "":
		return term.Cell{Text: "no", Style: term.Faint}
	case h.Only != "":
		return term.Cell{Text: "if", Style: term.Yellow}
	}
	return term.Cell{Text: "yes", Style: term.Green}
}

// from returns where a hook comes from. Paths below the current folder are relative.
func (l *hookListing) from(h api.Hook) string {
	if h.Kind == "callback" {
		return "callback"
	}
	text := h.Kind + " " + l.env.Shown(strings.TrimPrefix(h.Source, "gates of "))
	if h.Member != "" {
		text += ", for " + h.Member
	}
	return text
}

// printReasons prints why hooks do not run, and their `if` and mode.
func (l *hookListing) printReasons() {
	blank := "\n"
	for _, h := range l.infos {
		why, st := cmp.Or(h.Never, h.Not), term.Yellow
		switch {
		case why != "" && h.Never != "":
			why = "never runs: " + why
		case why != "":
			why = "does not run: " + why
		case h.Only != "":
			why, st = "runs "+h.Only, term.Normal
		case h.If != "" && l.in == nil:
			why, st = "if "+h.If, term.Faint
		case h.Observes:
			why, st = "observes: its verdict is noted and not acted on", term.Faint
		default:
			continue
		}
		l.env.Out.Printf("%s", blank)
		blank = ""
		l.env.Out.Note(st, fmt.Sprintf("%s %s (%s): %s", h.Event, term.Short(h.Command), l.from(h), why))
	}
}

// yesNo formats a bool for people.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// printEvents prints the table of all events. What does not fit into columns is
// printed below it.
func printEvents(out *term.Screen, events []hooks.EventInfo) {
	t := term.Table{Head: []string{"EVENT", "MATCHER", "EXIT 2", "BLOCK", "HALTS", "TYPES", "FIRES"}}
	for _, e := range events {
		t.Add(term.Cell{Text: string(e.Event)}, term.Cell{Text: e.Matcher},
			term.Cell{Text: e.Exit2.String()}, term.Cell{Text: e.Decision.String()},
			term.Cell{Text: yesNo(e.Halts)}, term.Cell{Text: e.Types}, firesCell(e.Fires))
	}
	t.Print(out)
	out.Printf("\n")
	for _, e := range events {
		if notes := eventNotes(e); notes != "" {
			out.Printf("%s\n", out.Paint(term.Bold, string(e.Event)))
			out.Note(term.Normal, notes)
		}
	}
	out.Printf("\n")
	for _, line := range eventLegend() {
		out.Note(term.Faint, line)
	}
}

// firesCell highlights the events that a team does not fire.
func firesCell(fires bool) term.Cell {
	if fires {
		return term.Cell{Text: "yes"}
	}
	return term.Cell{Text: "later", Style: term.Yellow}
}

// eventNotes describes what is particular about an event; empty: nothing.
func eventNotes(e hooks.EventInfo) string {
	var notes []string
	if len(e.Values) > 0 {
		notes = append(notes, e.Matcher+" is "+strings.Join(e.Values, ", ")+".")
	}
	if len(e.Outputs) > 0 {
		notes = append(notes, "Its own output: "+strings.Join(e.Outputs, ", ")+".")
	}
	if e.Context {
		notes = append(notes, "Plain stdout is context for the model.")
	}
	if !e.Fires {
		notes = append(notes, fmt.Sprintf("Fired by hand only: it waits for %s.", e.Requires))
	}
	return strings.Join(notes, " ")
}

// eventLegend explains the words of the table.
func eventLegend() []string {
	return []string{
		"MATCHER: the input field that a matcher is compared with.",
		"EXIT 2, BLOCK: what exit code 2 and {\"decision\": \"block\"} do. refuses: the text is for people; " +
			"error: refused, and the text is the call's error; feedback: refused, and the text goes to the model; " +
			"beside: too late to refuse, the text goes beside the result; shown: to people, nothing is refused.",
		"HALTS: {\"continue\": false} counts.",
		"TYPES: A command, http, mcp_tool, prompt, agent; B without prompt and agent; C command and mcp_tool. " +
			"Callbacks listen to every event.",
		"FIRES: a team fires it by itself; covey hooks run fires any event.",
	}
}
