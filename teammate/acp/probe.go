package acp

import (
	"context"
	"errors"
	"fmt"
)

// About is what a program tells of itself before it has been asked anything.
type About struct {
	Name, Version string   // empty: it does not say
	HTTP          bool     // it connects to MCP servers over HTTP
	Load, Resume  bool     // it enters an earlier session again, with and without telling its history
	Steer         bool     // it takes messages while it works
	Auth          []string // its ways to log in, by name
	Modes         []string // the session modes that it has, by id
	Mode          string   // the one that a new session is in
}

// Probe starts a program, shakes hands, opens an empty session and ends the
// program. Nothing is asked of a model. Of opts only Command, Env, Dir,
// Started, Meta, Clock and Timeouts count. It takes at most Timeouts.Start and
// the time that the program takes to end. With an error, such as
// *agent.LoginError, About holds what was said until then.
func Probe(ctx context.Context, opts Options) (About, error) {
	if err := opts.check(); err != nil {
		return About{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeouts.Start)
	defer cancel()
	proc, err := startProcess(&opts)
	if err != nil {
		return About{}, fmt.Errorf("acp: the agent program could not be started: %w", err)
	}
	l := &live{proc: proc, conn: newConn(proc.stdout, proc.stdin)}
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
		err = fmt.Errorf("acp: it ended at its start: %s", proc.epitaph())
	case errors.As(err, &answer):
		err = failure(answer, opts.Clock())
	default:
		err = fmt.Errorf("acp: %w", err)
	}
	return about, err
}

// about asks a program that has just been started.
func (l *live) about(ctx context.Context, opts *Options) (About, error) {
	result, err := l.initialize(ctx)
	a := About{Load: l.caps.load, Resume: l.caps.resume, Steer: l.caps.steer, Auth: l.caps.auth}
	fields := fieldsOf(result)
	info := fieldsOf(fields["agentInfo"])
	a.Name, a.Version = text(info["name"]), text(info["version"])
	lenient(fieldsOf(fieldsOf(fields["agentCapabilities"])["mcpCapabilities"])["http"], &a.HTTP)
	if err != nil {
		return a, err
	}
	params := map[string]any{"cwd": opts.Dir, "mcpServers": servers(nil)}
	if len(opts.Meta) > 0 {
		params["_meta"] = opts.Meta
	}
	result, err = l.conn.do(ctx, "session/new", params)
	if err != nil {
		return a, err
	}
	if text(fieldsOf(result)["sessionId"]) == "" {
		return a, fmt.Errorf("%w: it gave no session id", errUseless)
	}
	modes := fieldsOf(fieldsOf(result)["modes"])
	a.Mode = text(modes["currentModeId"])
	var list []struct {
		ID string `json:"id"`
	}
	lenient(modes["availableModes"], &list)
	for _, m := range list {
		a.Modes = append(a.Modes, m.ID)
	}
	return a, nil
}
