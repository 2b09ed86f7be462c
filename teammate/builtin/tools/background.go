package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxRuns is how many background runs there may be at once. An agent that starts
// more has most likely forgotten the earlier ones.
const maxRuns = 32

// BackgroundRun is a command that runs in the background.
type BackgroundRun struct {
	// ID is the id for BashOutput and KillShell: bash_1, bash_2, …
	ID      string
	Command string
	// Description is the agent's own, for people; it may be empty.
	Description string
	Started     time.Time
	// Unawaited is why nobody waits for its end, such as "it listens on port 8080"; empty:
	// its end is awaited.
	Unawaited string
}

// run is a background run, running or ended.
type run struct {
	BackgroundRun
	output *runFile
	// cancel kills the run with all its processes.
	cancel context.CancelFunc
	// killed means that KillShell or Close asked for the end.
	killed atomic.Bool
	// began is closed when the host knows of the run, and ended when exit and err are set; do
	// not read these before.
	began, ended chan struct{}
	told         atomic.Bool // the host knows of its end
	exit         proc.Exit
	err          error
	// read is how many bytes of the output BashOutput has shown; reading guards it.
	read    int64
	reading sync.Mutex
}

// Background returns the runs that have not ended, oldest first.
func (t *Set) Background() []BackgroundRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []BackgroundRun
	for _, r := range t.running() {
		list = append(list, r.BackgroundRun)
	}
	return list
}

// running reports whether the run has not ended.
func (r *run) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// status returns the run's state as BashOutput and hooks name it.
func (r *run) status() string {
	switch {
	case r.running():
		return "running"
	case r.killed.Load():
		return "killed"
	case r.err != nil || exitCode(r.exit) != 0:
		return "failed"
	default:
		return "completed"
	}
}

// startRun starts a command in the background. It runs until it ends or KillShell
// or Close kills it; the end of the turn does not affect it. It does not change the
// member's directory.
func (t *Set) startRun(in bashInput, note string) agent.ToolResult {
	r, err := t.owner().newRun(in, t.env.Workdir.Dir())
	if err != nil {
		return agent.Failed("Bash: %v", err)
	}
	<-r.began
	text := fmt.Sprintf("Command running in background with ID: %s. Output is being written to: %s. You will be "+
		"notified when it ends.", r.ID, r.output.path)
	return Success(joinLines([]string{text, note}), bashOutput{Stderr: note, BackgroundTaskID: r.ID})
}

// errClosed is the error of a command after Close.
var errClosed = errors.New("the member is being stopped; nothing is started any more")

// newRun makes a run in dir and starts its goroutine, which Close waits for. It holds the
// lock throughout, so that no run can start after Close has listed the runs.
func (t *Set) newRun(in bashInput, dir string) (*run, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Ended runs stay in the list, because their output may still be read.
	running := len(t.running())
	switch {
	case t.closed:
		return nil, errClosed
	case running >= maxRuns:
		return nil, fmt.Errorf("%d commands are running in the background already; end one with "+
			"KillShell first", running)
	}
	s, err := t.shell.script(in.Command, false)
	if err != nil {
		return nil, fmt.Errorf("the command could not be prepared: %w", err)
	}
	output, id, err := t.nextOutput()
	if err != nil {
		s.remove()
		return nil, fmt.Errorf("its output could not be kept: %w", err)
	}
	// With the turn's context the run would end with the turn.
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{
		BackgroundRun: BackgroundRun{ID: id, Command: in.Command, Description: in.Description,
			Started: t.now()},
		output: output, cancel: cancel, began: make(chan struct{}), ended: make(chan struct{}),
	}
	t.runs = append(t.runs, r)
	p := t.process(s)
	p.Dir = dir
	t.group.Go(func() {
		t.waitForRun(ctx, r, p, s.remove)
	})
	return r, nil
}

// waitForRun runs p to its end, and then calls remove, before anybody learns of the end. Both
// streams go to one file in the order of arrival, as a terminal shows them.
func (t *Set) waitForRun(ctx context.Context, r *run, p proc.Process, remove func()) {
	t.tell(r, RunBegan, "")
	close(r.began)
	p.Stdout, p.Stderr = r.output, r.output
	var watching sync.WaitGroup
	p.Started = func(pid int) func() {
		watching.Go(func() { t.watch(r, pid, p.Marker) })
		return t.env.track(pid)
	}
	r.exit, r.err = p.Run(ctx)
	remove()
	t.recordStrays(r.exit, p.Marker)
	r.output.close()
	r.cancel()
	close(r.ended)
	watching.Wait()
	t.tellEnd(r)
}

// nextOutput makes the output file and the id of the next run. Numbering continues
// after the files of earlier runs, so that an id is unique within a conversation,
// restarts included. Ids are numbers and not random, because scripts need to know
// them.
func (t *Set) nextOutput() (*runFile, string, error) {
	last := 0
	names, _ := filepath.Glob(filepath.Join(t.env.OutputDir, "bash_*.output"))
	for _, name := range names {
		digits := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "bash_"), ".output")
		if n, err := strconv.Atoi(digits); err == nil && n > last {
			last = n
		}
	}
	id := fmt.Sprintf("bash_%d", last+1)
	path := filepath.Join(t.env.OutputDir, id+".output")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, "", cause(err)
	}
	return &runFile{path: path, file: f}, id, nil
}

// runFile stores the output of a background run, with both streams as they arrive.
type runFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	kept int64
}

// Write never fails; it drops what exceeds spoolFile or the disk.
func (f *runFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if part := p[:min(int64(len(p)), spoolFile-f.kept)]; len(part) > 0 && f.file != nil {
		n, _ := f.file.Write(part)
		f.kept += int64(n)
	}
	return len(p), nil
}

// close closes the file; later writes are dropped.
func (f *runFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.file.Close()
	f.file = nil
}

// errNoRun is the error of a call that names an unknown run.
var errNoRun = errors.New("there is no background command")

// find returns the background run with the given id.
func (t *Set) find(id string) (*run, error) {
	t = t.owner()
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for _, r := range t.runs {
		if r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w %q, nor any other; one from before a restart has ended with it, and what "+
			"it had printed is in %s", errNoRun, id, t.env.OutputDir)
	}
	return nil, fmt.Errorf("%w %q; there are %s", errNoRun, id, strings.Join(ids, ", "))
}

// kill starts to end a run, and does not wait.
func (r *run) kill() {
	if r.running() {
		r.killed.Store(true)
	}
	r.cancel()
}

// Close kills everything that these tools have started: background runs, processes
// that commands have left running, and a running foreground command. It returns when
// the background runs have ended. Close may be called twice; Bash starts nothing
// afterwards.
func (t *Set) Close() error {
	t.EndRuns()
	t.endStrays()
	return nil
}

// EndRuns is the part of Close that ends the background runs and tells the host so.
func (t *Set) EndRuns() {
	t.mu.Lock()
	t.closed = true
	runs := append([]*run{}, t.runs...)
	t.mu.Unlock()
	for _, r := range runs {
		r.kill()
	}
	t.group.Wait()
}
