package program

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
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
	grace   time.Duration
	marker  string // the entry of its environment that marks its descendants
	release func()
}

// ProcessOptions say how to start a Process. Command and Env are required.
type ProcessOptions struct {
	Command []string
	Env     []string
	Dir     string
	Grace   time.Duration // from TERM to KILL
	// Started is called before anything is sent, so that the pid is stored if covey is killed from
	// here on; it may be nil. It returns what is called when the process has ended; nil: nothing.
	Started func(pid int) (release func())
}

// Start starts a program in its own process group and session. The caller must stop it. It makes
// the pipes itself, because Wait would close those of package exec before the last output is read.
func Start(o ProcessOptions) (*Process, error) {
	// Look the program up in the PATH of its own environment.
	path, err := lookPath(o.Command[0], o.Env)
	if err != nil {
		return nil, err
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
	if err := p.cmd.Start(); err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, err
	}
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
	_ = p.Stdout.from.SetReadDeadline(time.Now().Add(linger))
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

// lookPath finds a program on the PATH of env, never in the current folder, where agents
// write. A name with a slash is returned unchanged. Of several PATH entries the last counts,
// as for the program itself.
func lookPath(name string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	var dirs string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			dirs = value
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH of the agent's environment: %w", name, exec.ErrNotFound)
}
