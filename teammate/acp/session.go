package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// live is a running program with an open session.
type live struct {
	proc    *program.Process
	conn    *conn
	caps    caps
	session string
	meter   meter
}

// caps are the capabilities that the program reported.
type caps struct {
	load, resume, steer bool
	auth                []string // names of its login methods
}

// stop ends the program and closes the connection.
func (l *live) stop() {
	l.proc.Stop()
	l.conn.close()
}

// dead reports whether the program has ended, or has closed its output.
func (l *live) dead() bool {
	select {
	case <-l.conn.gone:
		return true
	case <-l.proc.Ended:
		return true
	default:
		return false
	}
}

// up starts the program and opens its session, if that has not happened. It is called before
// every prompt. The error wraps errCrash if another start may help; any other error ends
// the turn.
func (a *Agent) up(ctx context.Context) error {
	if a.live != nil && !a.live.dead() {
		return nil
	}
	if a.live != nil { // it ended between prompts
		a.reportRestart("the agent program ended between two prompts ("+a.live.proc.Summary()+")", 0)
	}
	a.down()
	leave := func(bool) {}
	if a.opts.Enter != nil {
		var err error
		if leave, err = a.opts.Enter(ctx); err != nil {
			return err
		}
	}
	err := a.start(ctx)
	leave(err == nil)
	return err
}

// start starts the program and opens its session.
func (a *Agent) start(ctx context.Context) error {
	if err := a.connect(); err != nil {
		return err
	}
	proc, err := program.Start(a.opts.process())
	if err != nil {
		return fmt.Errorf("acp: the agent program could not be started: %w", err)
	}
	l := &live{proc: proc, conn: newConn(proc.Stdout, proc.Stdin), meter: meter{source: a.opts.Quirks.Usage}}
	if err := a.open(ctx, l); err != nil {
		if a.giveUpAfter(err) {
			err = fmt.Errorf("%w: it was started %d times and did not answer within %v; does it speak the Agent Client "+
				"Protocol? (%s)", errUseless, maxSilentStarts, a.opts.Timeouts.Start, proc.Summary())
		}
		err = a.startFailure(ctx, l, err)
		l.stop()
		return err
	}
	a.live, a.silentStarts = l, 0
	return nil
}

// errNoAnswer says that a program did not answer at all after its start.
var errNoAnswer = errors.New("the agent program has not answered")

// maxSilentStarts is how often in a row a program without any answer is started. A first start may
// be slow, and the second one in time.
const maxSilentStarts = 2

// giveUpAfter counts a failed start, and reports whether to give the program up.
func (a *Agent) giveUpAfter(err error) bool {
	if !errors.Is(err, errNoAnswer) {
		a.silentStarts = 0
		return false
	}
	a.silentStarts++
	if a.silentStarts < maxSilentStarts {
		return false
	}
	a.silentStarts = 0 // the member may be woken later, and then has its starts again
	return true
}

// starting returns a context that ends when a program must have answered its start. People
// are told when it takes long. The caller must call stop.
func (a *Agent) starting(ctx context.Context) (limited context.Context, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	quiet, late := a.opts.After(a.opts.Timeouts.Quiet), a.opts.After(a.opts.Timeouts.Start)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-quiet:
				quiet = nil
				a.reportHeldUp("the agent program, which has not answered since it was started %v ago",
					a.opts.Timeouts.Quiet)
			case <-late:
				cancel(context.DeadlineExceeded)
				return
			case <-limited.Done():
				return
			}
		}
	})
	return limited, func() {
		cancel(nil)
		watching.Wait()
	}
}

// connect determines the servers of the next program.
func (a *Agent) connect() error {
	a.servers = a.opts.MCPServers
	if a.opts.Connect == nil {
		return nil
	}
	more, err := a.opts.Connect()
	if err != nil {
		return fmt.Errorf("acp: servers of tools: %w", err)
	}
	a.servers = slices.Concat(a.opts.MCPServers, more)
	return nil
}

// open initializes the program and opens the session within Timeouts.Start, which does not
// include the wait of waitForMinute.
func (a *Agent) open(ctx context.Context, l *live) error {
	// Two limits, because waitForMinute may wait between them.
	limited, stop := a.starting(ctx)
	// Capabilities come first: they determine how to reopen the session.
	_, err := l.initialize(limited)
	stop()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if err != nil {
		return err
	}
	if a.session != "" && !l.caps.resume && l.caps.load {
		if err := a.waitForMinute(ctx); err != nil {
			return err
		}
	}
	ctx, stop = a.starting(ctx)
	defer stop()
	if err := a.enter(ctx, l); err != nil {
		return err
	}
	l.conn.use(l.session)
	if a.opts.Mode != "" {
		mode := map[string]any{"sessionId": l.session, "modeId": a.opts.Mode}
		_, err = l.conn.do(ctx, "session/set_mode", mode)
		if err != nil {
			return fmt.Errorf("session mode %q: %w", a.opts.Mode, err)
		}
	}
	return nil
}

// initialize offers no capabilities: files and commands are the program's own business, under
// its own permissions. It returns the program's answer.
func (l *live) initialize(ctx context.Context) (json.RawMessage, error) {
	result, err := l.conn.do(ctx, "initialize", map[string]any{
		"protocolVersion": 1,
		"clientInfo":      map[string]string{"name": "covey", "title": "covey", "version": "1"},
		"clientCapabilities": map[string]any{
			"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false,
		},
	})
	if err != nil {
		return nil, err
	}
	fields := fieldsOf(result)
	// A program may answer with the version that it prefers; covey supports only one.
	var version float64
	lenient(fields["protocolVersion"], &version)
	if version != 1 {
		return result, fmt.Errorf("%w: it speaks version %v of the Agent Client Protocol, covey needs version 1",
			errUseless, version)
	}
	can := fieldsOf(fields["agentCapabilities"])
	lenient(can["loadSession"], &l.caps.load)
	resume := fieldsOf(can["sessionCapabilities"])["resume"]
	l.caps.resume = len(resume) > 0 && !isNull(resume) && string(resume) != "false"
	// Steering is an extension, which programs advertise in different places.
	for _, meta := range []json.RawMessage{fields["_meta"], can["_meta"]} {
		lenient(fieldsOf(fieldsOf(meta)["steering"])["supported"], &l.caps.steer)
	}
	var methods []struct {
		Name string `json:"name"`
	}
	lenient(fields["authMethods"], &methods)
	for _, m := range methods {
		l.caps.auth = append(l.caps.auth, m.Name)
	}
	return result, nil
}

// enter resumes the previous session, or loads it, or makes a new one. The inbox is shut, so
// the replay of a load is ignored. ctx is bounded by Timeouts.Start. A session that cannot be
// reopened is not deleted: the program keeps it, and a person may still look at it.
func (a *Agent) enter(ctx context.Context, l *live) error {
	params := map[string]any{"cwd": a.opts.Dir, "mcpServers": servers(a.servers)}
	if len(a.opts.Meta) > 0 {
		params["_meta"] = maps.Clone(a.opts.Meta)
	}
	if a.session != "" {
		entered, err := a.reenter(ctx, l, params)
		if entered || err != nil {
			return err
		}
		a.lost = true
	}
	a.system(params)
	result, err := l.conn.do(ctx, "session/new", params)
	if err != nil {
		return err
	}
	l.session = text(fieldsOf(result)["sessionId"])
	if l.session == "" {
		return fmt.Errorf("%w: it gave no session id", errUseless)
	}
	// The id is stored before the session is used: a crash in between would leave work in a
	// session that cannot be found again.
	a.session, a.made, a.primed = l.session, a.opts.Clock(), false
	if err := a.opts.OnSession(l.session); err != nil {
		return fmt.Errorf("%w: %w", errKeep, err)
	}
	return nil
}

// reenter tries to reopen the previous session; entered reports success. An error means that
// no new session should be made.
func (a *Agent) reenter(ctx context.Context, l *live, params map[string]any) (entered bool, err error) {
	params["sessionId"] = a.session
	defer delete(params, "sessionId")
	for _, way := range []struct {
		can    bool
		method string
	}{{l.caps.resume, "session/resume"}, {l.caps.load, "session/load"}} {
		if !way.can {
			continue
		}
		_, err := l.conn.do(ctx, way.method, params)
		if err == nil && way.method == "session/load" {
			err = l.replayed(ctx)
			// gemini loads, without an error, what is left of a lost session.
			if err == nil && a.opts.Quirks.LoadAfterMinute && l.conn.replays.Load() == 0 {
				continue
			}
		}
		if err == nil {
			l.session = a.session
			return true, nil
		}
		// If only this way fails, try the next one.
		if fatal := a.fatal(err); fatal != nil {
			return false, fatal
		}
	}
	return false, nil
}

// errKeep says that the id of a new session could not be stored, errUseless that a program
// is not usable. A restart fixes neither.
var (
	errKeep    = errors.New("the session's id could not be stored")
	errUseless = errors.New("the agent program cannot be used")
)

// fatal returns err if an answer to resume or load means more than an unknown session: the
// program has ended, ctx has ended, or a login is required. It returns nil if a new session
// may be tried.
func (a *Agent) fatal(err error) error {
	var answer *rpcError
	if !errors.As(err, &answer) || answer.Code == codeAuthRequired {
		return err
	}
	return nil
}

// startFailure classifies a failed start: a login is missing, an account is used up, or the
// program is broken. l must not be stopped yet, because the error includes how the program
// ends by itself.
func (a *Agent) startFailure(ctx context.Context, l *live, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errKeep) || errors.Is(err, errUseless) {
		return fmt.Errorf("acp: %w", err)
	}
	var answer *rpcError
	if errors.As(err, &answer) {
		known := failure(answer, a.opts.Clock())
		var login *agent.LoginError
		var limit *agent.LimitError
		var api *agent.APIError
		switch {
		case errors.As(known, &login):
			if len(l.caps.auth) > 0 {
				login.Hint += " (ways to log in: " + strings.Join(l.caps.auth, ", ") + ")"
			}
			return login
		case errors.As(known, &limit):
			return limit
		case errors.As(known, &api) && api.Passes() && api.Type != "unknown":
			return api
		}
		return fmt.Errorf("acp: the agent program opened no session: %w", err) // a retry fails too
	}
	// A program that hangs at its start may succeed the next time.
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it did not open a session within %v", a.opts.Timeouts.Start)
	}
	return fmt.Errorf("%w at its start: %s (%s): %w", errCrash, a.opts.Command[0], l.proc.Summary(), err)
}

// waitForMinute waits until a session may be loaded: see Quirks.LoadAfterMinute.
func (a *Agent) waitForMinute(ctx context.Context) error {
	now := a.opts.Clock()
	if !a.opts.Quirks.LoadAfterMinute {
		return nil
	}
	// A session of an earlier run with unknown age may be seconds old.
	if !a.made.IsZero() && !a.made.Truncate(time.Minute).Equal(now.Truncate(time.Minute)) {
		return nil
	}
	over := now.Truncate(time.Minute).Add(time.Minute)
	a.reportHeldUp("%s, when the program may enter its session again", over.Format(time.TimeOnly))
	return program.Sleep(ctx, over.Sub(now)+100*time.Millisecond)
}

// system adds the system prompt to the parameters of a new session, if the program takes it
// there.
func (a *Agent) system(params map[string]any) {
	if a.opts.System == nil {
		return
	}
	prompt := a.opts.System()
	switch {
	case prompt == "":
	case a.opts.SystemBy == SystemField:
		params["systemPrompt"] = map[string]any{
			"mode": "append", "content": []json.RawMessage{textBlock(prompt)},
		}
	case a.opts.SystemBy == SystemMeta:
		meta := map[string]any{"systemPrompt": map[string]string{"append": prompt}}
		maps.Copy(meta, a.opts.Meta)
		params["_meta"] = meta
	}
}

// servers returns MCP servers in the form of session/new.
func servers(list []MCPServer) []map[string]any {
	all := []map[string]any{}
	for _, s := range list {
		if s.URL != "" { // the schema requires empty lists, not null
			all = append(all, map[string]any{
				"type": "http", "name": s.Name, "url": s.URL, "headers": append([]Pair{}, s.Headers...),
			})
			continue
		}
		all = append(all, map[string]any{
			"name": s.Name, "command": s.Command,
			"args": append([]string{}, s.Args...), "env": append([]Pair{}, s.Env...),
		})
	}
	return all
}
