package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// agentsCommand is `covey agents`.
func (c *cli) agentsCommand() *cobra.Command {
	var probe, asJSON bool
	cmd := &cobra.Command{
		Use:   "agents [NAME]",
		Short: "Show the agent programs of this machine and what they honour",
		Long: `Show the agents that members can have: the builtin one, the agent programs that
covey knows, and those that team.yaml names. For each: whether it is installed,
which version, whether somebody is logged in, and what it honours. With NAME,
everything about one of them, and why.

  enforced   it holds before anything happens
  detected   covey sees what was done, afterwards
  advisory   it is asked to, and may not
  no         not at all

Whether somebody is logged in is seen by the files and variables that are there;
covey never reads them. --probe starts the programs and opens an empty session,
at which most of them say it when they are logged out. No model is asked, so
that it costs nothing.`,
		Example: `  covey agents
  covey agents codex
  covey agents --probe
  covey agents --json | jq '.[] | select(.path) | .name'`,
		Args:              argCount(0, 1, "at most one agent"),
		ValidArgsFunction: completeAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.agentsNamed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case probe:
				return c.probeAgents(cmd.Context(), list, len(args) > 0, asJSON)
			case asJSON:
				return c.out.json(list)
			case len(args) > 0:
				c.printAgent(list[0])
				return nil
			}
			c.printAgents(list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&probe, "probe", false, "start the programs, and show what they say of themselves")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// completeAgent completes the name of an agent. Those of a spec are left out:
// to read one takes longer than a person waits for a completion.
func completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return append([]string{string(configs.Builtin)}, orchestrator.PresetNames()...), cobra.ShellCompDirectiveNoFileComp
}

// agentsNamed are all agents, or the one that the arguments name.
func (c *cli) agentsNamed(ctx context.Context, args []string) ([]orchestrator.AgentInfo, error) {
	list := orchestrator.Agents(ctx, c.specOfFolder())
	if len(args) == 0 {
		return list, nil
	}
	// The spec's own agents come last, and may have a preset's name: they count.
	var names []string
	for _, a := range slices.Backward(list) {
		if a.Name == args[0] {
			return []orchestrator.AgentInfo{a}, nil
		}
		names = append(names, a.Name)
	}
	slices.Reverse(names)
	return nil, usagef("there is no agent %q; there are %s", args[0], strings.Join(names, ", "))
}

// specOfFolder is the team of the folder's spec, if it has one that can be
// read. What is wrong with it is told by other commands; here it is looked at
// on the side only.
func (c *cli) specOfFolder() *configs.Team {
	team, err := configs.Load(c.path(defaultSpec))
	var mistakes configs.Errors
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &mistakes):
		c.err.printf("warning: %s has mistakes, so that its agents are not shown; covey validate lists them\n",
			plainLine(c.path(defaultSpec)))
	}
	return team
}

// printAgents prints two tables, since one with all columns would not fit on a
// terminal of 80 columns.
func (c *cli) printAgents(list []orchestrator.AgentInfo) {
	found := &table{head: []string{"AGENT", "VERSION", "LOGIN", "MEMBERS", "PROGRAM"}}
	held := &table{head: []string{"AGENT", "CANCEL", "STEER", "RESUME", "ASKS", "MCP", "USAGE", "SYSTEM"}}
	missing := false
	for _, a := range list {
		name, where := cell{text: a.Name}, cell{text: a.Path}
		login := cell{text: string(a.Login), style: loginStyle(a.Login)}
		if !a.Installed() {
			where, missing = cell{text: "not installed", style: faint}, true
			login = cell{text: "-"}
		}
		found.add(name, cell{text: a.Version}, login, cell{text: strings.Join(a.Members, ", ")}, where)
		h := a.Honours
		held.add(name, hold(h.Cancel), hold(h.Steer), hold(h.Resume), hold(h.Asks()), cell{text: h.MCP}, hold(h.Usage),
			hold(h.System))
	}
	found.print(c.out)
	c.out.printf("\n%s\n", c.out.paint(bold, "What they honour (gates hold at each one's turn end):"))
	held.print(c.out)
	how := ""
	if missing {
		how = " and how to install it"
	}
	c.out.printf("\ncovey agents NAME tells why%s; --probe starts them all.\n", how)
	if prices, err := orchestrator.ShippedPrices(); err == nil {
		c.out.printf("Where dollars are counted: %s.\n", priceAge(prices, time.Now()))
	}
}

// loginStyle sets off what needs somebody to act.
func loginStyle(s orchestrator.LoginState) style {
	switch s {
	case orchestrator.LoginYes:
		return green
	case orchestrator.LoginNo:
		return yellow
	}
	return normal
}

// hold is a cell for how far covey's word reaches.
func hold(h orchestrator.Hold) cell {
	switch h {
	case orchestrator.Enforced:
		return cell{string(h), green}
	case orchestrator.Absent:
		return cell{string(h), faint}
	}
	return cell{text: string(h)}
}

// probeAgents starts the programs, all at once, and shows what they say. The
// exit code is 1 if the one that was named is not ready: scripts ask that way.
func (c *cli) probeAgents(ctx context.Context, list []orchestrator.AgentInfo, named, asJSON bool) error {
	if !named {
		list = slices.DeleteFunc(list, func(a orchestrator.AgentInfo) bool {
			return a.Path == "" || a.Kind != configs.ACP
		})
	}
	probes := make([]orchestrator.AgentProbe, len(list))
	var started sync.WaitGroup
	for i, a := range list {
		started.Go(func() { probes[i] = a.Probe(ctx) })
	}
	started.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case asJSON:
		if err := c.out.json(probes); err != nil {
			return err
		}
	case len(probes) == 0:
		c.out.printf("No agent program that speaks ACP is installed; covey agents shows which there are.\n")
	default:
		c.printProbes(probes)
	}
	if named && !probes[0].Ready {
		return &endError{code: exitFailed}
	}
	return nil
}

// printProbes prints a short paragraph on each program.
func (c *cli) printProbes(probes []orchestrator.AgentProbe) {
	for _, p := range probes {
		state, st := "ready", green
		switch {
		case p.Login:
			state, st = "logged out", yellow
		case !p.Ready:
			state, st = "not ready", red
		}
		c.out.printf("%s  %s after %s\n", c.out.paint(bold, plainLine(p.Agent)), c.out.paint(st, state), elapsed(p.Took))
		if p.Problem != "" {
			c.paragraph(p.Problem)
		}
		if text := probeText(p); text != "" {
			c.paragraph(text)
		}
	}
}

// probeText is what a program said of itself, in a sentence.
func probeText(p orchestrator.AgentProbe) string {
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

// paragraph prints text with an indent, wrapped on a terminal.
func (c *cli) paragraph(text string) {
	width, _ := c.out.size()
	if width == 0 {
		c.out.printf("  %s\n", plainLine(text))
		return
	}
	for _, line := range wrapped(plainLine(text), width-2, width-2) {
		c.out.printf("  %s\n", line)
	}
}
