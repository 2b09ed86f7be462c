package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// Why a prompt ends before the team's work does.
var (
	errCancelled = errors.New("the client has cancelled the prompt")
	errLeft      = errors.New("the client has left")
)

// maxGoal is the longest goal in bytes: it is an argument of `covey up`.
const maxGoal = 100_000

// session is a team that a client talks to.
type session struct {
	server *server
	conn   *acp.AgentSideConnection
	id     acp.SessionId // the name of the team's state folder, so that it outlives the server
	place  state.Place

	mu   sync.Mutex
	at   opened
	stop context.CancelCauseFunc // ends the running prompt; nil: none runs
}

// opened is what a session was last opened with.
type opened struct {
	cwd  string
	spec string // absolute path
	lead string // the lead's name
}

// opened returns what the session was last opened with.
func (s *session) opened() opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// cancel ends the running prompt, if any, for a cause.
func (s *session) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop(cause)
	}
}

// begin makes the context of a prompt. The library's own context also ends with another prompt
// of the same session, which is refused here: the first one goes on. The caller must call
// runs.Done once it has started the run, or cannot.
func (s *session) begin(ctx context.Context) (context.Context, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.server.closed:
		return nil, errLeft
	case s.stop != nil:
		return nil, errors.New("the team works on the prompt before; wait for its end, or cancel it")
	}
	s.server.runs.Add(1)
	ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return ctx, nil
}

// end ends what begin has begun.
func (s *session) end() {
	s.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
}

// prompt runs the team with a text until its work is done, and returns why it stopped.
func (s *session) prompt(ctx context.Context, text string) (acp.StopReason, error) {
	ctx, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	defer s.end()
	t, run, err := s.start(ctx, text)
	s.server.runs.Done()
	if err == nil {
		t.follow(ctx, run)
	}
	switch cause := context.Cause(ctx); {
	case cause == errLeft:
		return "", errLeft
	case cause == errCancelled: // also while it was starting
		return acp.StopReasonCancelled, nil
	case err != nil:
		return "", err
	}
	return t.stopReason(run)
}

// start starts a run with a text for the lead.
func (s *session) start(ctx context.Context, text string) (*talk, *run, error) {
	if err := s.waitFree(ctx); err != nil {
		return nil, nil, err
	}
	t, at := newTalk(ctx, s), s.opened()
	args := []string{"up", "--json", "--" + UpFlag}
	if s.server.opts.allowUnenforced {
		args = append(args, "--allow-unenforced")
	}
	args = append(args, "--", at.spec)
	switch err := members.PromptStopped(ctx, s.place, at.lead, text); {
	case errors.Is(err, tasks.ErrNotFound) && len(text) > maxGoal:
		return nil, nil, fmt.Errorf("the goal has %d bytes, and may have %d; put a long text into a file, "+
			"and name the file", len(text), maxGoal)
	case errors.Is(err, tasks.ErrNotFound): // it has never run
		args = append(args, text)
	case err != nil:
		return nil, nil, err
	}
	run, err := begin(s.place, args)
	if err != nil {
		return nil, nil, fmt.Errorf("start team %s: %w", s.place.Team, err)
	}
	s.server.runs.Go(func() { run.read(s.server.gone) })
	s.server.runs.Go(func() { s.watch(ctx, run) })
	return t, run, nil
}

// watch ends a run in order when its prompt is over, and holds the members before if it was
// cancelled.
func (s *session) watch(ctx context.Context, run *run) {
	select {
	case <-ctx.Done():
	case <-run.over:
		return
	}
	if context.Cause(ctx) == errCancelled {
		// A team that cannot be asked, because it is starting or ending, is not held. It ends
		// all the same, and its turns go on with the next prompt.
		if err := hold(context.WithoutCancel(ctx), s.place); err != nil && !errors.Is(err, api.ErrNotRunning) {
			s.server.env.Err.Printf("covey: hold team %s: %v\n", s.place.Team, err)
		}
	}
	run.stop()
}

// hold interrupts and holds all members of a running team.
func hold(ctx context.Context, place state.Place) error {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	client, err := api.Dial(ctx, place)
	if err != nil {
		return err
	}
	defer client.Close()
	status, err := client.Status(ctx)
	for _, m := range status.Members {
		_, one := client.Interrupt(ctx, api.InterruptRequest{Member: m.Name})
		err = errors.Join(err, one)
	}
	return err
}

// freeWithin is how long a prompt waits for a team that runs already: one whose server was
// killed is ending.
const freeWithin = 10 * time.Second

// waitFree waits until the team does not run.
func (s *session) waitFree(ctx context.Context) error {
	run, up := state.Running(s.place)
	if !up {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.server.patience)
	defer cancel()
	err := state.WaitReleased(limited, s.place, run.PID)
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("team %s runs already, outside of this session (process %d); "+
			"covey down --team %s stops it", s.place.Team, run.PID, s.place.Team)
	}
	return err
}

// run is a `covey up` that this program has started.
type run struct {
	lines chan events.Event // of this run; closed when the process has ended
	over  chan struct{}     // closed when lines is

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    *os.File // its standard error, which outlives this program
	from   int64    // where the log of this run begins

	// Valid once the process has ended.
	err  error  // how
	told string // the beginning of what it has written to standard error
}

// begin starts covey with args. The process has a session of its own, so that a signal to the
// group of this program does not reach it: it ends in order, with its standard input.
func begin(place state.Place, args []string) (*run, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := place.Create(); err != nil {
		return nil, err
	}
	log, err := proc.OpenOwn(filepath.Join(place.Dir, "up.log"), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	r := &run{
		lines: make(chan events.Event), over: make(chan struct{}), cmd: exec.Command(bin, args...), log: log,
	}
	r.cmd.Stderr, r.cmd.SysProcAttr = log, proc.OwnSession()
	r.from, err = log.Seek(0, io.SeekEnd)
	if err == nil {
		r.stdin, err = r.cmd.StdinPipe()
	}
	if err == nil {
		r.stdout, err = r.cmd.StdoutPipe()
	}
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

// stop tells the process to end in order.
func (r *run) stop() { _ = r.stdin.Close() } // it fails if the process has ended

// read passes on the lines that the process prints, and waits for its end. Once gone is closed,
// nobody takes the lines any more: they are in the journal.
func (r *run) read(gone <-chan struct{}) {
	defer close(r.over)
	defer close(r.lines)
	lines := json.NewDecoder(r.stdout)
	for reading := true; reading; {
		var l events.Line
		if lines.Decode(&l) != nil { // its output has ended
			break
		}
		select {
		case r.lines <- l.Event():
		case <-gone:
			reading = false
		}
	}
	_, _ = io.Copy(io.Discard, r.stdout)
	r.err = r.cmd.Wait()
	told, err := io.ReadAll(io.NewSectionReader(r.log, r.from, maxTold))
	r.told = strings.TrimSpace(term.Plain(string(told)))
	r.err = errors.Join(r.err, err, r.log.Close())
}

// maxTold is how much of the standard error of a run is kept, in bytes.
const maxTold = 16 << 10

// trouble returns why a run that is over has no end in the journal.
func (r *run) trouble() string {
	switch {
	case r.told != "":
		return r.told
	case r.err != nil:
		return "it was cut off (" + r.err.Error() + "); the next prompt continues it"
	}
	return "it ended without a word"
}
