package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
)

// validation is the output of `covey validate --json`, for editors and scripts.
type validation struct {
	Spec     string         `json:"spec"`
	Valid    bool           `json:"valid"`
	Team     string         `json:"team,omitempty"`
	Override string         `json:"override,omitempty"` // absolute path of the local override that is in use
	Problems []yaml.Problem `json:"problems"`
	Warnings []yaml.Problem `json:"warnings"`
}

// validateCommand returns `covey validate SPEC`.
func validateCommand(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [SPEC]",
		Short: "Check a spec and list all its mistakes at once",
		Long: `Check a spec and the files that it names, without starting anything. Every mistake
is listed as file:line:col with a correction. An agent whose program is not
installed is a mistake, as it is for covey up. The exit code is 0 for a spec that
can run and 2 for one that cannot.`,
		Example: `  covey validate
  covey validate examples/quickstart/team.yaml
  covey validate --json team.yaml`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := env.SpecPath(args)
			team, err := env.RunnableSpec(path)
			if asJSON {
				return printValidation(env.Out, path, team, err)
			}
			if err != nil {
				return err
			}
			env.Out.Printf("%s is valid: %s\n", term.PlainLine(path), teamSummary(team))
			if team.Override != "" {
				env.Out.Printf("with the local override %s\n", term.PlainLine(yaml.OverridePath(path)))
			}
			if team.Unchecked != "" {
				env.Out.Printf("requires %q was not checked: this covey is no release (%s)\n",
					team.Unchecked, env.Version)
			}
			if copies := cli.CopiesText(cmd.Context(), team); copies != "" {
				env.Out.Printf("%s\n", copies)
			}
			return nil
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// teamSummary describes a spec in a few words, which shows that it was understood as
// meant.
func teamSummary(team *configs.Team) string {
	text := fmt.Sprintf("team %s, %s", team.Name, term.Plural(len(team.Members()), "member"))
	if n := len(team.Tasks); n > 0 {
		text += ", " + term.Plural(n, "task")
	}
	return text
}

// printValidation prints the result as JSON. A problem without a place in the spec
// has only a text in the list. The returned error has an exit code and no text,
// because stdout has everything.
func printValidation(out *term.Screen, path string, team *configs.Team, found error) error {
	v := validation{Spec: path, Valid: found == nil, Problems: []yaml.Problem{}, Warnings: []yaml.Problem{}}
	var mistakes configs.Errors
	switch {
	// A spec that can be read has warnings at most.
	case team != nil:
		v.Team, v.Override, v.Warnings = team.Name, team.Override, append(v.Warnings, team.Warnings...)
	case errors.As(found, &mistakes):
		v.Problems = mistakes
	case found != nil:
		v.Problems = []yaml.Problem{{File: path, Message: found.Error()}}
	}
	if err := out.JSON(v); err != nil {
		return err
	}
	if found != nil {
		return &cli.EndError{Code: cli.ExitCode(found)}
	}
	return nil
}
