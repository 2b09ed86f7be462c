package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
)

// listedHook is one configured hook with where it comes from. The handler is as
// it was configured, before anything was made of it.
type listedHook struct {
	event   hooks.Event
	matcher string
	source  string
	handler hooks.Handler
}

// listHooks are the hooks of all sources, by event, in the order in which they
// are configured. Within an event the sources come in the order in which they
// are given, and the groups of each in that of its settings.
func listHooks(sources []hooks.Source) []listedHook {
	var list []listedHook
	for _, s := range sources {
		for _, event := range slices.Sorted(maps.Keys(s.Settings)) {
			for _, group := range s.Settings[event] {
				for _, h := range group.Hooks {
					list = append(list, listedHook{event, group.Matcher, s.Name, h})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(x, y listedHook) int { return cmp.Compare(x.event, y.event) })
	return list
}

// commandOf is what a hook runs, in one text. Which field that is depends on
// the type; only one of them is ever set. A hook of a type that has none of the
// fields shows as a blank.
func commandOf(h hooks.Handler) string {
	return firstOf(h.Policy, h.Command, h.URL, h.Prompt, h.Server+" "+h.Tool)
}

// hooksListCommand is `covey hooks list`.
func (c *cli) hooksListCommand() *cobra.Command {
	var spec string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List a team's hooks and gates, and how often they ran",
		Long: `List the hooks and gates that a team has and, if it has run, how often each of them
ran in its last run, refused, and failed and let it pass.`,
		Example: `  covey hooks list
  covey hooks list --spec examples/quickstart/team.yaml
  covey hooks list --json | jq '.[] | select(.failed_open > 0)'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			infos, ran, err := c.hookInfos(cmd.Context(), spec)
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(append([]orchestrator.HookInfo{}, infos...))
			}
			c.printHooks(infos, ran)
			return nil
		},
	}
	cmd.Flags().StringVar(&spec, "spec", "", "list what the spec `FILE` says, whether its team has run or not")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// hookInfos are the hooks of the team that is meant if it runs, else those of
// the spec, with what its last run made of them. ran says whether there was
// one: without it, counts would be zeros that mean nothing.
func (c *cli) hookInfos(ctx context.Context, spec string) (infos []orchestrator.HookInfo, ran bool, err error) {
	if spec != "" {
		infos, err = c.specHooks([]string{spec})
		return infos, false, err
	}
	place, err := c.find()
	if err != nil { // it has never run; its spec is all there is
		infos, err = c.specHooks(nil)
		return infos, false, err
	}
	client, err := orchestrator.Dial(ctx, place)
	switch {
	case err == nil:
		defer client.Close()
		infos, err = client.Hooks(ctx)
	case errors.Is(err, orchestrator.ErrNotRunning):
		infos, err = c.specHooks(specOf(place))
	}
	if err != nil {
		return nil, false, err
	}
	return infos, true, countHooks(infos, place)
}

// specOf is the spec with which a team ran last, as arguments name it. nil
// stands for team.yaml: a run that left no spec behind leaves that to try.
func specOf(place orchestrator.Place) []string {
	if run, err := orchestrator.ReadRunFile(place); err == nil && run.Spec != "" {
		return []string{run.Spec}
	}
	return nil
}

// specHooks are the hooks that a spec configures. Counts are zero here; see
// countHooks.
func (c *cli) specHooks(args []string) ([]orchestrator.HookInfo, error) {
	path := c.specPath(args)
	team, err := configs.Load(path)
	if err != nil {
		return nil, specTrouble(path, err)
	}
	sources, warnings := team.Sources()
	c.warnAll(warnings)
	if sources, err = c.withManaged(sources); err != nil {
		return nil, err
	}
	var infos []orchestrator.HookInfo
	for _, h := range listHooks(sources) {
		infos = append(infos, orchestrator.HookInfo{
			Event: string(h.event), Matcher: h.matcher, If: h.handler.If, Type: handlerType(h.handler),
			Command: commandOf(h.handler), Source: h.source, Gate: h.handler.Gate,
		})
	}
	return infos, nil
}

// countHooks fills in how often each hook ran in the last run, which its
// journal knows. Two hooks with one event and one command are one to the
// journal, and so they are here.
func countHooks(infos []orchestrator.HookInfo, place orchestrator.Place) error {
	run, err := readLastRun(place)
	if err != nil {
		return err
	}
	for i := range infos {
		if n := run.hooks[hookName{infos[i].Event, infos[i].Command}]; n != nil {
			infos[i].Runs, infos[i].Refusals, infos[i].FailedOpen = n.runs, n.refusals, n.failed
		}
	}
	return nil
}

// handlerType is a hook's type; a policy has none of its own.
func handlerType(h hooks.Handler) string {
	if h.Policy != "" {
		return "policy"
	}
	return h.Type
}

// printHooks prints hooks as a table, with counts if their team has run.
// Failures to run are set off, for they are what nobody notices.
func (c *cli) printHooks(infos []orchestrator.HookInfo, ran bool) {
	if len(infos) == 0 {
		c.out.printf("no hooks\n")
		return
	}
	t := table{head: []string{"EVENT", "MATCHER", "TYPE", "GATE", "COMMAND", "SOURCE"}}
	if ran {
		t.head = append(t.head, "RUNS", "REFUSALS", "FAILED OPEN")
	}
	for _, h := range infos {
		row := []cell{{text: h.Event}, {text: h.Matcher}, {text: h.Type}, {text: yesNo(h.Gate)}, {text: h.Command}, {text: h.Source}}
		if ran {
			failed := cell{text: fmt.Sprint(h.FailedOpen)}
			if h.FailedOpen > 0 {
				failed.style = yellow
			}
			row = append(row, cell{text: fmt.Sprint(h.Runs)}, cell{text: fmt.Sprint(h.Refusals)}, failed)
		}
		t.add(row...)
	}
	t.print(c.out)
}

// yesNo is a truth for people.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
