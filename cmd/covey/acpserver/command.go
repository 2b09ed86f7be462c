package acpserver

import (
	"context"
	"log/slog"
	"os/signal"
	"syscall"

	acp "github.com/coder/acp-go-sdk"
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
)

// UpFlag is the flag of `covey up` for a run that a server has started: it ends in order with
// its standard input and, whatever the spec says, with its work. Questions wait for an answer.
const UpFlag = "served"

// options are the flags of `covey acp`.
type options struct {
	spec            string // empty: that of the session's folder
	allowUnenforced bool
}

// Command returns `covey acp`.
func Command(env *cli.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve a team to an editor, as one agent",
		Long: `Speak the Agent Client Protocol (ACP) on standard input and output, so that an
editor such as Zed can use a team as one agent. A session is the team of the
team.yaml in the session's folder, or of --spec. It must be trusted: see "covey
trust".

The first prompt is the team's goal, and a later one a text to its lead. A prompt
ends when the team's work is done. Tasks show as the plan, and calls of members as
tool calls; questions to a person become requests for permission. Cancelling a
prompt interrupts all members and holds them until the next one.

The team runs as with "covey up", and stops in order when the client closes the
connection or covey acp ends, however that happens. The next prompt continues it.`,
		Example: `  covey acp
  covey acp --spec ~/teams/review.yaml`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if term.IsTerminal(env.In) {
				return cli.Usagef("an ACP client, such as an editor, has to start covey acp, because it expects ACP on "+
					"standard input, which is a terminal here; see %s", env.Page("acp.md"))
			}
			if env.Spec != "" || env.Team != "" { // the client would learn of it only once a person begins a session
				spec, err := env.SpecPath(nil)
				if err == nil {
					_, err = env.RunnableSpec(spec)
				}
				if err != nil {
					return err
				}
				o.spec = spec
			}
			return serve(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.allowUnenforced, "allow-unenforced", false, "as for covey up")
	return cmd
}

// serve answers a client until it closes the connection or a signal arrives, and returns when
// all teams have ended. A second signal ends the program at once, and the teams in order.
func serve(ctx context.Context, env *cli.Env, o options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s := newServer(env, o)
	s.mu.Lock() // requests that come at once wait until conn is set
	s.conn = acp.NewAgentSideConnection(s, env.Out.Writer, env.In)
	s.conn.SetLogger(slog.New(slog.NewTextHandler(env.Err.Writer, &slog.HandlerOptions{
		Level: slog.LevelWarn, ReplaceAttr: shorten,
	})))
	s.mu.Unlock()
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
	interrupted := ctx.Err() != nil
	stop()
	s.close()
	if interrupted {
		return &cli.EndError{Code: cli.ExitInterrupted}
	}
	return nil
}

// maxLogged is the length in bytes of a value in the log: the library logs whole lines that it
// cannot read.
const maxLogged = 300

// shorten shortens the values of the log.
func shorten(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(texts.Preview(a.Value.String(), maxLogged))
	}
	return a
}
