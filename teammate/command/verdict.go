package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// errCrash is wrapped by the end of a program that something else has killed:
// it may be started again at once.
var errCrash = errors.New("the agent program was killed")

// errLost says that the program does not know its session any more.
var errLost = errors.New("the agent program has lost its session")

// failedError is a program that ended without having done its work, and nobody
// can tell why. It costs the turn.
type failedError struct{ said string }

// Error says how it ended.
func (e *failedError) Error() string { return e.said }

// api is the error as that of the turn.
func (e *failedError) api() error { return &agent.APIError{Type: "unknown", Message: e.said} }

// prompt takes one run of the program to its end and books what it came to.
func (a *Agent) prompt(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (*talk, error) {
	t := a.talk(h)
	if a.opts.Enter != nil {
		leave, err := a.opts.Enter(ctx)
		if err != nil {
			return t, err
		}
		t.opened = leave
		defer leave(false) // one that told no session has opened none
	}
	p, err := a.process(a.compose(inputs), t.box, t.errs)
	if err != nil {
		return t, err
	}
	resumed := a.session
	e := t.run(ctx, p)
	if e.err != nil {
		return t, a.startFailure(ctx, e.err)
	}
	end := t.read.end(e.exit.Code)
	t.touched = t.touched || end.reply != ""
	spent := a.spend(&end, resumed)
	err = t.verdict(ctx, end, e.exit)
	if err == nil || t.touched { // else it may never have got the head of the prompt
		a.primed, a.spoken = a.session != "", true
	}
	if recordErr := t.finish(ctx, err, end, spent.Usage); recordErr != nil && t.err == nil {
		err = recordErr
	}
	t.book(reply, spent)
	return t, err
}

// startFailure is a program that did not start: no other try will do.
func (a *Agent) startFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("command: the agent program could not be started: %w", err)
}

// spend is what the run has used. Some programs count from the beginning of a
// session; where that began in another life, its first count is only where the
// next one starts.
func (a *Agent) spend(end *ending, resumed string) Spent {
	spent := end.spent
	if !end.total || !spent.Known {
		return spent
	}
	total := spent.Usage
	if resumed == "" {
		a.before = &agent.Usage{}
	}
	if a.before == nil {
		spent = Spent{CostUSD: spent.CostUSD}
	} else {
		spent.Usage = total.Less(*a.before)
	}
	a.before = &total
	return spent
}

// finish closes the transcript of the run. Only a prompt that came to its own
// end has fallen silent; all others leave the turn open behind the results of
// their calls.
func (t *talk) finish(ctx context.Context, err error, end ending, usage agent.Usage) error {
	if t.err != nil && !program.IsAPIError(t.err) {
		return nil // the transcript itself is what failed
	}
	if t.rec.last == "" || !end.told {
		t.rec.say(end.reply)
		t.rec.left += end.left
	}
	if err == nil && ctx.Err() == nil && t.halted == "" {
		return t.rec.finish(usage)
	}
	why := "interrupted"
	if ctx.Err() == nil && t.halted == "" && t.err == nil {
		why = "the agent program ended before this call did"
	}
	// A covey that is told to stop goes on with the turn in its next life. Words
	// behind the last call would tell that life that only the gates are left.
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), agent.ErrInterrupted) {
		t.rec.hush()
	}
	return t.rec.breakOff(why, usage)
}

// book adds the run to the reply.
func (t *talk) book(reply *agent.Reply, spent Spent) {
	reply.ToolCalls += t.rec.made
	reply.Usage = reply.Usage.Plus(spent.Usage)
	reply.Halted = t.halted
	if t.rec.last != "" {
		reply.Text = t.rec.last
	}
	if t.a.opts.OnUsage != nil {
		t.a.opts.OnUsage(spent)
	}
}

// verdict says what the end of a run means for the turn. The program's own word
// comes before its exit code, and both before what it printed beside.
func (t *talk) verdict(ctx context.Context, end ending, exit proc.Exit) error {
	switch {
	case t.err != nil: // the prompt was given up, whatever the program says to it
		return t.err
	case t.halted != "":
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case end.ok:
		return nil
	case end.told:
		return t.failure(end, exit)
	case exit.Signal != "":
		return fmt.Errorf("%w (%s%s)", errCrash, exit.Signal, t.epitaph(end))
	}
	return t.unexplained(end, exit)
}

// failure is what it means that the program says that its prompt has failed.
func (t *talk) failure(end ending, exit proc.Exit) error {
	now := t.a.opts.Clock()
	switch {
	case end.lost || lostText().MatchString(end.said):
		return fmt.Errorf("%w: %s", errLost, end.said)
	case end.turns:
		return fmt.Errorf("%w: of the agent program itself", agent.ErrMaxTurns)
	case end.limit && !(end.guessed && exit.Code == 0):
		until := end.until
		if until.IsZero() {
			until = program.ResetTime(end.said, now)
		}
		return &agent.LimitError{Until: until, Text: brief(end.said)}
	}
	return t.trust(t.classify(end, now), end, exit)
}

// classify is the error that a failed prompt is: by its status, by the
// program's word for it, by its words.
func (t *talk) classify(end ending, now time.Time) error {
	found := program.Diagnose(end.said, "", now)
	var api *agent.APIError
	if !errors.As(found, &api) {
		return found // a limit or a login
	}
	byStatus := map[int]string{
		400: "invalid_request", 402: "billing_error", 404: "model_not_found", 429: "rate_limit",
		500: "server_error", 502: "server_error", 503: "server_error", 504: "server_error", 529: "overloaded",
	}
	switch {
	case end.status == 401 || end.kind == "authentication_failed":
		return &agent.LoginError{Hint: brief(end.said)}
	case byStatus[end.status] != "":
		api.Type = byStatus[end.status]
	case end.kind != "":
		api.Type = end.kind
	}
	if api.Message == "" {
		api.Message = "the agent program failed without saying why"
	}
	return api
}

// trust keeps a text that only looks like a dialect from putting a member to
// sleep: a program whose dialect was guessed must also fail by its exit code.
func (t *talk) trust(err error, end ending, exit proc.Exit) error {
	if program.IsAPIError(err) || !end.guessed || exit.Code != 0 {
		return err
	}
	return &agent.APIError{Type: "unknown", Message: err.Error()}
}

// lostText is what programs say of a session that they do not know.
var lostText = notation.Pattern(`(?i)no conversation found with session|no rollout found for|` +
	`(session|thread|conversation) .{0,80}(not found|does not exist)|(unknown|no such) session`)

// unexplained is a program that ended with an exit code, or without the line
// that its dialect ends with. Its last words on stderr may tell why; what it
// printed does, if that is nothing but such a word.
func (t *talk) unexplained(end ending, exit proc.Exit) error {
	now := t.a.opts.Clock()
	words := lastLines(t.errs.Text(), 3)
	if end.said != "" {
		words = strings.TrimSpace(end.said + "\n" + words)
	}
	if t.a.session != "" && !t.touched && lostText().MatchString(words) {
		return fmt.Errorf("%w: %s", errLost, brief(words))
	}
	if exit.Code != 0 {
		found := program.Diagnose(words, "", now)
		var api *agent.APIError
		if !errors.As(found, &api) || api.Type != "unknown" {
			return found
		}
		if err := program.Confession(end.reply, now); err != nil {
			return err
		}
	}
	said := fmt.Sprintf("the agent program ended with exit code %d", exit.Code)
	if exit.Code == 0 {
		said = "the agent program ended without saying how its turn came out"
	}
	return &failedError{said: said + t.epitaph(end)}
}

// epitaph is what a program said last, for people.
func (t *talk) epitaph(end ending) string {
	words := strings.TrimSpace(end.said + "\n" + t.errs.Text())
	if words == "" {
		return ""
	}
	return "; its last words: " + words
}

// lastLines are the last n lines of a text that hold anything.
func lastLines(text string, n int) string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// brief is a text short enough for one line on a screen.
func brief(text string) string {
	if len(text) <= 300 {
		return text
	}
	return strings.ToValidUTF8(text[:300], "") + " …"
}
