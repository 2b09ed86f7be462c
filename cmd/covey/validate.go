package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
)

// validation is what `covey validate --json` prints. Editors and scripts read
// it; people have the plain form.
type validation struct {
	Spec     string            `json:"spec"`
	Valid    bool              `json:"valid"`
	Team     string            `json:"team,omitempty"`
	Override string            `json:"override,omitempty"` // absolute path of the local override that is in use
	Problems []configs.Problem `json:"problems"`
	Warnings []configs.Problem `json:"warnings"`
}

// validateCommand is `covey validate SPEC`.
func (c *cli) validateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [SPEC]",
		Short: "Check a spec and list all its mistakes at once",
		Long: `Check a spec, and the files that it names, without starting anything. Every
mistake is listed as file:line:col with what to write instead. An agent whose
program is not installed here is a mistake, too, as it is for covey up. The exit
code is 0 for a spec that can run and 2 for one that cannot.`,
		Example: `  covey validate
  covey validate examples/quickstart/team.yaml
  covey validate --json team.yaml`,
		Args: argCount(0, 1, "at most one spec"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := c.specPath(args)
			team, err := c.runnableSpec(path)
			if asJSON {
				return c.printValidation(path, team, err)
			}
			if err != nil {
				return err
			}
			c.out.printf("%s is valid: %s\n", plainLine(path), teamSummary(team))
			if team.Override != "" {
				c.out.printf("with the local override %s\n", plainLine(configs.OverridePath(path)))
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// teamSummary says in a few words what a spec describes. It shows that the spec
// was understood as it was meant.
func teamSummary(team *configs.Team) string {
	text := fmt.Sprintf("team %s, %s", team.Name, plural(len(team.Members()), "member"))
	if n := len(team.Tasks); n > 0 {
		text += ", " + plural(n, "task")
	}
	return text
}

// plural is a number with a word that follows it. The plural is made with an s,
// so word must be one that takes it.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// printValidation prints what was found as JSON. A problem that has no place in
// the spec has none in the list either, but its text. The error has the exit
// code and nothing to print: stdout has it all, and a second text on stderr
// would confuse who reads both.
func (c *cli) printValidation(path string, team *configs.Team, found error) error {
	v := validation{Spec: path, Valid: found == nil, Problems: []configs.Problem{}, Warnings: []configs.Problem{}}
	var mistakes configs.Errors
	switch {
	case team != nil:
		v.Team, v.Override, v.Warnings = team.Name, team.Override, append(v.Warnings, team.Warnings...)
	case errors.As(found, &mistakes):
		v.Problems = mistakes
	case found != nil:
		v.Problems = []configs.Problem{{File: path, Message: found.Error()}}
	}
	if err := c.out.json(v); err != nil {
		return err
	}
	if found != nil {
		return &endError{code: exitCode(found)}
	}
	return nil
}
