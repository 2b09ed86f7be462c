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

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
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
	methods             []authMethod
}

// authMethod is a way to log in that the program offers. Of type env_var the program reads these variables. Of
// type agent, which is what no type means, it logs in by itself.
type authMethod struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Vars []struct {
		Name     string `json:"name"`
		Optional bool   `json:"optional"`
	} `json:"vars"`
}

// readyIn reports whether the variables of the method are set in an environment.
func (m *authMethod) readyIn(env []string) bool {
	ready := m.Type == "env_var" && len(m.Vars) > 0
	for _, v := range m.Vars {
		ready = ready && (v.Optional || proc.Getenv(env, v.Name) != "")
	}
	return ready
}

// method returns the id of a login method that needs no terminal, or "": one whose variables are set, else the
// only one by which the program logs in by itself. Of several of those, each may replace a login that a person has
// made, so a person chooses.
func (c *caps) method(env []string) string {
	var own []string
	for _, m := range c.methods {
		switch {
		case m.readyIn(env):
			return m.ID
		case m.Type == "", m.Type == "agent":
			own = append(own, m.ID)
		}
	}
	if len(own) == 1 {
		return own[0]
	}
	return ""
}

// request sends a request about a session. If the program wants a login first, and offers one that needs
// no terminal, it logs in and sends the request again. A login for which the program waits is not finished.
func (l *live) request(ctx context.Context, opts *Options, method string, params any) (json.RawMessage, error) {
	result, err := l.conn.do(ctx, method, params)
	var answer *rpcError
	if !errors.As(err, &answer) || answer.Code != codeAuthRequired {
		return result, err
	}
	id := l.caps.method(opts.Env)
	if id == "" {
		return nil, err
	}
	login, failed := l.conn.start("authenticate", map[string]any{"methodId": id}, false)
	if failed != nil {
		return nil, failed
	}
	select {
	case <-login.done:
	case <-opts.After(opts.Timeouts.Start / 2): // it waits for a person
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if errors.As(login.err, new(*rpcError)) {
		return nil, err // that a login is missing says more
	}
	if login.err != nil {
		return nil, login.err
	}
	return l.conn.do(ctx, method, params)
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
	leave, err := a.opts.Enter(ctx)
	if err != nil {
		return err
	}
	err = a.start(ctx)
	leave(err == nil)
	return err
}

// start starts the program and opens its session.
func (a *Agent) start(ctx context.Context) error {
	if err := a.connect(); err != nil {
		return err
	}
	a.reportStart(false)
	proc, err := program.Start(a.opts.process())
	if err != nil {
		return fmt.Errorf("acp: the agent program could not be started: %w", err)
	}
	l := &live{proc: proc, conn: newConn(proc.Stdout, proc.Stdin), meter: meter{source: a.opts.Quirks.Usage}}
	if err := a.open(ctx, l); err != nil {
		err = a.startFailure(ctx, l, a.countLate(err, proc))
		l.stop()
		return err
	}
	a.live = l
	a.forgetLate()
	a.reportStart(true)
	return nil
}

// errLate says that a program did not open its session in time, errNoAnswer, which wraps it,
// that it did not answer at all.
var (
	errLate     = errors.New("its time was over")
	errNoAnswer = fmt.Errorf("it has not answered: %w", errLate)
)

// Limits of starts that are late, beside Timeouts.Start.
const (
	// maxSilentStarts is how often in a row a program that is not known to speak the protocol
	// is started without an answer.
	maxSilentStarts = 2
	// startParts is into how many parts Timeouts.Start is divided: after each, starting looks
	// whether the program has computed.
	startParts = 8
	// maxLate is how many times Timeouts.Start all late starts in a row may take.
	maxLate = 15
)

// forgetLate ends a row of late starts.
func (a *Agent) forgetLate() { a.lateStarts, a.silentStarts, a.waited = 0, 0, 0 }

// countLate counts a failed start. Its error is that of the start, or says that the program
// is given up. The count begins again then, because the member may be woken later.
func (a *Agent) countLate(err error, p *program.Process) error {
	if !errors.Is(err, errLate) {
		a.forgetLate()
		return err
	}
	if a.lateStarts++; errors.Is(err, errNoAnswer) {
		a.silentStarts++
	}
	switch {
	case a.silentStarts == maxSilentStarts && !a.opts.Known:
		err = fmt.Errorf("%w: it was started %d times and did not answer; does it speak the Agent Client Protocol? (%s)",
			errUseless, a.lateStarts, p.Summary())
	case a.waited >= maxLate*startParts:
		err = fmt.Errorf("%w: it was started %d times in a row and opened no session in %v; is this machine too busy "+
			"for it? (%s)", errUseless, a.lateStarts, maxLate*a.opts.Timeouts.Start, p.Summary())
	default:
		return err
	}
	a.forgetLate()
	return err
}

// starting returns a context that ends, with errLate, when a program must have answered its
// start. People are told when it takes long. The caller must call stop.
func (a *Agent) starting(ctx context.Context, pid int) (limited context.Context, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	part := a.opts.Timeouts.Start / startParts
	quiet, next := a.opts.After(a.opts.Timeouts.Quiet), a.opts.After(part)
	left, before := startParts<<min(a.lateStarts, 4), a.opts.CPU(pid)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-quiet:
				quiet = nil
				a.reportHeldUp("the agent program, which has not answered since it was started %v ago",
					a.opts.Timeouts.Quiet)
			case <-next:
				// A program that waits for something computes a little, too, and one on a
				// busy machine gets only a part of a processor.
				now := a.opts.CPU(pid)
				if now-before < part/32 {
					left--
				}
				before = now
				if a.waited++; left <= 0 || a.waited >= maxLate*startParts {
					cancel(errLate)
					return
				}
				next = a.opts.After(part)
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
	limited, stop := a.starting(ctx, l.proc.PID())
	// Capabilities come first: they determine how to reopen the session.
	_, err := l.initialize(limited)
	stop()
	if errors.Is(err, errLate) {
		return errNoAnswer
	}
	if err != nil {
		return err
	}
	if a.session != "" && !l.caps.resume && l.caps.load {
		if err := a.waitForMinute(ctx); err != nil {
			return err
		}
	}
	ctx, stop = a.starting(ctx, l.proc.PID())
	defer stop()
	if err := a.enter(ctx, l); err != nil {
		if errors.Is(err, errLate) {
			err = fmt.Errorf("it has opened no session: %w", err)
		}
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
	fields := program.Fields(result)
	// A program may answer with the version that it prefers; covey supports only one.
	var version float64
	program.Lenient(fields["protocolVersion"], &version)
	if version != 1 {
		return result, fmt.Errorf("%w: it speaks version %v of the Agent Client Protocol, covey needs version 1",
			errUseless, version)
	}
	can := program.Fields(fields["agentCapabilities"])
	program.Lenient(can["loadSession"], &l.caps.load)
	resume := program.Fields(can["sessionCapabilities"])["resume"]
	l.caps.resume = len(resume) > 0 && !program.IsNull(resume) && string(resume) != "false"
	// Steering is an extension, which programs advertise in different places.
	for _, meta := range []json.RawMessage{fields["_meta"], can["_meta"]} {
		program.Lenient(program.Fields(program.Fields(meta)["steering"])["supported"], &l.caps.steer)
	}
	program.Lenient(fields["authMethods"], &l.caps.methods)
	for _, m := range l.caps.methods {
		l.caps.auth = append(l.caps.auth, m.Name)
	}
	return result, nil
}

// enter resumes the previous session, or loads it, or makes a new one. The inbox is shut, so
// the replay of a load is ignored. ctx is bounded by starting. A session that cannot be
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
		a.drop(errUnopened)
	}
	a.system(params)
	result, err := l.request(ctx, &a.opts, "session/new", params)
	if err != nil {
		return err
	}
	l.session = texts.Text(program.Fields(result)["sessionId"])
	if l.session == "" {
		return fmt.Errorf("%w: it gave no session id", errUseless)
	}
	// The id is stored before the session is used: a crash in between would leave work in a
	// session that cannot be found again.
	a.session, a.made, a.primed = l.session, a.opts.Clock(), false
	if err := a.opts.OnSession(l.session); err != nil {
		return fmt.Errorf("%w: %w", errKeep, err)
	}
	if a.lostWhy != "" {
		a.observer.Observe(events.FreshSession{Reason: a.lostWhy})
	}
	a.lostWhy = ""
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
		_, err := l.request(ctx, &a.opts, way.method, params)
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

// errUnopened is why a session is not continued if the program has refused to open it.
var errUnopened = errors.New("the agent program does not open its session any more")

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
	if answer, ok := errors.AsType[*rpcError](err); ok {
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
	return agent.Sleep(ctx, over.Sub(now)+100*time.Millisecond)
}

// system adds the system prompt to the parameters of a new session, if the program takes it
// there.
func (a *Agent) system(params map[string]any) {
	switch prompt := a.opts.System(); {
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
