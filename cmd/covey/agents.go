package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// agentsCommand returns `covey agents`.
func agentsCommand(env *cli.Env) *cobra.Command {
	var probe, asJSON bool
	cmd := &cobra.Command{
		Use:   "agents [NAME]",
		Short: "Show the agent programs of this machine and what they support",
		Long: `Show the agents that members can use: the builtin agent, the agent programs that
covey knows, and those that team.yaml names. For each it shows whether it is
installed, its version, whether you are logged in, and what it supports. With NAME,
show everything about one of them, with reasons.

  enforced   it holds before anything happens
  detected   covey sees afterwards what was done
  advisory   the program is asked, and may not comply
  no         not supported

covey detects a login by the files and variables that exist, and never reads them.
--probe starts the programs and opens an empty session, in which most of them say
whether you are logged in. No model is asked, so this costs nothing.`,
		Example: `  covey agents
  covey agents codex
  covey agents --probe
  covey agents --json | jq '.[] | select(.path) | .name'`,
		Args:              cli.ArgCount(0, 1, "at most one agent"),
		ValidArgsFunction: completeAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := agentsNamed(cmd.Context(), env, args)
			switch {
			case err != nil:
				return err
			case probe:
				return probeAgents(cmd.Context(), env.Out, list, len(args) > 0, asJSON)
			case asJSON:
				return env.Out.JSON(list)
			case len(args) > 0:
				printAgent(env.Out, list[0])
				return nil
			}
			printAgents(env.Out, list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&probe, "probe", false, "start the programs and show what they report")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// completeAgent completes the name of an agent. It omits those of a spec, because
// reading a spec takes longer than a person waits for a completion.
func completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return append([]string{string(configs.Builtin)}, configs.Presets()...), cobra.ShellCompDirectiveNoFileComp
}

// agentsNamed returns all agents, or the one that the arguments name.
func agentsNamed(ctx context.Context, env *cli.Env, args []string) ([]launch.AgentInfo, error) {
	team, err := specTeam(env)
	if err != nil {
		return nil, err
	}
	list := launch.Agents(ctx, team)
	if len(args) == 0 {
		return list, nil
	}
	// The spec's own agents come last. They win over presets of the same name.
	var names []string
	for _, a := range slices.Backward(list) {
		if a.Name == args[0] {
			return []launch.AgentInfo{a}, nil
		}
		names = append(names, a.Name)
	}
	slices.Reverse(names)
	return nil, cli.Usagef("there is no agent %q; there are %s", args[0], strings.Join(names, ", "))
}

// specTeam returns the team of the spec that the flags name, or of the folder's; nil if the folder has
// none, or it cannot be read. It only warns about mistakes; other commands report them.
func specTeam(env *cli.Env) (*configs.Team, error) {
	path, err := env.SpecPath(nil)
	if err != nil {
		return nil, err
	}
	team, err := configs.Load(path)
	var mistakes configs.Errors
	switch {
	case errors.Is(err, fs.ErrNotExist) && env.Spec+env.Team != "":
		return nil, cli.SpecTrouble(path, err)
	case errors.As(err, &mistakes):
		env.Err.Printf("warning: %s has mistakes, so that its agents are not shown; covey validate lists them\n",
			term.PlainLine(path))
	}
	return team, nil
}

// printAgents prints two tables, because one with all columns would not fit into 80
// columns.
func printAgents(out *term.Screen, list []launch.AgentInfo) {
	found := &term.Table{Head: []string{"AGENT", "VERSION", "LOGIN", "MEMBERS", "PROGRAM"}}
	held := &term.Table{Head: []string{"AGENT", "CANCEL", "STEER", "RESUME", "ASKS", "MCP", "USAGE", "SYSTEM"}}
	missing := false
	for _, a := range list {
		name, where := term.Cell{Text: a.Name}, term.Cell{Text: a.Path}
		login := term.Cell{Text: string(a.Login), Style: loginStyle(a.Login)}
		if !a.Installed() {
			where, missing = term.Cell{Text: "not installed", Style: term.Faint}, true
			login = term.Cell{Text: "-"}
		}
		found.Add(name, term.Cell{Text: a.Version}, login, term.Cell{Text: strings.Join(a.Members, ", ")}, where)
		h := a.Honours
		held.Add(name, holdCell(h.Cancel), holdCell(h.Steer), holdCell(h.Resume), holdCell(h.Asks()),
			term.Cell{Text: h.MCP}, holdCell(h.Usage),
			holdCell(h.System))
	}
	found.Print(out)
	out.Printf("\n%s\n", out.Paint(term.Bold, "What they honour (gates hold at each one's turn end):"))
	held.Print(out)
	how := ""
	if missing {
		how = " and how to install it"
	}
	out.Printf("\ncovey agents NAME tells why%s; --probe starts them all.\n", how)
	if prices, err := accounts.ShippedPrices(); err == nil {
		out.Printf("Where dollars are counted: %s.\n", doctor.PriceAge(prices, time.Now()))
	}
}

// loginStyle highlights the states that need action.
func loginStyle(s launch.LoginState) term.Style {
	switch s {
	case launch.LoginYes:
		return term.Green
	case launch.LoginNo:
		return term.Yellow
	}
	return term.Normal
}

// holdCell returns the cell for a level of enforcement.
func holdCell(h launch.Hold) term.Cell {
	switch h {
	case launch.Enforced:
		return term.Cell{Text: string(h), Style: term.Green}
	case launch.Absent:
		return term.Cell{Text: string(h), Style: term.Faint}
	}
	return term.Cell{Text: string(h)}
}

// probeAgents starts the programs, all at once, and prints what they report. If a
// named agent is not ready, the exit code is 1, so that scripts can test for it.
//
// Each program writes into its own element of probes, so no lock is needed; Wait comes
// before they are read. A probe ends early with ctx.
func probeAgents(ctx context.Context, out *term.Screen, list []launch.AgentInfo, named, asJSON bool) error {
	if !named {
		// Only programs that speak ACP can say something in an empty session. One that is
		// named is probed in any case, so that the answer says why it cannot be.
		list = slices.DeleteFunc(list, func(a launch.AgentInfo) bool {
			return a.Path == "" || a.Kind != configs.ACP
		})
	}
	probes := make([]launch.AgentProbe, len(list))
	var started sync.WaitGroup
	for i, a := range list {
		started.Go(func() { probes[i] = a.Probe(ctx) })
	}
	started.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case asJSON:
		if err := out.JSON(probes); err != nil {
			return err
		}
	case len(probes) == 0:
		out.Printf("No agent program that speaks ACP is installed; covey agents lists them.\n")
	default:
		printProbes(out, probes)
	}
	if named && !probes[0].Ready {
		return &cli.EndError{Code: cli.ExitFailed}
	}
	return nil
}

// printProbes prints a short paragraph on each program.
func printProbes(out *term.Screen, probes []launch.AgentProbe) {
	for _, p := range probes {
		state, st := "ready", term.Green
		switch {
		case p.Login:
			state, st = "logged out", term.Yellow
		case !p.Ready:
			state, st = "not ready", term.Red
		}
		out.Printf("%s  %s after %s\n", out.Paint(term.Bold, term.PlainLine(p.Agent)),
			out.Paint(st, state), term.Elapsed(p.Took))
		if p.Problem != "" {
			out.Note(term.Normal, p.Problem)
		}
		if text := probeText(p); text != "" {
			out.Note(term.Normal, text)
		}
	}
}

// probeText describes in a sentence what a program reported about itself.
func probeText(p launch.AgentProbe) string {
	var parts []string
	if name := strings.TrimSpace(p.Name + " " + p.Version); name != "" {
		parts = append(parts, name)
	}
	for _, can := range []struct {
		yes  bool
		word string
	}{{p.HTTP, "MCP over http"}, {p.Load, "load"}, {p.Resume, "resume"}, {p.Steer, "steering"}} {
		if can.yes {
			parts = append(parts, can.word)
		}
	}
	text := strings.Join(parts, ", ")
	if len(p.Modes) > 0 {
		text += "; modes: " + strings.Join(p.Modes, ", ")
	}
	if len(p.Auth) > 0 {
		text += "; ways to log in: " + strings.Join(p.Auth, ", ")
	}
	return text
}

// printAgent prints everything that is known about one agent.
func printAgent(out *term.Screen, a launch.AgentInfo) {
	out.Printf("%s\n", out.Paint(term.Bold, term.PlainLine(a.Name)))
	// A fact without a text is left out: an empty line would read as if the program had
	// none.
	fact := func(name, text string) {
		if text != "" {
			out.Printf("  %-9s%s\n", name, term.PlainLine(text))
		}
	}
	program := a.Path
	switch {
	case a.Kind == configs.Builtin:
		program = "covey itself"
	case program == "":
		program = "not installed"
	case a.Package != "":
		program += " (" + a.Package + ")"
	}
	fact("program", program)
	if !a.Installed() {
		fact("install", a.HowToInstall())
	}
	version := a.Version
	if older := a.Older(); older != "" {
		version += ": " + older + "; " + a.ToNewest()
	}
	fact("version", version)
	if a.Installed() {
		fact("login", loginText(a))
	}
	fact("members", strings.Join(a.Members, ", "))
	h := a.Honours
	out.Printf("\n%s\n", out.Paint(term.Bold, "It honours"))
	for _, line := range []struct {
		name string
		held launch.Hold
		why  reasons[launch.Hold]
	}{
		{"gates", h.Gates, reasons[launch.Hold]{"": "its turn ends only when the team's gates agree"}},
		{"cancel", h.Cancel, reasons[launch.Hold]{"": "covey interrupt and limits end its turn"}},
		{"steer", h.Steer, reasons[launch.Hold]{
			launch.Enforced: "mail reaches it in the middle of a turn",
			launch.Advisory: "mail reaches it in mid-turn if it says that it can",
			"":              "mail waits until its turn ends",
		}},
		{"resume", h.Resume, reasons[launch.Hold]{
			launch.Enforced: "after a crash it goes on in the same session",
			"":              "after a crash it may have to start over, with a brief",
		}},
		{"system", h.System, reasons[launch.Hold]{
			launch.Enforced: "instructions stand in its system prompt",
			"":              "instructions stand at the head of its first prompt",
		}},
		{"usage", h.Usage, reasons[launch.Hold]{
			launch.Enforced: "it reports what each turn has used",
			launch.Absent:   "it reports nothing: limits on tokens have no effect",
			"":              "it may report too little: limits on tokens may come late",
		}},
	} {
		printHonour(out, line.name, line.held, holdCell(line.held).Style, line.why)
	}
	printHonour(out, "mcp", h.MCP, term.Normal, reasons[string]{
		"builtin": "the team tools are its own tools",
		"shell":   "the covey commands in its shell replace the team tools",
		"stdio":   "the team tools come to it through a child process",
		"":        "the team tools come to it over loopback, with a token",
	})
	out.Printf("\n%s\n", out.Paint(term.Bold, "Permission rules and PreToolUse hooks hold for"))
	for _, kind := range launch.ToolKinds() {
		printHonour(out, kind, h.Tools[kind], holdCell(h.Tools[kind]).Style, reasons[launch.Hold]{
			launch.Enforced: "it asks before each call",
			"":              "calls may run unasked; what they did is seen afterwards",
		})
	}
	printHonour(out, "team tools", launch.Enforced, term.Green, reasons[launch.Hold]{"": "covey itself carries them out"})
	if h.Version != "" {
		out.Printf("\n%s\n", out.Paint(term.Faint, fmt.Sprintf("Measured with %s, %s.", h.Version, h.Date)))
	}
}

// loginText describes a login state and how it was detected.
func loginText(a launch.AgentInfo) string {
	if a.Login == launch.LoginNone {
		return "not needed: " + a.LoginBy
	}
	return string(a.Login) + ": " + a.LoginBy
}

// reasons describes how far an agent honours one thing; "" stands for all levels that are not listed.
type reasons[Level ~string] map[Level]string

// printHonour prints how far an agent honours one thing, and what that means.
func printHonour[Level ~string](out *term.Screen, name string, level Level, st term.Style, why reasons[Level]) {
	out.Printf("  %-11s%s  %s\n", name, out.Paint(st, fmt.Sprintf("%-8s", level)), cmp.Or(why[level], why[""]))
}
