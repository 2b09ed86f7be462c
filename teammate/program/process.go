package program

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
)

// linger limits the wait for a program's remaining output after its end, because a child may
// hold the pipes open for ever.
const linger = 250 * time.Millisecond

// markerName is the environment variable that marks the descendants of a program, so that
// they are found when they have left its process group.
const markerName = "COVEY_PROGRAM="

// Process is a running program that is talked to on its streams.
type Process struct {
	Stdin  *os.File
	Stdout *Output
	Stderr *Tail
	Ended  chan struct{} // closed when it has been waited for

	cmd     *exec.Cmd
	session *sandbox.Session
	grace   time.Duration
	marker  string // the entry of its environment that marks its descendants
	release func()
	most    int                  // how many processes it may have; 0: no limit
	counted func() (killed bool) // ends the counting of its processes
}

// ProcessOptions say how to start a Process. Command and Env are required.
type ProcessOptions struct {
	Command []string
	Env     []string
	Dir     string
	Grace   time.Duration // from TERM to KILL
	Box     *sandbox.Box  // what limits the program and its descendants; nil means nothing
	// Started is called before anything is sent, so that the pid is stored if covey is killed from
	// here on; it may be nil. It returns what is called when the process has ended; nil: nothing.
	Started func(pid int) (release func())
}

// Start starts a program in its own process group and session. The caller must stop it. It makes
// the pipes itself, because Wait would close those of package exec before the last output is read.
func Start(o ProcessOptions) (*Process, error) {
	// Look the program up in the PATH of its own environment.
	path, err := proc.LookPath(o.Command[0], o.Env)
	if err != nil {
		return nil, fmt.Errorf("%s is not on the PATH of the agent's environment: %w", o.Command[0], err)
	}
	p := &Process{Stderr: &Tail{}, grace: o.Grace, Ended: make(chan struct{}), release: func() {}}
	in, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	outRead, out, err := os.Pipe()
	if err != nil {
		inWrite.Close()
		return nil, err
	}
	defer out.Close()
	p.Stdin, p.Stdout = inWrite, &Output{from: outRead, rest: maxRest}
	p.marker = markerName + rand.Text()
	p.cmd = &exec.Cmd{
		Path: path, Args: o.Command, Env: append(slices.Clone(o.Env), p.marker), Dir: o.Dir,
		Stdin: in, Stdout: out, Stderr: p.Stderr, WaitDelay: linger, SysProcAttr: proc.OwnSession(),
	}
	if p.session, err = o.Box.Start(p.cmd); err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, err
	}
	p.most = o.Box.Policy().MaxProcesses
	p.counted = proc.LimitProcesses(p.cmd.Process.Pid, p.marker, p.most)
	if o.Started != nil {
		if release := o.Started(p.cmd.Process.Pid); release != nil {
			p.release = release
		}
	}
	// Close our copies of the program's ends, because its output would otherwise never
	// end.
	go p.wait() // Stop waits for this goroutine
	return p, nil
}

// wait waits for the program and then, for at most linger, for the end of its output, which
// its children may hold open.
func (p *Process) wait() {
	// WaitDelay limits the wait for stderr, which children may hold open too.
	_ = p.cmd.Wait() // how it ended is in ProcessState
	if p.counted() {
		fmt.Fprintf(p.Stderr, "\nit %s", proc.TooManyText(p.most))
	}
	_ = p.Stdout.from.SetReadDeadline(time.Now().Add(linger))
	p.session.Close()
	p.release()
	close(p.Ended)
}

// PID returns the process id of the program.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the program and all its descendants, with TERM first, and waits for their end. It
// takes little more than grace, and may be called after the program has ended. It also ends
// what a program that has already ended left running: programs run the commands of their
// tools in sessions of their own, and those would write to the workspace during the next
// turn.
func (p *Process) Stop() {
	proc.EndTree(p.cmd.Process.Pid, p.marker, p.grace, p.Ended)
	<-p.Ended
}

// Summary describes for people how the program ended. It waits a moment for a program that
// has closed its output.
func (p *Process) Summary() string {
	text := "still running"
	select {
	case <-p.Ended:
		text = p.cmd.ProcessState.String()
	case <-time.After(linger):
	}
	if said := p.Stderr.Text(); said != "" {
		text += "; its last words: " + said
	}
	return text
}

// maxRest is more than a pipe holds, and bounds what is read, after a program's end, from a
// child that keeps writing.
const maxRest = 1 << 20

// Output reads what a program writes. It ends with the program: a child that holds the pipe
// open does not keep it from ending, and whatever the program has written is read, however
// late. It has one reader.
type Output struct {
	from *os.File
	late bool // the deadline that the program's end has set has passed
	rest int  // how many bytes may still be read after it
}

// Read reads output. Once the deadline has passed, it reads what the pipe holds, and then
// returns io.EOF: on a busy machine the deadline may pass before anything was read.
func (o *Output) Read(buf []byte) (int, error) {
	if !o.late {
		n, err := o.from.Read(buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.late = true
	}
	n, err := proc.ReadNow(o.from, buf[:min(len(buf), o.rest)])
	if o.rest -= n; n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Close closes the pipe, which ends a read.
func (o *Output) Close() error { return o.from.Close() }

// Tail is a writer that keeps the end of what is written, for a program's stderr. It is safe for
// concurrent use. The zero value is ready to use.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// tailBytes is how many bytes a Tail keeps.
const tailBytes = 2000

// Write never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b[max(len(b)-tailBytes, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-tailBytes, 0):]...)
	return len(b), nil
}

// debugLine matches lines that a program writes for its own developers: claude-agent-acp 0.101 dumps
// messages that it does not know.
var debugLine = texts.Pattern(`(?i)^\s*(unexpected case: [{\["]|\[?(debug|trace)\b)`)

// Text returns the kept text for an error message, without debugging output and without a beginning
// whose line was cut. It drops invalid UTF-8, because the cut may be in the middle of a character.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.data), "")
	if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" && len(t.data) == tailBytes {
		text = whole
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !debugLine().MatchString(line) {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// Alarm is a timer as agents use one. Tests have such as ring when they say so, since
// how fast a program is depends on the machine.
type Alarm struct {
	C    <-chan time.Time
	Set  func(time.Duration) // it rings after that time, and not before
	Stop func()
}

// NewAlarm is an alarm of the real time, which rings after d.
func NewAlarm(d time.Duration) Alarm {
	t := time.NewTimer(d)
	return Alarm{C: t.C, Set: func(d time.Duration) { t.Reset(d) }, Stop: func() { t.Stop() }}
}
