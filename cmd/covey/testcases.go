package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cases"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/state"
)

// testRun is one run of `covey test`.
type testRun struct {
	env                              *cli.Env
	folder, pattern, junit           string
	verbose, tap, json, cover, trust bool
	begin                            bool // write cases from the last run
	recordings                       bool // check recordings in place of cases
}

// testCommand returns `covey test`.
func testCommand(env *cli.Env) *cobra.Command {
	r := testRun{env: env}
	cmd := &cobra.Command{
		Use:   "test [SPEC]",
		Short: "Test what a team's rules, hooks and gates decide",
		Long: `Run the cases in the folder covey-tests beside the spec, or those of --cases. A case
has a table of tool calls with the decisions that are expected, or scripts for members
and what must be seen in a run of the team: gates, tasks, calls, messages, the end.
Rules and hooks decide as in a run. Calls of a table are not run; a team works in a
workspace and a state of its own. No model is asked, except by hooks that ask one.

SPEC is for case files that name no spec. Naming it or --cases is consent to run what
they name; otherwise the folder's team.yaml must be trusted, as for "covey up".

The exit code is 1 if a case fails, and 2 if a case file or spec has mistakes.`,
		Example: `  covey test
  covey test team.yaml -run push -v
  covey test --cases policy/cases --junit junit.xml
  covey test --init         write a first case from the last run`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return r.start(ctx, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.folder, "cases", "", "the folder or file `DIR` of the cases; default: covey-tests beside the spec")
	flags.StringVar(&r.pattern, "run", "", "only cases whose names match the regular expression `RE`")
	flags.BoolVarP(&r.verbose, "verbose", "v", false, "print cases that pass, too")
	flags.StringVar(&r.junit, "junit", "", "write the results to `FILE`, as JUnit")
	flags.BoolVar(&r.tap, "tap", false, "print TAP")
	flags.BoolVar(&r.cover, "cover", false, "print what no case has made rules, hooks and gates do")
	flags.BoolVar(&r.begin, "init", false, "write cases from the last run of the team")
	flags.BoolVar(&r.recordings, "check-recordings", false, "only check the recordings in the spec's folder or --cases: are they whole, and without keys?")
	flags.BoolVar(&r.trust, "trust", false, "trust what the folder's team.yaml would run, for this command")
	cli.JSONFlag(cmd, &r.json)
	cmd.MarkFlagsMutuallyExclusive("json", "tap")
	return cmd
}

// goFlags writes the flag -run of `covey test` as this program's flags are written, because `go test` has it.
func goFlags(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "test" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "-run" || strings.HasPrefix(arg, "-run=") {
			args[i] = "-" + arg
		}
	}
	return args
}

// start reads the cases, runs them and prints the results.
func (r *testRun) start(ctx context.Context, args []string) error {
	spec, err := r.env.SpecPath(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(spec); len(args) > 0 && errors.Is(err, fs.ErrNotExist) { // also if no case needs it
		return cli.SpecTrouble(r.env.Shown(spec), err)
	}
	if r.begin {
		return r.writeCases(spec)
	}
	if r.recordings {
		return r.checkRecordings(spec)
	}
	pattern, err := regexp.Compile(r.pattern)
	if err != nil {
		return cli.Usagef("-run %s is no regular expression: %s", r.pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	files, err := r.find(spec)
	if err != nil {
		return err
	}
	if r.folder == "" && len(args) == 0 && r.env.Spec == "" {
		if err := r.mayRun(ctx, spec, files); err != nil {
			return err
		}
	}
	suite := &cases.Suite{Load: r.env.SpecElsewhere, Default: spec, Version: r.env.Version, Managed: r.env.Managed}
	list, err := suite.PrepareAll(files, func(c *cases.Case) bool { return pattern.MatchString(c.Name) })
	defer func() {
		for _, p := range list {
			if err := p.Close(); err != nil {
				r.env.Err.Printf("covey: %s\n", cli.ErrorText(err))
			}
		}
	}()
	if err != nil {
		return caseTrouble(err)
	}
	if len(list) == 0 {
		return cli.Usagef("no case matches -run %s", r.pattern)
	}
	return r.run(ctx, list)
}

// checkRecordings checks the recordings in a folder.
func (r *testRun) checkRecordings(spec string) error {
	folder := filepath.Dir(spec)
	if r.folder != "" {
		folder = r.env.Path(r.folder)
	}
	team, _ := r.env.SpecElsewhere(spec) // without it, keys of the environment and known forms of keys are found
	secrets := launch.Secrets(team, os.Environ())
	n, err := recordings.Check(folder, func(text string) string { return texts.Mask(text, secrets) })
	switch {
	case err != nil:
		return err
	case n == 0:
		return cli.Usagef("%s has no recording; covey up --record DIR makes one", folder)
	}
	r.env.Out.Printf("%s can be used and committed\n", texts.Plural(n, "recording"))
	return nil
}

// caseTrouble makes a usage error of mistakes in case files.
func caseTrouble(err error) error {
	var mistakes yaml.Errors
	if errors.As(err, &mistakes) {
		return cli.SpecTrouble("", mistakes)
	}
	return err
}

// find returns the case files, of which there is at least one.
func (r *testRun) find(spec string) ([]*cases.File, error) {
	folder := filepath.Join(filepath.Dir(spec), cases.Folder)
	if r.folder != "" {
		folder = r.env.Path(r.folder)
	}
	files, err := cases.Find(folder)
	_, noSpec := os.Stat(spec)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.folder == "" && errors.Is(noSpec, fs.ErrNotExist):
		return nil, cli.SpecTrouble(r.env.Shown(spec), noSpec)
	case errors.Is(err, fs.ErrNotExist) && r.folder == "":
		return nil, cli.Usagef("there is no folder %s with cases; covey test --init writes a first one, and --cases names another", folder)
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.Usagef("--cases: there is no %s", folder)
	case err != nil:
		return nil, caseTrouble(err)
	case len(files) == 0:
		return nil, cli.Usagef("%s has no case file: none of its YAML files begins with covey-test: %d", folder, cases.Format)
	}
	return files, nil
}

// mayRun decides whether the specs of the cases are trusted.
func (r *testRun) mayRun(ctx context.Context, spec string, files []*cases.File) error {
	asked := map[string]bool{}
	for _, f := range files {
		path := f.SpecPath(spec)
		if path == "" || asked[path] {
			continue
		}
		asked[path] = true
		team, err := r.env.SpecElsewhere(path)
		if err != nil {
			return err
		}
		if err := r.env.MayRun(ctx, team, path, r.trust); err != nil {
			return err
		}
	}
	return nil
}

// run runs the cases and prints the results.
func (r *testRun) run(ctx context.Context, list []*cases.Prepared) error {
	printer := &cases.Printer{Out: r.env.Out, Verbose: r.verbose}
	see := printer.Add
	if r.json || r.tap {
		see = func(cases.Result) {}
	}
	results, err := cases.RunAll(ctx, list, see)
	if err != nil {
		return err
	}
	printer.End()
	failed := 0
	for _, one := range results {
		if !one.Passed {
			failed++
		}
	}
	if err := r.write(list, results, failed); err != nil {
		return err
	}
	if failed > 0 {
		return &cli.EndError{Code: cli.ExitFailed}
	}
	return nil
}

// write writes the results in the forms that the flags ask for.
func (r *testRun) write(list []*cases.Prepared, results []cases.Result, failed int) error {
	if r.junit != "" {
		text, err := cases.JUnit(results)
		if err == nil {
			err = state.WriteAtomic(r.env.Path(r.junit), text)
		}
		if err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	var cover []cases.Covered
	if r.cover {
		cover = cases.Cover(list, results)
	}
	switch {
	case r.json:
		return r.env.Out.JSON(struct {
			Passed int             `json:"passed"`
			Failed int             `json:"failed"`
			Cases  []cases.Result  `json:"cases"`
			Cover  []cases.Covered `json:"cover,omitempty"`
		}{len(results) - failed, failed, results, cover})
	case r.tap:
		r.env.Out.Printf("%s", cases.TAP(results))
	}
	if r.cover && !r.tap {
		cases.PrintCover(r.env.Out, cover)
	}
	return nil
}

// writeCases writes cases from the last run of the team.
func (r *testRun) writeCases(spec string) error {
	team, err := r.env.SpecElsewhere(spec)
	if err != nil {
		return err
	}
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	folder := filepath.Join(filepath.Dir(spec), cases.Folder)
	if r.folder != "" {
		folder = r.env.Path(r.folder)
	}
	path := filepath.Join(folder, "last-run.yaml")
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already; rename it, or remove it", path)
	}
	from, err := filepath.Rel(folder, spec)
	if err != nil {
		if from, err = filepath.Abs(spec); err != nil {
			return err
		}
	}
	secrets := launch.Secrets(team, os.Environ())
	drafted, err := cases.Draft(place, team, from, func(text string) string { return texts.Mask(text, secrets) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("team %s has not run here, so there is no run to write cases from; covey up runs it", team.Name)
	}
	if err != nil {
		return err
	}
	drafted.Scripts["last-run.yaml"] = drafted.Cases
	for _, name := range slices.Sorted(maps.Keys(drafted.Scripts)) {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(drafted.Scripts[name]), 0o644); err != nil {
			return err
		}
		r.env.Out.Printf("wrote %s\n", term.PlainLine(file))
	}
	r.env.Out.Printf("covey test runs it; keep what your policy means to decide, and remove the rest\n")
	return nil
}
