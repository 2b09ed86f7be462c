package web

import (
	"cmp"
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
	var url, code bool
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Show the team as a web page, on which you can decide",
		Long: `Show the team of this folder as a web page, whether it runs or not: what needs you,
its members, tasks and turn ends, and the changes, evidence and verdicts of each task.
The page acts as you do: it answers questions, sends messages and merges. So it
listens on this machine only, and its address has a token, which the browser keeps.

Ctrl-C ends the page, not the team. "covey up --web" shows the page as long as the
team runs; --url prints the address of a page that is open.

covey lets in only programs that it finds to be yours. It cannot find one behind a
proxy or a forwarded port, of another user, or where the system does not tell (macOS,
Windows): there the page asks for a code, which lets one browser in and is good for ten
minutes. --code prints one for the page of a running team. The page of a team that does
not run has printed one at its start.`,
		Example: `  covey web
  covey web --addr 127.0.0.1:8080
  covey web --url
  covey web --code`,
		Args:    cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return cli.NotFromInside("covey web") },
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			if url || code {
				page, err := openPage(ctx, place, api.WebPage{NewCode: code})
				if err == nil {
					env.Out.Printf("%s\n", cmp.Or(page.Code, page.URL))
				}
				return err
			}
			ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return serve(ctx, env, place, o)
		}),
	}
	cmd.Flags().StringVar(&o.Addr, "addr", "", "listen at `ADDR`, such as 127.0.0.1:8080; default: a free port")
	cmd.Flags().BoolVar(&url, "url", false, "print the address of the page that is open, with its token")
	cmd.Flags().BoolVar(&code, "code", false, "print a code that lets one browser in that covey cannot find to be yours")
	return cmd
}

// serve shows the page until ctx ends.
func serve(ctx context.Context, env *cli.Env, place state.Place, o Options) error {
	page, err := Listen(env, place, o)
	if err != nil {
		return err
	}
	env.Err.Printf("the page of team %s: %s\n", place.Team, page.URL())
	switch err := page.Announce(ctx); {
	case errors.Is(err, api.ErrNotRunning): // nobody else can be asked for a code of this page
		made, err := page.desk.team.Web(ctx, api.WebPage{NewCode: true})
		if err != nil {
			return err
		}
		env.Err.Printf("a code for a browser that covey cannot find to be yours: %s\n", made.Code)
	case err != nil:
		env.Err.Printf("covey web --url will not know this address: %v\n", err)
	}
	return page.Serve(ctx)
}

// AddressOf returns the address of the page that is open of a running team, with its token.
func AddressOf(ctx context.Context, place state.Place) (string, error) {
	page, err := openPage(ctx, place, api.WebPage{})
	return page.URL, err
}

// openPage asks a running team about its page, which must be open.
func openPage(ctx context.Context, place state.Place, r api.WebPage) (api.WebPage, error) {
	page, err := askRunning(ctx, place, r)
	switch {
	case errors.Is(err, api.ErrNotRunning):
		err = errors.New("the team does not run, so its page is not known; `covey web` opens one and prints its address and a code")
	case err == nil && page.URL == "":
		err = errors.New("no page of this team is open; `covey web` opens one")
	}
	return page, err
}

// askRunning tells the running team of a place something about its page, or asks it.
func askRunning(ctx context.Context, place state.Place, r api.WebPage) (api.WebPage, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	return cli.Ask(ctx, place, cli.With((*api.Client).Web, r), nil)
}
