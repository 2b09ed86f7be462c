package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// maxBrief is how many bytes of what a program said stand in one line on a screen.
const maxBrief = 300

// errCrash is wrapped by the error of a program that was killed from outside. It may be
// started again at once.
var errCrash = errors.New("the agent program was killed")

// errLost means that the program no longer knows its session.
var errLost = errors.New("the agent program has lost its session")

// failedError is the error of a program that failed for an unknown reason. It fails the
// turn.
type failedError struct {
	said string
	mute bool // it ended before it printed a line
}

// Error describes how the program ended.
func (e *failedError) Error() string { return e.said }

// api returns the error as a failed turn.
func (e *failedError) api() error {
	return &agent.APIError{Type: "unknown", Message: e.said, NoStart: e.mute}
}

// prompt runs the program once and accounts for it.
func (a *Agent) prompt(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (*talk, error) {
	t := a.talk(h)
	leave, err := a.opts.Enter(ctx)
	if err != nil {
		return t, err
	}
	t.opened = leave
	defer leave(false) // without a session nothing was opened
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
	t.Touched = t.Touched || end.reply != ""
	spent := a.opts.Counted(a.spend(&end, resumed))
	err = t.verdict(ctx, end, e.exit)
	if err == nil || t.Touched { // otherwise it may not have received the start of the prompt
		a.primed, a.spoken = a.session != "", true
	}
	if recordErr := t.finish(ctx, err, end, spent); recordErr != nil && t.Err == nil {
		err = recordErr
	}
	t.Account(reply, &t.rec.Recorder, spent)
	a.opts.OnUsage(spent)
	return t, err
}

// startFailure returns the error of a program that did not start. A retry would fail too.
func (a *Agent) startFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("command: the agent program could not be started: %w", err)
}

// spend returns the usage of the run. Some programs count from the start of a session; if that
// began in an earlier run of covey, the first count is only the base of the next one.
func (a *Agent) spend(end *ending, resumed string) program.Spent {
	spent := end.spent
	if !end.total || !spent.Known {
		return spent
	}
	total := spent.Usage
	if resumed == "" {
		a.before = &agent.Usage{}
	}
	if a.before == nil {
		spent = program.Spent{CostUSD: spent.CostUSD}
	} else {
		spent.Usage = total.Less(*a.before)
	}
	a.before = &total
	return spent
}

// finish closes the transcript of the run. Only a completed prompt gets a final message; all
// others leave the turn open after the results of their calls.
func (t *talk) finish(ctx context.Context, err error, end ending, spent program.Spent) error {
	if t.TranscriptFailed() {
		return nil
	}
	if t.rec.Last == "" || !end.told {
		t.rec.say(end.reply)
		t.rec.left += end.left
	}
	if err == nil && ctx.Err() == nil && t.Halted == "" {
		return t.rec.finish("no result came", spent, true)
	}
	why := "interrupted"
	if ctx.Err() == nil && t.Halted == "" && t.Err == nil {
		why = "the agent program ended before this call did"
	}
	if program.Continues(ctx) {
		t.rec.DropTrailingText()
		t.rec.left = 0
	}
	return t.rec.finish(why, spent, false)
}

// verdict returns what the end of a run means for the turn. The program's own report comes
// before its exit code, and both come before its other output.
func (t *talk) verdict(ctx context.Context, end ending, exit proc.Exit) error {
	switch {
	case t.Err != nil: // the prompt was given up, whatever the program reported
		return t.Err
	case t.Halted != "":
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case end.ok:
		return nil
	case end.told:
		return t.failure(end, exit)
	case exit.Signal != "":
		return fmt.Errorf("%w: %s (%s%s)", errCrash, t.a.opts.Command[0], exit.Signal, t.exitSummary(end))
	}
	return t.unexplained(end, exit)
}

// failure returns the error of a prompt that the program reports as failed.
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
		return &agent.LimitError{Until: until, Text: program.Shorten(end.said, maxBrief)}
	}
	return t.checkGuess(t.classify(end, now), end, exit)
}

// classify returns the error of a failed prompt, by its status, then by the program's error
// type, then by the text.
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
		return &agent.LoginError{Hint: program.Shorten(end.said, maxBrief)}
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

// checkGuess prevents a text that only looks like a dialect from locking a member out: if the
// dialect was guessed, the program must also fail by its exit code.
func (t *talk) checkGuess(err error, end ending, exit proc.Exit) error {
	if program.IsAPIError(err) || !end.guessed || exit.Code != 0 {
		return err
	}
	return &agent.APIError{Type: "unknown", Message: err.Error()}
}

// lostText matches the error texts of an unknown session.
var lostText = texts.Pattern(`(?i)no conversation found with session|no rollout found for|` +
	`(session|thread|conversation) .{0,80}(not found|does not exist)|(unknown|no such) session`)

// unexplained returns the error of a program that ended with an exit code or without the last
// line of its dialect. The end of its stderr may say why, and so may its output if that is
// only an error text.
func (t *talk) unexplained(end ending, exit proc.Exit) error {
	now := t.a.opts.Clock()
	words := lastLines(t.errs.Text(), 3)
	if end.said != "" {
		words = strings.TrimSpace(end.said + "\n" + words)
	}
	if t.a.session != "" && !t.Touched && lostText().MatchString(words) {
		return fmt.Errorf("%w: %s", errLost, program.Shorten(words, maxBrief))
	}
	if exit.Code != 0 {
		found := program.Diagnose(words, "", now)
		var api *agent.APIError
		if !errors.As(found, &api) || api.Type != "unknown" {
			return found
		}
		if err := program.ReplyFailure(end.reply, now); err != nil {
			return err
		}
	}
	said := fmt.Sprintf("the agent program %s ended ", t.a.opts.Command[0])
	if exit.Code == 0 {
		said += "without saying how its turn came out"
	} else {
		said += fmt.Sprintf("with exit code %d", exit.Code)
	}
	last := t.exitSummary(end)
	if last == "" && !t.printed {
		last = "; it printed nothing"
	}
	return &failedError{said: said + last, mute: !t.printed}
}

// exitSummary returns a program's last output, for people.
func (t *talk) exitSummary(end ending) string {
	words := strings.TrimSpace(end.said + "\n" + t.errs.Text())
	if words == "" {
		return ""
	}
	return "; its last words: " + words
}

// lastLines returns the last n non-empty lines of a text.
func lastLines(text string, n int) string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
