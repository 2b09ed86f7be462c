package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
)

// listedHook is one configured hook with where it comes from.
type listedHook struct {
	event   hooks.Event
	matcher string
	source  string
	handler hooks.Handler
}

// listHooks are the hooks of all sources, by event, in the order in which they
// are configured.
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

// commandOf is what a hook runs, in one text.
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
		Long: `List the hooks and gates that a team has. Of a running team the list says how often
each ran, refused, and failed and let it pass; without one it is what the spec
says.`,
		Example: `  covey hooks list
  covey hooks list --spec examples/quickstart/team.yaml
  covey hooks list --json | jq '.[] | select(.failed_open > 0)'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			infos, running, err := c.hookInfos(cmd.Context(), spec)
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(append([]orchestrator.HookInfo{}, infos...))
			}
			c.printHooks(infos, running)
			return nil
		},
	}
	cmd.Flags().StringVar(&spec, "spec", "", "list the hooks of the spec `FILE`, whether its team runs or not")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// hookInfos are the hooks of the team that is meant if it runs, else those of
// the spec.
func (c *cli) hookInfos(ctx context.Context, spec string) (infos []orchestrator.HookInfo, running bool, err error) {
	args := []string{}
	if spec != "" {
		args = append(args, spec)
	} else {
		place, err := c.find()
		if err == nil {
			if client, err := orchestrator.Dial(ctx, place); err == nil {
				defer client.Close()
				infos, err := client.Hooks(ctx)
				return infos, true, err
			}
			if run, err := orchestrator.ReadRunFile(place); err == nil && c.team != "" {
				args = append(args, run.Spec)
			}
		}
	}
	path := c.specPath(args)
	team, err := configs.Load(path)
	if err != nil {
		return nil, false, specTrouble(path, err)
	}
	sources, warnings := team.Sources()
	c.warnAll(warnings)
	for _, h := range listHooks(sources) {
		infos = append(infos, orchestrator.HookInfo{
			Event: string(h.event), Matcher: h.matcher, If: h.handler.If, Type: handlerType(h.handler),
			Command: commandOf(h.handler), Source: h.source, Gate: h.handler.Gate,
		})
	}
	return infos, false, nil
}

// handlerType is a hook's type; a policy has none of its own.
func handlerType(h hooks.Handler) string {
	if h.Policy != "" {
		return "policy"
	}
	return h.Type
}

// printHooks prints hooks as a table, with counts if their team runs.
func (c *cli) printHooks(infos []orchestrator.HookInfo, running bool) {
	if len(infos) == 0 {
		c.out.printf("no hooks\n")
		return
	}
	t := table{head: []string{"EVENT", "MATCHER", "TYPE", "GATE", "COMMAND", "SOURCE"}}
	if running {
		t.head = append(t.head, "RUNS", "REFUSALS", "FAILED OPEN")
	}
	for _, h := range infos {
		row := []cell{{text: h.Event}, {text: h.Matcher}, {text: h.Type}, {text: yesNo(h.Gate)}, {text: h.Command}, {text: h.Source}}
		if running {
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
