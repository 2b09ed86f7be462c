package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
)

// A process that crashes cannot do anything more. So each process has a file to which the
// Go runtime writes the stack of a crash in any goroutine. The process holds a lock on its
// file while it lives, and removes it in the end: a file that nobody holds and that has
// more than its first line is of a crash, and the next command says so.

const (
	crashRunning = ".running" // of the name of a file whose process has not ended in order
	crashKept    = "crash-"   // of the name of a file with a crash that was told
)

// crashWayOut is what to do about a crash.
const crashWayOut = "covey bug-report packs what a report of it needs"

// maxCrashes is how many files of crashes are kept.
const maxCrashes = 10

// crashFolder returns the folder with the files of crashes, in the state home. It is of all
// teams, because a command may crash before it knows its team.
func crashFolder() (string, error) {
	home, err := state.StateHome()
	return filepath.Join(home, "crashes"), err
}

// CrashWatch keeps the stack of this process if it crashes. The methods of a nil
// CrashWatch do nothing.
type CrashWatch struct {
	What string // what this process is, for whoever reads the stack

	file *os.File
}

// Begin prepares the file, unless that was done before. A state home that does not exist is
// created only if create is set. Without a file, a stack is on standard error alone: a
// command must not fail for that.
func (w *CrashWatch) Begin(create bool) {
	if w == nil || w.file != nil {
		return
	}
	f, err := newCrashFile(w.What, create)
	if err != nil {
		return
	}
	if debug.SetCrashOutput(f, debug.CrashOptions{}) != nil {
		_, _ = f.Close(), os.Remove(f.Name())
		return
	}
	w.file = f
}

// newCrashFile creates a locked file. It gets the name that UnreadCrashes looks for only
// once it is locked, or another command could remove it in between. The first line says what
// crashed, which the runtime does not; the arguments are left out, because they may hold
// texts that people would not publish.
func newCrashFile(what string, create bool) (*os.File, error) {
	dir, err := crashFolder()
	if err != nil {
		return nil, err
	}
	mkdir := os.Mkdir
	if create {
		mkdir = os.MkdirAll
	}
	if err := mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	oneLine := strings.Join(strings.Fields(what), " ") // what follows the first line is a stack
	_, err = fmt.Fprintf(f, "%s, begun %s\n", oneLine, time.Now().UTC().Format(time.RFC3339))
	if err == nil {
		err = state.WaitLock(f, 0)
	}
	if err == nil {
		err = os.Rename(path, path+crashRunning)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// path returns the path of the file; empty: there is none.
func (w *CrashWatch) path() string {
	if w == nil || w.file == nil {
		return ""
	}
	return w.file.Name() + crashRunning
}

// End removes the file of a process that ends without a crash.
func (w *CrashWatch) End() {
	if w.path() == "" {
		return
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_, _ = os.Remove(w.path()), w.file.Close() // what stays is removed by the next command
	w.file = nil
}

// Tell says that this goroutine panics and where its stack will be, and goes on to panic:
// only the runtime can write the stack, and the exit code stays that of a crash. It must be
// deferred in main. A panic of another goroutine ends the process without any code of ours,
// so the next command tells it.
func (w *CrashWatch) Tell() {
	r := recover()
	if r == nil {
		return
	}
	where := "its stack follows"
	if path := w.path(); path != "" {
		where = "its stack is in " + path
	}
	fmt.Fprintf(os.Stderr, "covey: covey has crashed; %s; %s\n", where, crashWayOut)
	panic(r)
}

// UnreadCrashes returns the files of crashes that no command has told yet, and removes what
// killed processes have left. Of several processes that call it, one gets each file.
func UnreadCrashes() (unread []string) {
	dir, err := crashFolder()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"+crashRunning)) // the pattern is valid
	for _, path := range files {
		if state.LockHeld(path) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue // another process was faster
		}
		text, err := os.ReadFile(path)
		if _, stack, _ := bytes.Cut(text, []byte("\n")); err != nil || len(stack) == 0 {
			_ = os.Remove(path)
			continue
		}
		id := strings.TrimSuffix(filepath.Base(path), crashRunning)
		kept := filepath.Join(dir, crashKept+info.ModTime().UTC().Format("20060102T150405Z-")+id+".txt")
		if os.Rename(path, kept) == nil {
			unread = append(unread, kept)
		}
	}
	all := Crashes()
	for _, old := range all[:max(0, len(all)-maxCrashes)] {
		_ = os.Remove(old)
	}
	return unread
}

// Crashes returns the files of the crashes that were told, the oldest first.
func Crashes() []string {
	dir, err := crashFolder()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, crashKept+"*")) // the pattern is valid
	slices.Sort(files)
	return files
}

// TellCrashes tells the operator of crashes of earlier processes. Members and shells that
// complete a command are not told: it would be lost there.
func (e *Env) TellCrashes(args []string) {
	if os.Getenv(state.RunVariable) != "" || len(args) > 0 && strings.HasPrefix(args[0], "__") {
		return
	}
	for _, path := range UnreadCrashes() {
		e.Err.Printf("covey: an earlier covey has crashed; its stack is in %s; %s\n", path, crashWayOut)
	}
}
