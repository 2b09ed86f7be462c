package web

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Command returns `covey web`.
func Command(env *cli.Env) *cobra.Command {
	var o Options
	var url bool
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Show the team as a web page, on which you can decide",
		Long: `Show the team of this folder as a web page, whether it runs or not: what needs you,
its members, tasks and turn ends, and the changes, evidence and verdicts of each task.
The page acts as you do: it answers questions, sends messages and merges. So it
listens on this machine only, and its address has a token, which the browser keeps.

Ctrl-C ends the page, not the team. "covey up --web" shows the page as long as the
team runs; --url prints the address of a page that is open.

Where the system does not tell which process opens the page (macOS, Windows), it is
for reading only, because a member could open it; --web-act lets it act all the same.`,
		Example: `  covey web
  covey web --addr 127.0.0.1:8080
  covey web --url`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NotFromInside("covey web"); err != nil {
				return err
			}
			if url {
				return printURL(cmd.Context(), env)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return serve(ctx, env, o)
		},
	}
	cmd.Flags().StringVar(&o.Addr, "addr", "", "listen at `ADDR`, such as 127.0.0.1:8080; default: a free port")
	cmd.Flags().BoolVar(&o.Act, "web-act", false, ActHelp)
	cmd.Flags().BoolVar(&url, "url", false, "print the address of the page that is open, with its token")
	return cmd
}

// ActHelp describes --web-act for all commands that have it.
const ActHelp = "let the page act where the system does not tell who opens it"

// serve shows the page until ctx ends.
func serve(ctx context.Context, env *cli.Env, o Options) error {
	place, err := env.Find()
	if err != nil {
		return err
	}
	page, err := Listen(env, place, o)
	if err != nil {
		return err
	}
	env.Err.Printf("the page of team %s: %s\n", place.Team, page.URL())
	if err := page.Announce(ctx); err != nil && !errors.Is(err, api.ErrNotRunning) {
		env.Err.Printf("covey web --url will not know this address: %v\n", err)
	}
	return page.Serve(ctx)
}

// printURL prints the address of the page that is open.
func printURL(ctx context.Context, env *cli.Env) error {
	place, err := env.Find()
	if err != nil {
		return err
	}
	url, err := AddressOf(ctx, place)
	if err == nil {
		env.Out.Printf("%s\n", url)
	}
	return err
}

// AddressOf returns the address of the page that is open of a running team, with its token.
func AddressOf(ctx context.Context, place state.Place) (string, error) {
	url, err := announced(ctx, place, "")
	switch {
	case errors.Is(err, api.ErrNotRunning):
		return "", errors.New("the team does not run, so its page is not known; `covey web` opens one and prints its address")
	case err == nil && url == "":
		return "", errors.New("no page of this team is open; `covey web` opens one")
	}
	return url, err
}
