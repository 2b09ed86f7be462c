package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
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
	var asJSON, strict, noPrograms bool
	cmd := &cobra.Command{
		Use:   "validate [SPEC]",
		Short: "Check a spec and list all its mistakes at once",
		Long: `Check a spec and the files that it names, without starting anything. Every mistake
is listed as file:line:col with a correction. An agent whose program is not
installed, or a key that is missing, is a mistake, as it is for covey up; with
--no-programs it is none, for a job that only checks the spec. Warnings are those of covey up: hooks
and rules in settings files and plugins that have no effect or not the one that was
meant. The exit code is 0 for a spec that can run and 2 for one that cannot; with
--strict, a warning is a mistake.`,
		Example: `  covey validate
  covey validate examples/quickstart/team.yaml
  covey validate --json team.yaml`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := env.SpecPath(args)
			if err != nil {
				return err
			}
			load := env.RunnableSpec
			if noPrograms {
				load = env.SpecElsewhere
			}
			team, err := load(path)
			if err == nil {
				err = addWarnings(env, path, team, strict)
			}
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
	cmd.Flags().BoolVar(&strict, "strict", false, "count warnings as mistakes")
	cmd.Flags().BoolVar(&noPrograms, "no-programs", false, "leave out programs and keys that are missing here")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// addWarnings adds what a run of the team would warn of to the warnings of its spec, and
// shows it. With strict, its error lists all warnings.
func addWarnings(env *cli.Env, path string, team *configs.Team, strict bool) error {
	warnings, err := orchestrator.Warnings(team, env.Managed)
	if err != nil {
		return cli.SpecTrouble(path, err)
	}
	for _, w := range warnings {
		problem := yaml.Problem{File: path, Message: w.Error()}
		if f := (*settings.Flaw)(nil); errors.As(w, &f) {
			problem = yaml.Problem{File: f.File, Line: f.Line, Col: f.Col, Message: strings.TrimPrefix(f.Path+": "+f.Text, ": ")}
		}
		team.Warnings = append(team.Warnings, problem)
		if !strict {
			env.Err.Printf("%s\n", term.Plain("warning: "+problem.String()))
		}
	}
	if strict && len(team.Warnings) > 0 {
		return cli.SpecTrouble(path, configs.Errors(team.Warnings))
	}
	return nil
}

// teamSummary describes a spec in a few words, which shows that it was understood as
// meant.
func teamSummary(team *configs.Team) string {
	text := fmt.Sprintf("team %s, %s", team.Name, texts.Plural(len(team.Members()), "member"))
	if n := len(team.Templates); n > 0 {
		text += ", " + texts.Plural(n, "template")
	}
	if n := len(team.Tasks); n > 0 {
		text += ", " + texts.Plural(n, "task")
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
	case errors.As(found, &mistakes):
		v.Problems = mistakes
	case found != nil:
		v.Problems = []yaml.Problem{{File: path, Message: found.Error()}}
	default: // a spec that can be read has warnings at most
		v.Team, v.Override, v.Warnings = team.Name, team.Override, append(v.Warnings, team.Warnings...)
	}
	if err := out.JSON(v); err != nil {
		return err
	}
	if found != nil {
		return &cli.EndError{Code: cli.ExitCode(found)}
	}
	return nil
}
