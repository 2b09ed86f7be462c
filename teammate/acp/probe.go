package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// About is what a program reports about itself before its first prompt.
type About struct {
	Name, Version string   // empty: not reported
	HTTP          bool     // it connects to MCP servers over HTTP
	Load, Resume  bool     // it can reopen an earlier session, with and without a replay
	Steer         bool     // it accepts messages while it works
	Auth          []string // names of its login methods
	Modes         []string // ids of its session modes
	Mode          string   // the mode of a new session
}

// Probe starts a program, initializes it, opens an empty session and ends the program. No
// model is called. It uses only Command, Env, Dir, Started, Meta, Clock and Timeouts of
// opts. It takes at most Timeouts.Start and the time that the program takes to end. With an
// error, such as *agent.LoginError, About holds what is known so far.
func Probe(ctx context.Context, opts Options) (About, error) {
	if err := opts.check(); err != nil {
		return About{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeouts.Start)
	defer cancel()
	proc, err := program.Start(opts.process())
	if err != nil {
		return About{}, fmt.Errorf("acp: the agent program could not be started: %w", err)
	}
	l := &live{proc: proc, conn: newConn(proc.Stdout, proc.Stdin)}
	defer l.stop()
	about, err := l.about(ctx, &opts)
	if err == nil {
		return about, nil
	}
	var answer *rpcError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("acp: it did not open a session within %v", opts.Timeouts.Start)
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, errGone):
		err = fmt.Errorf("acp: it ended at its start: %s", proc.Summary())
	case errors.As(err, &answer):
		err = failure(answer, opts.Clock())
	default:
		err = fmt.Errorf("acp: %w", err)
	}
	return about, err
}

// about queries a program that has just been started.
func (l *live) about(ctx context.Context, opts *Options) (About, error) {
	result, err := l.initialize(ctx)
	a := About{Load: l.caps.load, Resume: l.caps.resume, Steer: l.caps.steer, Auth: l.caps.auth}
	fields := program.Fields(result)
	info := program.Fields(fields["agentInfo"])
	a.Name, a.Version = texts.Text(info["name"]), texts.Text(info["version"])
	program.Lenient(program.Fields(program.Fields(fields["agentCapabilities"])["mcpCapabilities"])["http"], &a.HTTP)
	if err != nil {
		return a, err
	}
	params := map[string]any{"cwd": opts.Dir, "mcpServers": servers(nil)}
	if len(opts.Meta) > 0 {
		params["_meta"] = opts.Meta
	}
	result, err = l.request(ctx, opts, "session/new", params)
	if err != nil {
		return a, err
	}
	if texts.Text(program.Fields(result)["sessionId"]) == "" {
		return a, fmt.Errorf("%w: it gave no session id", errUseless)
	}
	modes := program.Fields(program.Fields(result)["modes"])
	a.Mode = texts.Text(modes["currentModeId"])
	var list []struct {
		ID string `json:"id"`
	}
	program.Lenient(modes["availableModes"], &list)
	for _, m := range list {
		a.Modes = append(a.Modes, m.ID)
	}
	return a, nil
}
