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

// live is a program that runs, with its session open.
type live struct {
	proc    *process
	conn    *conn
	caps    caps
	session string
	meter   meter
}

// caps are what the program said it can do.
type caps struct {
	load, resume, steer bool
	auth                []string // names of its ways to log in
}

// stop ends the program and closes the connection.
func (l *live) stop() {
	l.proc.stop()
	l.conn.close()
}

// dead reports whether the program has ended, or has closed its output.
func (l *live) dead() bool {
	select {
	case <-l.conn.gone:
		return true
	case <-l.proc.ended:
		return true
	default:
		return false
	}
}

// up starts the program and opens its session, if it is not there already.
// Called before every prompt. The error wraps errCrash if another start may
// help; all others end the turn.
func (a *Agent) up(ctx context.Context) error {
	if a.live != nil && !a.live.dead() {
		return nil
	}
	if a.live != nil { // nobody waited for it when it ended
		a.tellOfRestart("the agent program ended between two prompts ("+a.live.proc.epitaph()+")", 0)
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
	proc, err := startProcess(&a.opts)
	if err != nil {
		return fmt.Errorf("acp: the agent program could not be started: %w", err)
	}
	l := &live{proc: proc, conn: newConn(proc.stdout, proc.stdin), meter: meter{source: a.opts.Quirks.Usage}}
	if err := a.open(ctx, l); err != nil {
		if a.gaveUpOn(err) {
			err = fmt.Errorf("%w: it was started %d times and did not answer within %v; does it speak the Agent Client "+
				"Protocol? (%s)", errUseless, muteLimit, a.opts.Timeouts.Start, proc.epitaph())
		}
		err = a.startFailure(ctx, l, err)
		l.stop()
		return err
	}
	a.live, a.mute = l, 0
	return nil
}

// errMute says that a program that was started has not answered at all.
var errMute = errors.New("the agent program has not answered")

// muteLimit is how often in a row a program that gives no answer at all is started. One
// that is slow because it is started for the first time may be in time the second.
const muteLimit = 2

// gaveUpOn counts a start that failed, and reports whether the program is given up for it.
func (a *Agent) gaveUpOn(err error) bool {
	if !errors.Is(err, errMute) {
		a.mute = 0
		return false
	}
	a.mute++
	if a.mute < muteLimit {
		return false
	}
	a.mute = 0 // the member may be woken later, and has its starts then as well
	return true
}

// starting is ctx for as long as a program may take for what it has to answer at its
// start. People are told when it takes long. stop must be called.
func (a *Agent) starting(ctx context.Context) (limited context.Context, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	quiet, late := a.opts.After(a.opts.Timeouts.Quiet), a.opts.After(a.opts.Timeouts.Start)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-quiet:
				quiet = nil
				a.heldUp("the agent program, which has not answered since it was started %v ago",
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

// connect finds out which servers the next program gets.
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

// open shakes hands and opens the session within the time that Timeouts allow.
// Waiting for a minute to pass does not count.
func (a *Agent) open(ctx context.Context, l *live) error {
	// Two limits, for between them a session's minute may have to pass.
	limited, stop := a.starting(ctx)
	// Capabilities come first: they say how the session can be entered again.
	_, err := l.initialize(limited)
	stop()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errMute, err)
	}
	if err != nil {
		return err
	}
	if a.session != "" && !l.caps.resume && l.caps.load {
		if err := a.passMinute(ctx); err != nil {
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

// initialize offers nothing: files and commands are the program's own business,
// under its own permissions. It returns what the program has answered.
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
	// A program may answer with the version it prefers; there is only one that
	// we can speak.
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
	// Steering is an extension; programs differ in where they advertise it.
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

// enter resumes the session of before, else loads it, else makes a new one.
// What a load replays is not news: the inbox is shut. The context is bounded by
// Timeouts.Start. A session that could not be entered is not deleted: the
// program keeps it, and a person may still look at it.
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
	// The id is kept before the session is used: a crash between the two would
	// leave work behind in a session that nobody finds again.
	a.session, a.made, a.primed = l.session, a.opts.Clock(), false
	if err := a.opts.OnSession(l.session); err != nil {
		return fmt.Errorf("%w: %w", errKeep, err)
	}
	return nil
}

// reenter tries the session of before; entered says that it is open again. An
// error is worth more than a new session.
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
			// gemini also loads, without a word, what is left of a session that it has lost.
			if err == nil && a.opts.Quirks.LoadAfterMinute && l.conn.replays.Load() == 0 {
				continue
			}
		}
		if err == nil {
			l.session = a.session
			return true, nil
		}
		// "Not this session" is no reason to give up: the next way may do.
		if fatal := a.fatal(err); fatal != nil {
			return false, fatal
		}
	}
	return false, nil
}

// errKeep says that a new session's id could not be kept by who asked for it,
// errUseless that a program is none for us. No restart mends either.
var (
	errKeep    = errors.New("the session's id could not be kept")
	errUseless = errors.New("the agent program cannot be used")
)

// fatal is an answer to resume or load that says more than "not this session":
// the program has ended, nobody waits any more, or it wants a login. nil: a new
// session may be tried.
func (a *Agent) fatal(err error) error {
	var answer *rpcError
	if !errors.As(err, &answer) || answer.Code == codeAuthRequired {
		return err
	}
	return nil
}

// startFailure says what it means that a program did not come up: somebody must
// log in, an account is used up, or the program is broken. l must not be
// stopped yet: how it ends by itself is part of the error.
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
		return fmt.Errorf("acp: the agent program opened no session: %w", err) // it would say so again
	}
	// A program that hangs at its start may be luckier the next time.
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it did not open a session within %v", a.opts.Timeouts.Start)
	}
	return fmt.Errorf("%w at its start: %w (%s)", errCrash, err, l.proc.epitaph())
}

// passMinute waits until a session may be loaded: see Quirks.LoadAfterMinute.
func (a *Agent) passMinute(ctx context.Context) error {
	now := a.opts.Clock()
	if !a.opts.Quirks.LoadAfterMinute {
		return nil
	}
	// A session of an earlier life whose age nobody kept may be seconds old.
	if !a.made.IsZero() && !a.made.Truncate(time.Minute).Equal(now.Truncate(time.Minute)) {
		return nil
	}
	over := now.Truncate(time.Minute).Add(time.Minute)
	a.heldUp("%s, when the program may enter its session again", over.Format(time.TimeOnly))
	return program.Sleep(ctx, over.Sub(now)+100*time.Millisecond)
}

// system adds the system prompt to the parameters of a new session, if the
// program takes it there.
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

// servers are MCP servers as session/new takes them.
func servers(list []MCPServer) []map[string]any {
	all := []map[string]any{}
	for _, s := range list {
		if s.URL != "" { // the schema wants empty lists where there are none, not null
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
