package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// modelsFlags are the flags of `covey models`.
type modelsFlags struct {
	offline, probe, json bool
}

// modelsCommand returns `covey models`.
func modelsCommand(env *cli.Env) *cobra.Command {
	var f modelsFlags
	cmd := &cobra.Command{
		Use:   "models [SPEC]",
		Short: "Show the models of a spec, or of this machine, and whether they can be used",
		Long: `Show the models of SPEC, or of team.yaml: who uses each, where it is, where its key
comes from, what it costs, and whether its host answers and takes the key. In a
folder without a spec, show the models that this machine can use: those of
providers whose key is in the environment, and those of Ollama.

The hosts are asked for their lists of models, which costs nothing, for at most 5
seconds; --offline asks nobody. --probe asks each model for a few tokens. A host other
than the provider's own, or one that gets the key in a file, is asked only once the
spec is trusted, as by the team itself. No key is shown.

The exit code is 1 if a model that members use cannot be used.`,
		Example: `  covey models
  covey models --probe
  covey models examples/quickstart/team.yaml --offline
  covey models --json | jq -r '.[] | select(.problem) | .problem'`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.offline && f.probe {
				return cli.Usagef("--offline and --probe exclude each other")
			}
			// The exit code is decided after the output, so that a script that only reads
			// the list gets all of it.
			list, err := modelsNamed(cmd.Context(), env, args, f)
			switch {
			case err != nil:
				return err
			case cmd.Context().Err() != nil:
				return cmd.Context().Err()
			case f.json:
				err = env.Out.JSON(list)
			default:
				printModels(env, list)
			}
			for _, m := range list {
				if err == nil && len(m.UsedBy) > 0 && !m.Usable() {
					err = &cli.EndError{Code: cli.ExitFailed}
				}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.offline, "offline", false, "ask no host")
	flags.BoolVar(&f.probe, "probe", false, "ask each model for a few tokens")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// modelsNamed returns the models of the spec that the arguments name, or of team.yaml, or
// else of this machine. It does not warn of other things in the spec, as commands do that
// run it: a missing key is what is shown here.
func modelsNamed(ctx context.Context, env *cli.Env, args []string, f modelsFlags) ([]launch.ModelInfo, error) {
	how := launch.ModelInquiry{Offline: f.offline, Probe: f.probe}
	path, err := env.SpecPath(args)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); len(args) == 0 && env.Spec == "" && errors.Is(err, fs.ErrNotExist) {
		_, err = env.Folder()
		return launch.MachineModels(ctx, how), err
	}
	team, err := configs.Load(path)
	if err != nil {
		return nil, cli.SpecTrouble(path, err)
	}
	report, err := trust.Check(ctx, team)
	if err != nil {
		return nil, fmt.Errorf("is %s trusted: %w", path, err)
	}
	how.Trusted = report.Trusted
	return launch.Models(ctx, team, how)
}

// printModels prints two tables, because one with all columns would not fit into 80
// columns, and then what people should know. Scripts are not in the second one: they have
// neither a host nor a key nor, mostly, a price.
func printModels(env *cli.Env, list []launch.ModelInfo) {
	out := env.Out
	if len(list) == 0 {
		out.Printf("There is no spec here, no key in ANTHROPIC_API_KEY or OPENAI_API_KEY, and no Ollama at its usual\n"+
			"address. How to use a model: %s\n", env.Page("models.md"))
		return
	}
	styles := map[launch.ModelState]term.Style{
		launch.ModelReached: term.Green, launch.ModelAnswered: term.Green, launch.ModelFailed: term.Red, launch.ModelNoKey: term.Red,
	}
	term.TableOf(list,
		term.Text("NAME", func(m launch.ModelInfo) string { return m.Name }),
		term.Text("MODEL", func(m launch.ModelInfo) string { return shownModel(env, m) }),
		term.Text("USED BY", func(m launch.ModelInfo) string { return strings.Join(m.UsedBy, ", ") }),
		term.Cells("STATE", func(m launch.ModelInfo) term.Cell {
			return term.Cell{Text: stateText(m), Style: styles[m.State]}
		})).Print(out)
	var real []launch.ModelInfo
	for _, m := range list {
		if m.State != launch.ModelScript {
			real = append(real, m)
		}
	}
	if len(real) > 0 {
		out.Printf("\n")
		term.TableOf(real,
			term.Text("NAME", func(m launch.ModelInfo) string { return cmp.Or(m.Name, m.Spec().Model) }),
			term.Text("API", func(m launch.ModelInfo) string { return m.API }),
			term.Text("HOST", func(m launch.ModelInfo) string { return shownHost(m.Host) }),
			term.Text("KEY FROM", func(m launch.ModelInfo) string { return shownKey(env, m) }),
			term.Text("$/M, CONTEXT", costText)).Print(out)
	}
	var said []string // models at one host mostly have one problem
	for _, m := range list {
		text := cmp.Or(m.Problem, m.Note)
		if text == "" || slices.Contains(said, text) {
			continue
		}
		if said == nil {
			out.Printf("\n")
		}
		said = append(said, text)
		out.Printf("%s: %s\n", term.PlainLine(cmp.Or(m.Name, m.Model)), term.PlainLine(text))
	}
}

// shownModel returns the full name of a model, or the path of a script, which is what people
// would look for.
func shownModel(env *cli.Env, m launch.ModelInfo) string {
	if m.State == launch.ModelScript {
		return "script " + env.Shown(m.Model)
	}
	return m.Model
}

// shownKey returns where the key of a model comes from, in a few words; what to do about a
// missing one stands below the tables.
func shownKey(env *cli.Env, m launch.ModelInfo) string {
	if m.State == launch.ModelNoKey {
		return "missing"
	}
	if file := m.Spec().KeyFile; file != "" {
		return env.Shown(file)
	}
	return strings.TrimPrefix(m.Key, "from ")
}

// stateText returns the state of a model, with the time that an answer took: it tells a slow
// model from a slow team.
func stateText(m launch.ModelInfo) string {
	if m.State == launch.ModelAnswered {
		return fmt.Sprintf("answers in %s", (time.Duration(m.TookMS) * time.Millisecond).Round(time.Millisecond))
	}
	return string(m.State)
}

// shownHost returns the host of a URL; with its scheme if everything goes over the network
// unencrypted.
func shownHost(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "https" || u.Hostname() == "localhost" || ip.IsLoopback() {
		return u.Host
	}
	return u.Scheme + "://" + u.Host
}

// costText returns the prices of a model in US dollars for a million tokens, of input and of
// output, and how many tokens it can read, as far as they are known. Prices of a cache are
// left out: few people compare models by them.
func costText(m launch.ModelInfo) string {
	var parts []string
	if m.Price != nil {
		parts = append(parts, fmt.Sprintf("%g/%g", m.Price.Input, m.Price.Output))
	}
	if m.Context > 0 {
		parts = append(parts, fmt.Sprintf("%dk", m.Context/1000))
	}
	return strings.Join(parts, ", ")
}

// modelCommand returns `covey model` with its subcommands. It has only one so far, so
// that the name is free for other commands about models.
func modelCommand(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Serve scripts to agent programs in place of a model",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(modelServeCommand(env))
	return cmd
}

// modelServeCommand returns `covey model serve SCRIPT...`.
func modelServeCommand(env *cli.Env) *cobra.Command {
	addr := "127.0.0.1:0"
	cmd := &cobra.Command{
		Use:   "serve SCRIPT...",
		Short: "Play scripts over the model APIs, on this machine only",
		Long: `Play scripts to agent programs in place of a model: offline, free, and the same
each time. The server speaks Anthropic Messages, OpenAI Chat Completions and
Responses, and Gemini generateContent. Its first line on stdout is its URL.

With several scripts, the API key or the model of a request selects the script:
NAME of NAME=PATH, or else the file's name without its extension.`,
		Example: `  covey model serve demo.yaml
  covey model serve backend.yaml reviewer=strict.yaml --addr 127.0.0.1:8123`,
		Args: cli.ArgCount(1, -1, "a script at least"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// A signal ends the server in order. That is success, because there is no
			// other way to stop it.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return serveModels(ctx, env, args, addr)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "serve on `ADDRESS`, which must be a loopback one; port 0: any")
	return cmd
}

// serveModels serves until ctx ends, which is not an error.
func serveModels(ctx context.Context, env *cli.Env, args []string, addr string) error {
	// -C applies to the files, not to the names before them.
	scripts := make([]string, len(args))
	for i, arg := range args {
		if name, path, named := strings.Cut(arg, "="); named {
			scripts[i] = name + "=" + env.Path(path)
			continue
		}
		scripts[i] = env.Path(arg)
	}
	// Errors of the scripts and of the address are the operator's and get the exit code of
	// wrong usage.
	err := launch.ServeModels(ctx, launch.ModelServer{Scripts: scripts, Addr: addr, Out: env.Out.Writer})
	if errors.Is(err, launch.ErrModelServer) {
		return cli.Usagef("%v", err)
	}
	return err
}
