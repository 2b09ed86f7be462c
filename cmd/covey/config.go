package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
)

// explanation is the output of `covey config --json`.
type explanation struct {
	Spec    string           `json:"spec"`
	Key     string           `json:"key,omitempty"`
	Doc     string           `json:"doc,omitempty"`
	Origins []configs.Origin `json:"origins"`
}

// configCommand returns `covey config [SPEC]`.
func configCommand(env *cli.Env) *cobra.Command {
	var key string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config [SPEC]",
		Short: "Show where the values of a spec come from",
		Long: `Show which file gives each key of a spec: the policies that the spec extends, its local override, or the
spec itself. With --explain it shows one key, such as lead.limits.max_turns: first what the policies
allow at most or add, the outermost first, then what members inherit from defaults, and last the key
itself.`,
		Example: `  covey config
  covey config --explain budget.usd
  covey config --explain teammates.ana.permission_mode team.yaml`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := env.SpecPath(args)
			if err != nil {
				return err
			}
			list, doc, err := configs.Explain(path, key, configs.Options{Version: env.Version, Managed: env.Managed})
			if err != nil {
				return cli.SpecTrouble(path, err)
			}
			x := explanation{Spec: path, Key: key, Doc: doc, Origins: append([]configs.Origin{}, list...)}
			return env.Out.Show(asJSON, x, func() { printExplanation(env.Out, x) })
		},
	}
	cmd.Flags().StringVar(&key, "explain", "", "show one `KEY`, with its parts joined by dots")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printExplanation prints where keys come from.
func printExplanation(out *term.Screen, x explanation) {
	if x.Key != "" {
		out.Line(term.Bold, x.Key+": "+x.Doc)
		if len(x.Origins) == 0 {
			out.Printf("no file gives it\n")
			return
		}
	}
	term.TableOf(x.Origins,
		term.Text("FROM", func(o configs.Origin) string { return fmt.Sprintf("%s:%d", filepath.Base(o.File), o.Line) }),
		term.Text("KEY", func(o configs.Origin) string { return map[bool]string{true: "policy: "}[o.Policy] + o.Key }),
		term.Text("VALUE", func(o configs.Origin) string { return valueText(o.Value) }),
	).Print(out)
}

// valueText returns a value as a spec may have it, in one line.
func valueText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
