package doctor

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
)

// maxHookInput is the size of the largest hook input in bytes. Tool inputs may hold
// whole files.
const maxHookInput = 64 << 20

// hookRunFlags are the flags of `covey hooks run`.
type hookRunFlags struct {
	hookFlags
	input string
	trust bool
}

// hooksRunCommand returns `covey hooks run EVENT`.
func hooksRunCommand(env *cli.Env) *cobra.Command {
	var f hookRunFlags
	cmd := &cobra.Command{
		Use:   "run EVENT",
		Short: "Fire one event by hand and print what its hooks decide",
		Long: `Fire one event: run the hooks that match it, as a team would, and print one JSON
object with what each of them did and their joint decision. Missing input fields
that all events share are filled in. The hooks are those of the spec (team.yaml by
default) or, with --settings and --plugin, those of the named settings files and
plugin folders. covey waits for hooks in the background. The exit code is 0 whatever
the hooks decide.

Files that you name are run. If you name none, the folder's team.yaml must be
trusted, as for "covey up": see "covey trust".`,
		Example: `  covey hooks run Stop
  echo '{"tool_name": "Bash", "tool_input": {"command": "git push"}}' |
    covey hooks run PreToolUse --input -
  covey hooks run TaskCompleted --settings settings.json --input input.json
  covey hooks run Stop --plugin plugins/ralph-wiggum | jq .decision`,
		Args: cli.ArgCount(1, 1, "the name of an event"),
		RunE: func(cmd *cobra.Command, args []string) error {
			event := hooks.Event(args[0])
			if !event.Known() {
				return unknownEvent(args[0])
			}
			return fireEvent(cmd.Context(), env, event, f)
		},
		ValidArgsFunction: completeEvent,
	}
	f.Add(env, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "read the hook input from `FILE`; - is standard input; default: an empty one")
	flags.BoolVar(&f.trust, "trust", false, "trust what the folder's team.yaml would run, for this command")
	return cmd
}

// unknownEvent suggests the event that was probably meant.
func unknownEvent(name string) error {
	if near := hooks.Nearest(name); near != "" {
		return cli.Usagef("there is no event %q; did you mean %s?", name, near)
	}
	return cli.Usagef("there is no event %q; covey hooks list --events lists them", name)
}

// fireEvent runs the hooks of one event and prints the outcome. The hooks run as in a
// team, but without a transcript.
func fireEvent(ctx context.Context, env *cli.Env, event hooks.Event, f hookRunFlags) error {
	set, err := readHookSet(env, f.hookFlags)
	if err != nil {
		return err
	}
	if err := set.usable(); err != nil {
		return err
	}
	warnAll(env, set.Warnings)
	raw, err := hookInput(env, f.input)
	if err != nil {
		return err
	}
	in, err := hooks.ParseInput(event, raw, hooks.Common{
		SessionID: uuid.NewString(), TranscriptPath: os.DevNull, Cwd: set.Workspace,
		PermissionMode: string(configs.Default),
	})
	if err != nil {
		return cli.Usagef("input of %s: %v", event, err)
	}
	// Naming a file is consent to run it; being in its folder is not.
	if f.none() {
		spec, err := env.SpecPath(nil)
		if err != nil {
			return err
		}
		if err := env.MayRun(ctx, set.Team, spec, f.trust); err != nil {
			return err
		}
	}
	if err := set.prepareData(); err != nil {
		return err
	}
	return fireAt(ctx, env, set, in)
}

// fireAt runs the hooks of a set that match an input, including those in the
// background, and prints the outcome.
func fireAt(ctx context.Context, env *cli.Env, set *hookSet, in hooks.Input) error {
	home, err := state.StateHome()
	if err != nil {
		return err
	}
	environ, err := set.environment()
	if err != nil {
		return err
	}
	opts := runner.Options{
		Env: environ, ProjectDir: set.Workspace, Policies: absentPolicy,
		SpillDir: filepath.Join(home, "hooks-run"), // not in a team's folder: there may be none
	}
	if set.Team != nil {
		opts.FailClosed = set.Team.FailClosed
		opts.Session = func(in hooks.Input) runner.Session {
			_, member := in.Member()
			return runner.Session{Team: set.Team.Name, Member: member}
		}
		opts.Locate = func(_ hooks.Input, h hooks.Handler) (string, []string) { return set.Team.Located(h) }
		// Load the team only for hooks that ask a model or server: another hook must
		// not fail because of a mistake in some member's script.
		if asksTeam(set.Sources) {
			hand, err := orchestrator.ByHand(set.Team)
			if err != nil {
				return cli.SpecTrouble(set.Team.File, err)
			}
			defer hand.Close()
			opts.Models, opts.Tools = hand.Models(), hand.Tools()
		}
	}
	hookRunner, err := runner.New(set.Sources, &opts)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	outcome, err := fireWhole(ctx, hookRunner, in)
	if err != nil {
		return err
	}
	for _, w := range outcome.Warnings {
		env.Err.Printf("%s\n", term.PlainLine("warning: "+w))
	}
	for _, r := range outcome.Results {
		if r.Warning != "" {
			env.Err.Printf("%s\n", term.PlainLine("warning: "+r.Command+": "+r.Warning))
		}
	}
	return env.Out.JSON(fired(outcome))
}

// environment returns the environment that hooks get in a team: that of the set, or, for
// files alone, of one without a name.
func (s *hookSet) environment() ([]string, error) {
	if s.Team == nil {
		return launch.Environment(os.Environ()), nil
	}
	place, err := state.PlaceOf(s.Team.Name, s.Team.Workspace)
	if err != nil {
		return nil, err
	}
	bin, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch.HandEnvironment(bin, place), nil
}

// absentPolicy replaces the policies of gates, which look at a running team. By hand
// there is none, so they refuse as gates that cannot run. An approval waits instead,
// because what it waits for is known.
func absentPolicy(name string) runner.Policy {
	if who, ok := inbox.Approver(name); ok {
		return func(context.Context, hooks.Input) hooks.Result {
			return hooks.Result{
				Outcome: hooks.Awaiting, Wait: &hooks.Wait{For: "the approval of " + who},
				Feedback: "The task would wait for the approval of " + who + "; by hand nobody is asked.",
			}
		}
	}
	return func(context.Context, hooks.Input) hooks.Result {
		text := "the policy " + name + " looks at a running team and cannot be asked by hand"
		return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: -1, Feedback: text, Warning: text}
	}
}

// asksTeam reports whether a hook asks a model or a server of the team.
func asksTeam(sources []settings.Source) bool {
	for _, s := range sources {
		for _, h := range s.Settings.Handlers() {
			if h.Type == "prompt" || h.Type == "agent" || h.Type == "mcp_tool" {
				return true
			}
		}
	}
	return false
}

// hookInput returns the JSON for the hooks; by default an empty object. The limit
// also applies to standard input, which may never end. A missing file is a usage
// error.
func hookInput(env *cli.Env, path string) ([]byte, error) {
	from := env.In
	switch path {
	case "":
		return []byte("{}"), nil
	case "-":
	default:
		f, err := os.Open(env.Path(path))
		if err != nil {
			return nil, cli.Usagef("--input: %v", err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, maxHookInput+1))
	if err == nil && len(data) > maxHookInput {
		return nil, cli.Usagef("--input %s: more than %d MiB", path, maxHookInput>>20)
	}
	return data, err
}

// completeEvent completes the name of any event, because by hand any can be fired.
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

// fireWhole fires an event and waits for all its hooks, including those in the
// background, because the operator wants to see their results. The outcome holds what
// they say to the model. A turn end to which one of them objects counts as refused,
// because the agent goes on either way.
func fireWhole(ctx context.Context, hookRunner *runner.Runner, in hooks.Input) (hooks.Outcome, error) {
	var late []hooks.Progress
	out, err := hookRunner.Run(ctx, in, func(p hooks.Progress) {
		if p.Background != nil && p.Result != nil {
			late = append(late, p)
		}
	})
	// Drain returns after all observers have been told, so late is complete and needs no
	// lock.
	hookRunner.Drain(ctx, "")
	for _, p := range late {
		b := p.Background
		out.Results = append(out.Results, *p.Result)
		out.SystemMessages = append(out.SystemMessages, b.SystemMessages...)
		if !b.Wakes {
			out.AdditionalContext = append(out.AdditionalContext, b.Messages...)
			continue
		}
		out.Feedback, out.Messages = append(out.Feedback, b.Messages...), append(out.Messages, b.Messages...)
		if b.Feedback && out.Decision == hooks.Pass {
			out.Decision = hooks.Block
		}
	}
	return out, err
}

// firedEvent is the output of `covey hooks run`. Programs
// read it, so it always has the same shape: lists are never null, and no field is
// omitted.
type firedEvent struct {
	Event             hooks.Event                `json:"event"`
	ToolUseID         string                     `json:"tool_use_id"`
	Matched           int                        `json:"matched"`
	Results           []firedHook                `json:"results"`
	Decision          hooks.Decision             `json:"decision"`
	Feedback          []string                   `json:"feedback"`
	StopReason        string                     `json:"stop_reason"`
	AdditionalContext []string                   `json:"additional_context"`
	SystemMessages    []string                   `json:"system_messages"`
	Permission        hooks.Permission           `json:"permission"`
	UpdatedInput      json.RawMessage            `json:"updated_input"` // null: unchanged
	Output            map[string]json.RawMessage `json:"output"`
}

// firedHook is the result of one hook of a firedEvent. Results are in the order in
// which the hooks ended.
type firedHook struct {
	Type       string       `json:"type"`
	Command    string       `json:"command"`
	Outcome    hooks.Status `json:"outcome"`
	ExitCode   int          `json:"exit_code"`
	DurationMS int64        `json:"duration_ms"`
	Stdout     string       `json:"stdout"`
	Stderr     string       `json:"stderr"`
}

// shown returns the feedback exactly as the model sees it. A turn end frames it, after everything else.
func shown(o hooks.Outcome) []string {
	if !hooks.InfoOf(o.Event).EndsTurn() {
		return o.Feedback
	}
	return o.Messages[len(o.Messages)-len(o.Feedback):]
}

// fired converts an outcome for printing.
func fired(o hooks.Outcome) firedEvent {
	f := firedEvent{
		Event: o.Event, ToolUseID: o.ToolUseID, Matched: o.Matched, Decision: o.Decision,
		Results:    make([]firedHook, 0, len(o.Results)),
		Feedback:   append([]string{}, shown(o)...),
		StopReason: o.StopReason, AdditionalContext: append([]string{}, o.AdditionalContext...),
		SystemMessages: append([]string{}, o.SystemMessages...), Permission: o.Permission,
		UpdatedInput: o.UpdatedInput, Output: o.Output,
	}
	for _, r := range o.Results {
		f.Results = append(f.Results, firedHook{
			Type: r.Type, Command: r.Command, Outcome: r.Outcome, ExitCode: r.ExitCode,
			DurationMS: r.Duration.Milliseconds(), Stdout: r.Stdout, Stderr: r.Stderr,
		})
	}
	if f.Decision == "" {
		f.Decision = hooks.Pass
	}
	if f.Output == nil {
		f.Output = map[string]json.RawMessage{}
	}
	return f
}
