package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
)

// HooksCommand returns `covey hooks`.
func HooksCommand(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List and check a team's hooks, or fire an event by hand",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(hooksListCommand(env), hooksRunCommand(env), hooksDoctorCommand(env))
	return cmd
}

// hookDoctorFlags are the flags of `covey hooks doctor`.
type hookDoctorFlags struct {
	hookFlags
	probe, json bool
}

// hooksDoctorCommand returns `covey hooks doctor`.
func hooksDoctorCommand(env *cli.Env) *cobra.Command {
	var f hookDoctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [SPEC]",
		Short: "Find hooks that cannot run, never run, or decide nothing",
		Long: `Check all hooks of a spec (team.yaml by default), or of settings files and
plugins, without running them. It finds commands that are missing or not
executable, scripts without an interpreter, misspelt events, fields and keys,
matchers and "if" conditions that no agent of this team can trigger, time-outs
that are too long, hooks that other hooks or a policy keep from running, and hooks
that have no effect. Each finding names the place and the correction. The exit code
is 1 if something is wrong.`,
		Example: `  covey hooks doctor
  covey hooks doctor --settings .claude/settings.json
  covey hooks doctor --probe     # try whether http hooks' servers answer, too
  covey hooks doctor --json | jq '.[] | select(.verdict == "fail")'`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				spec, err := env.SpecPath(args)
				if err != nil {
					return err
				}
				f.Spec = spec
			}
			return hooksDoctor(cmd.Context(), env, f)
		},
	}
	f.Add(env, cmd)
	cmd.Flags().BoolVar(&f.probe, "probe", false, "check whether the servers of http hooks answer")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// hooksDoctor examines hooks and prints the findings.
func hooksDoctor(ctx context.Context, env *cli.Env, f hookDoctorFlags) error {
	var findings []finding
	set, err := readHookSet(env, f.hookFlags)
	var mistakes configs.Errors
	switch {
	// A spec that cannot be read is a finding too. So --json always prints a list.
	case errors.As(err, &mistakes):
		findings = specFindings(mistakes)
	case err != nil:
		return err
	default:
		var count int
		if findings, count, err = examineHooks(ctx, set, f.probe); err != nil {
			return err
		}
		// No output would look the same as a doctor that found no hooks, so print the
		// count.
		if len(findings) == 0 {
			findings = []finding{ok("hooks", "%s, nothing wrong", hooksAndGates(count))}
		}
	}
	return show(env.Out, findings, f.json)
}

// hookFlags name the hooks for a command. By default they are those of the folder's spec.
type hookFlags struct {
	Spec     string // that of --spec, or of an argument
	settings []string
	plugins  []string
}

// Add adds the flags to a command.
func (f *hookFlags) Add(env *cli.Env, cmd *cobra.Command) {
	cmd.PreRun = func(*cobra.Command, []string) {
		if env.Spec != "" {
			f.Spec, _ = env.SpecPath(nil) // it fails only where no spec is named
		}
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.settings, "settings", nil,
		"take hooks of the settings `FILE`; may be given more than once")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "take hooks of the plugin in `DIR`; may be given more than once")
}

// none reports whether no flag is given.
func (f *hookFlags) none() bool { return f.Spec == "" && len(f.settings)+len(f.plugins) == 0 }

// hookSet holds the hooks for a command.
type hookSet struct {
	teamhooks.Layers // of the spec, the named files and managed settings

	Team      *configs.Team // nil: the flags name files and no spec
	Workspace string
	Folder    string   // the current folder, to which relative names are relative
	files     []string // the settings files that flags name
}

// readHookSet reads what the flags name, and managed settings. It changes nothing.
func readHookSet(env *cli.Env, f hookFlags) (*hookSet, error) {
	workspace, err := env.Folder()
	if err != nil {
		return nil, err
	}
	var team *configs.Team
	var named configs.Layers
	if f.Spec != "" || f.none() {
		path := f.Spec
		if path == "" {
			if path, err = env.SpecPath(nil); err != nil {
				return nil, err
			}
		}
		if team, err = configs.LoadWith(path, configs.Options{Managed: env.Managed}); err != nil {
			return nil, cli.SpecTrouble(path, err)
		}
		// If both a spec and files are named, the hooks of the spec come first.
		named = team.Layers(nil)
	}
	read := func(name string) ([]byte, error) { return settings.Read(env.Path(name)) }
	for _, path := range f.settings {
		if _, err := os.Stat(env.Path(path)); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usagef("there is no settings file %s", path)
		}
		named.AddSettings(path, read)
	}
	for _, dir := range f.plugins {
		root, err := filepath.Abs(env.Path(dir))
		if err != nil {
			return nil, cli.Usagef("--plugin %s: %v", dir, err)
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, cli.Usagef("there is no plugin folder %s", dir)
		}
		named.AddPlugin(root, settings.Read)
	}
	set, err := newHookSet(team, named, env.Managed, workspace)
	if err != nil {
		return nil, err
	}
	set.files = f.settings
	return set, nil
}

// newHookSet adds managed settings to the hooks of a team or of named files. folder is the current folder.
func newHookSet(team *configs.Team, named configs.Layers, managed []string, folder string) (*hookSet, error) {
	set := &hookSet{
		Layers: teamhooks.Layers{Sources: named.Sources, Servers: named.Servers, Warnings: named.Warnings},
		Team:   team, Workspace: folder, Folder: folder,
	}
	if team != nil {
		set.Workspace = team.Workspace
	}
	found, warnings, err := settings.LoadManaged(managed)
	if err != nil {
		return nil, err
	}
	set.AddManaged(found, warnings)
	return set, nil
}

// usable returns an error if a file of the set must not be used.
func (s *hookSet) usable() error {
	if refused := settings.Refused(s.Warnings); len(refused) > 0 {
		return cli.Usagef("%v", errors.Join(refused...))
	}
	return nil
}

// prepareData creates the folders in which plugins keep their data, where a team's
// run has them.
func (s *hookSet) prepareData() error {
	home, err := state.StateHome()
	if err != nil {
		return fmt.Errorf("folder for the data of plugins: %w", err)
	}
	return teamhooks.PreparePlugins(home, s.Sources)
}

// warnAll prints warnings. They go to stderr, so that the JSON on stdout stays one
// object.
func warnAll(env *cli.Env, warnings []error) {
	for _, w := range warnings {
		env.Err.Printf("%s\n", term.Plain(fmt.Sprintf("warning: %v", w)))
	}
}
