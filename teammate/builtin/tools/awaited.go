package tools

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
)

// RunChange describes what has happened to a background run.
type RunChange string

// The changes of a background run.
const (
	RunBegan   RunChange = "began"   // it is about to start
	RunEnded   RunChange = "ended"   // it has ended by itself
	RunKilled  RunChange = "killed"  // KillShell has ended it
	RunCut     RunChange = "cut"     // Close has ended it while it was awaited
	RunStopped RunChange = "stopped" // Close has ended it, and nobody waited for it
)

// RunEvent tells what has happened to a background run.
type RunEvent struct {
	BackgroundRun
	Change RunChange
	// Notice tells the model of the end, in the words of recorded hosts. It is set for RunEnded.
	Notice string
}

// String names a run to people and models, as the end of "it waits for".
func (b BackgroundRun) String() string {
	return fmt.Sprintf("command %s in the background (%s)", b.ID, texts.Preview(texts.OneLine(b.Command), 100))
}

// Awaited returns the oldest background run whose end is awaited: it has not ended, or its end
// is not told yet, it listens on no port, and has not taken longer than Env.AwaitLimit.
func (t *Set) Awaited() (BackgroundRun, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.runs {
		if !r.told.Load() && r.Unawaited == "" {
			return r.BackgroundRun, true
		}
	}
	return BackgroundRun{}, false
}

// tell reports a change of a run to the host.
func (t *Set) tell(r *run, change RunChange, notice string) {
	t.mu.Lock()
	known := r.BackgroundRun
	t.mu.Unlock()
	if t.env.OnRun != nil {
		t.env.OnRun(RunEvent{BackgroundRun: known, Change: change, Notice: notice})
	}
}

// tellEnd reports the end of a run. The run is awaited until that is done, so that its member
// does not look finished in between.
func (t *Set) tellEnd(r *run) {
	switch cut := t.isClosed() && r.killed.Load(); {
	case cut && r.Unawaited == "":
		t.tell(r, RunCut, "")
	case cut:
		t.tell(r, RunStopped, "")
	case r.killed.Load():
		t.tell(r, RunKilled, "")
	default:
		t.tell(r, RunEnded, r.notice())
	}
	r.told.Store(true)
	t.awaitChanged()
}

// awaitChanged reports that Awaited may have changed.
func (t *Set) awaitChanged() {
	if t.env.AwaitChanged != nil {
		t.env.AwaitChanged()
	}
}

// notice returns what the model is told of the end of a run. What could end its frame early is
// escaped.
func (r *run) notice() string {
	how := fmt.Sprintf("completed (exit code %d)", exitCode(r.exit))
	switch {
	case r.err != nil:
		how = fmt.Sprintf("could not be started: %v", r.err)
	case r.status() == "failed":
		how = fmt.Sprintf("failed with exit code %d", exitCode(r.exit))
	}
	name := r.Description
	if name == "" {
		name = texts.OneLine(r.Command)
	}
	summary := fmt.Sprintf("Background command %q %s", texts.Preview(name, 200), how)
	return fmt.Sprintf("<task-notification>\n<task-id>%s</task-id>\n<output-file>%s</output-file>\n<status>%s</status>\n"+
		"<summary>%s</summary>\n</task-notification>", r.ID, r.output.path, r.status(),
		strings.ReplaceAll(texts.Defuse(summary), "</summary", "&lt;/summary"))
}

// The times between two looks at the sockets of a run. A socket that listens at two looks in a row
// belongs to a server; those of tests are usually gone by then.
const (
	firstLook = time.Second
	nextLook  = 3 * time.Second // after a socket was found
	restLook  = 15 * time.Second
)

// watch looks from time to time whether a run listens on a port, as a server does that nobody
// can wait for, and whether it takes longer than Env.AwaitLimit. It returns when the run has
// ended.
func (t *Set) watch(r *run, pid int, marker string) {
	var last map[string]int
	wait := t.look
	var overdue <-chan time.Time
	if t.env.AwaitLimit > 0 {
		timer := time.NewTimer(t.env.AwaitLimit)
		defer timer.Stop()
		overdue = timer.C
	}
	for late := ""; ; {
		select {
		case <-r.ended:
			return
		case <-overdue:
			late = fmt.Sprintf("it ran for more than %s (limits.background)", t.env.AwaitLimit)
			t.unawait(r, late)
			continue
		case <-time.After(wait):
		}
		now := proc.Listening(pid, marker)
		why := late
		for inode, port := range now {
			if _, again := last[inode]; again {
				why = fmt.Sprintf("it listens on port %d", port)
			}
		}
		wait = min(2*wait, max(restLook, t.look))
		if len(now) > 0 && len(last) == 0 {
			wait = min(nextLook, 3*t.look)
		}
		last = now
		t.unawait(r, why)
	}
}

// unawait sets why a run is not awaited; empty: it is.
func (t *Set) unawait(r *run, why string) {
	t.mu.Lock()
	before := r.Unawaited
	r.Unawaited = why
	t.mu.Unlock()
	if (before == "") != (why == "") {
		t.awaitChanged()
	}
}

// running returns the runs that have not ended. mu must be held.
func (t *Set) running() []*run {
	return slices.DeleteFunc(slices.Clone(t.runs), func(r *run) bool { return !r.running() })
}
