package main

import (
	"context"
	"errors"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/launch"
)

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
