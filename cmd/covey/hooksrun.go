package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
)

// maxHookInput is the size of the largest hook input that is read, in bytes.
// Tool inputs may hold whole files, but not whole disks.
const maxHookInput = 64 << 20

// hookRunFlags are the flags of `covey hooks run`. Where nothing is named, the
// spec of the folder is meant.
type hookRunFlags struct {
	spec     string
	settings []string
	plugins  []string
	input    string
}

// hooksRunCommand is `covey hooks run EVENT`.
func (c *cli) hooksRunCommand() *cobra.Command {
	var f hookRunFlags
	cmd := &cobra.Command{
		Use:   "run EVENT",
		Short: "Fire one event by hand and print what its hooks decide",
		Long: `Fire one event: run the hooks that match it, as a team would, and print one JSON
object with what each of them did and what they decided together. Input fields
that are missing and common to all events are filled in. The hooks are those of
the spec (team.yaml by default) or, with --settings and --plugin, of the named
settings files and plugin folders, or all of them. The exit code is 0 whatever the hooks decide.`,
		Example: `  covey hooks run Stop
  echo '{"tool_name": "Bash", "tool_input": {"command": "git push"}}' |
    covey hooks run PreToolUse --input -
  covey hooks run TaskCompleted --settings .claude/settings.json --input input.json`,
		Args: argCount(1, 1, "the name of an event"),
		RunE: func(cmd *cobra.Command, args []string) error {
			event := hooks.Event(args[0])
			if !event.Known() {
				return unknownEvent(args[0])
			}
			return c.fire(cmd.Context(), event, f)
		},
		ValidArgsFunction: completeEvent,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.spec, "spec", "", "take hooks and gates of the spec `FILE`")
	flags.StringArrayVar(&f.settings, "settings", nil, "take hooks of the settings `FILE`; may be given more than once")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "take hooks of the plugin in `DIR`; may be given more than once")
	flags.StringVar(&f.input, "input", "", "read the hook input from `FILE`; - is standard input; default: an empty one")
	return cmd
}

// unknownEvent names the event that was probably meant.
func unknownEvent(name string) error {
	if near := hooks.Nearest(name); near != "" {
		return usagef("there is no event %q; did you mean %s?", name, near)
	}
	return usagef("there is no event %q; events are named as in Stop, TaskCompleted, PreToolUse", name)
}

// fire runs the hooks of one event and prints the outcome. The hooks run as
// they would in a team, but with the whole environment of the person who fires
// them, and without a transcript to look at.
func (c *cli) fire(ctx context.Context, event hooks.Event, f hookRunFlags) error {
	sources, workspace, err := c.hookSources(f)
	if err != nil {
		return err
	}
	raw, err := c.hookInput(f.input)
	if err != nil {
		return err
	}
	in, err := hooks.ParseInput(event, raw, hooks.Common{
		SessionID: uuid.NewString(), TranscriptPath: os.DevNull, Cwd: workspace, PermissionMode: string(configs.Default),
	})
	if err != nil {
		return usagef("input of %s: %v", event, err)
	}
	runner, err := hooks.NewRunner(sources, &hooks.Options{
		Env: os.Environ(), ProjectDir: workspace, Policies: absentPolicies(sources),
	})
	if err != nil {
		return usagef("%v", err)
	}
	outcome, err := fireWhole(ctx, runner, in)
	if err != nil {
		return err
	}
	for _, r := range outcome.Results {
		if r.Warning != "" {
			c.err.printf("%s\n", plainLine("warning: "+r.Command+": "+r.Warning))
		}
	}
	return c.out.json(fired(outcome))
}

// absentPolicies stand in for the policies that gates name: those look at a
// running team, and by hand there is none. As gates that cannot run, they
// refuse.
func absentPolicies(sources []hooks.Source) map[string]hooks.Policy {
	absent := map[string]hooks.Policy{}
	for _, h := range listHooks(sources) {
		name := h.handler.Policy
		if name == "" {
			continue
		}
		absent[name] = func(context.Context, hooks.Input) hooks.Result {
			text := "the policy " + name + " looks at a running team and cannot be asked by hand"
			return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: -1, Feedback: text, Warning: text}
		}
	}
	return absent
}

// hookInput is the JSON that the hooks are to get; none is an empty object. The
// limit holds for standard input as well, which may never end. The error of a
// file that is not there is one of usage.
func (c *cli) hookInput(path string) ([]byte, error) {
	from := c.in
	switch path {
	case "":
		return []byte("{}"), nil
	case "-":
	default:
		f, err := os.Open(c.path(path))
		if err != nil {
			return nil, usagef("--input: %v", err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, maxHookInput+1))
	if err == nil && len(data) > maxHookInput {
		return nil, usagef("--input %s: more than %d MiB", path, maxHookInput>>20)
	}
	return data, err
}

// hookSources are the layers of hooks that the flags name, and the workspace
// that they belong to. Naming a file by hand is consent to run it, so trust is
// not asked for here.
func (c *cli) hookSources(f hookRunFlags) ([]hooks.Source, string, error) {
	workspace, err := c.folder()
	if err != nil {
		return nil, "", err
	}
	var sources []hooks.Source
	if f.spec != "" || len(f.settings)+len(f.plugins) == 0 {
		path := defaultSpec
		if f.spec != "" {
			path = f.spec
		}
		team, err := configs.Load(c.specPath([]string{path}))
		if err != nil {
			return nil, "", specTrouble(path, err)
		}
		layers, warnings := team.Sources()
		c.warnAll(warnings)
		if err := orchestrator.PreparePlugins(layers); err != nil {
			return nil, "", err
		}
		sources, workspace = layers, team.Workspace
	}
	for _, path := range f.settings {
		file, err := c.hookFile(path)
		if err != nil {
			return nil, "", err
		}
		sources = append(sources, hooks.Source{Name: path, Settings: file.Hooks, Restrictions: file.Restrictions})
	}
	for _, dir := range f.plugins {
		source, err := c.pluginSource(dir)
		if err != nil {
			return nil, "", err
		}
		sources = append(sources, source)
	}
	sources, err = c.withManaged(sources)
	return sources, workspace, err
}

// withManaged adds the layers of managed settings, and tells what the layers
// switch off in each other.
func (c *cli) withManaged(sources []hooks.Source) ([]hooks.Source, error) {
	managed, warnings, err := configs.LoadManaged(c.managed)
	if err != nil {
		return nil, err
	}
	c.warnAll(warnings)
	sources = append(sources, managed.Sources...)
	for _, note := range hooks.LimitsOf(sources).Notes() {
		c.err.printf("%s\n", plain("warning: "+note))
	}
	return sources, nil
}

// warnAll tells of what is wrong and does not keep anything from going on. They
// go to stderr, so that the JSON on stdout stays one object.
func (c *cli) warnAll(warnings []error) {
	for _, w := range warnings {
		c.err.printf("%s\n", plain(fmt.Sprintf("warning: %v", w)))
	}
}

// completeEvent completes the name of an event. All of them, also those that a
// team does not fire yet: by hand any can be fired.
func completeEvent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, e := range hooks.Events() {
		names = append(names, string(e.Event))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
