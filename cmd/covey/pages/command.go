package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// reportFlags are the flags of `covey report`.
type reportFlags struct {
	out             string
	md, json, force bool
}

// Command returns `covey report`.
func Command(env *cli.Env) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write what the team has done into one HTML file, or as Markdown",
		Long: `Write a report of the team, whether it runs or not: what was asked, what is open, what
was refused by whom and why, what people decided, what was merged and what each member
did; then the page of "covey web" with, for each task, what to look at first, its
evidence, verdicts, changes, turns and cost. It is one HTML file of at most 5 MB that
loads nothing and runs no script.
By default, it is covey-report-TEAM.html in the current folder; "--out -" prints it.

--md prints at most 60 lines of Markdown for a pull request or the summary of a CI job:
what the report begins with, and the tasks. --json prints the state that all views of
covey show.

Values that look like secrets are masked: tokens of well-known forms, values of
variables that hold keys by their names, and what the key files of the spec hold.
Read a report before you publish it, because it quotes the changes and what gates
print.`,
		Example: `  covey report
  covey report --out /tmp/night.html
  covey report --md >>"$GITHUB_STEP_SUMMARY"
  covey report --json | jq '.tasks[].refusals'`,
		Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.md && f.json {
				return cli.Usagef("--md and --json are different reports; choose one")
			}
			return nil
		},
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			r, err := readReport(ctx, env, place, !f.md && !f.json)
			if err != nil {
				return err
			}
			return f.write(env, r)
		}),
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write into `FILE`; - is standard output")
	cmd.Flags().BoolVar(&f.md, "md", false, "Markdown, by default to standard output")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite a file that is no report of covey")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: the state of the team")
	return cmd
}

// OfJob writes the report of a team that has ended in a CI job, as Markdown.
func OfJob(ctx context.Context, env *cli.Env, path string) error {
	place, err := env.Find()
	if err != nil {
		return err
	}
	r, err := readReport(ctx, env, place, false)
	if err != nil {
		return err
	}
	return reportFlags{md: true, force: true, out: path}.write(env, r)
}

// write writes the report in the form that was chosen.
func (f reportFlags) write(env *cli.Env, r *report) error {
	var data []byte
	var err error
	switch {
	case f.json:
		var text bytes.Buffer
		err = (&term.Screen{Writer: &text}).JSON(r.State)
		data = text.Bytes()
	case f.md:
		data = []byte(r.Markdown())
	default:
		data, err = r.HTML()
		if f.out == "" {
			f.out = "covey-report-" + r.State.Team + ".html"
		}
	}
	if err != nil {
		return fmt.Errorf("make the report: %w", err)
	}
	if f.out == "" || f.out == "-" {
		if _, err := env.Out.Writer.Write(data); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		return nil
	}
	path, err := filepath.Abs(env.Path(f.out))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := f.mayReplace(path); err != nil {
		return err
	}
	if err := state.WriteAtomic(path, data); err != nil {
		return fmt.Errorf("the report cannot be written to %s: %s; name another file with --out", path, texts.Cause(err))
	}
	env.Err.Printf("the report of team %s: %s\n", term.PlainLine(r.State.Team), term.PlainLine(path))
	return nil
}

// isReport reports whether a file with this beginning is a report of covey.
func isReport(head []byte) bool {
	return bytes.Contains(head, []byte(`<meta name="generator" content="covey report">`)) ||
		bytes.HasPrefix(head, []byte(markdownHead))
}

// mayReplace returns an error if a file would be lost. A link is not followed: a member could
// have made it.
func (f reportFlags) mayReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write the report: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file; name another one with --out", path)
	case f.force:
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if isReport(head) {
		return nil
	}
	return fmt.Errorf("%s is no report of covey; name another file with --out, or overwrite it with --force",
		path)
}
