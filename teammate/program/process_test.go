//go:build unix

package program

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sh starts a shell with a script, whose $0 is argument. The test stops it.
func sh(t *testing.T, script, argument string) *Process {
	t.Helper()
	p, err := Start(ProcessOptions{
		Command: []string{"/bin/sh", "-c", script, argument}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Dir: t.TempDir(), Grace: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		p.Stdin.Close()
		p.Stdout.Close()
	})
	return p
}

// TestBigOutput: all that a program writes arrives, and of its stderr the end is kept. The one
// does not hold up the other.
func TestBigOutput(t *testing.T) {
	p := sh(t, `head -c 3000000 /dev/zero | tr '\0' e >&2; echo the end >&2; head -c 3000000 /dev/zero | tr '\0' o; echo over; read line`, "")
	out := bufio.NewReader(p.Stdout)
	line, err := out.ReadString('\n')
	if err != nil || len(line) != 3_000_005 || strings.Trim(line, "o") != "ver\n" {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	if _, err := io.WriteString(p.Stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	said := p.Stderr.Text()
	if len(said) != tailBytes-1 || !strings.HasSuffix(said, "eethe end") {
		t.Errorf("of its stderr %d bytes are kept, which end with %q", len(said), said[max(0, len(said)-20):])
	}
	if got := p.Summary(); got != "exit status 0; its last words: "+said {
		t.Errorf("it ended with %.80q", got)
	}
}

// TestBigInput: a program that repeats what it is told gets it all.
func TestBigInput(t *testing.T) {
	p := sh(t, `exec cat`, "")
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	sent := make(chan error, 1)
	go func() {
		_, err := p.Stdin.Write(big)
		sent <- errors.Join(err, p.Stdin.Close())
	}()
	got := make([]byte, len(big))
	if _, err := io.ReadFull(p.Stdout, got); err != nil || !bytes.Equal(got, big) {
		t.Errorf("it is not what was sent: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	<-p.Ended
}

// TestClosedStdin: writing to a program that has closed its input is an error, and does not end
// covey. The program runs on, and is stopped with TERM.
func TestClosedStdin(t *testing.T) {
	p := sh(t, `exec 0<&-; echo closed; exec sleep 600`, "") // without children, which could miss the TERM
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || line != "closed\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if _, err := io.WriteString(p.Stdin, "hello\n"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("written to a closed input: %v", err)
	}
	select {
	case <-p.Ended:
		t.Error("it has ended")
	default:
	}
	p.Stop()
	if got := p.Summary(); got != "signal: terminated" {
		t.Errorf("it ended with %q", got)
	}
}

// TestStopEndsChildren: a child of the program's group ends with it, although it ignores TERM,
// and although the program itself has ended before.
func TestStopEndsChildren(t *testing.T) {
	for name, then := range map[string]string{"the program runs": "exec cat", "the program has ended": "exit 0"} {
		t.Run(name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			// The child holds the pipe open, and its end is the end of the pipe.
			p, err := Start(ProcessOptions{
				Command: []string{"/bin/sh", "-c", `sh -c 'trap "" TERM; exec 3>"$0"; echo up >&3; exec sleep 600' "$0" >&2 & ` + then, pipe},
				Env:     []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Grace: time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop()
			alive, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			if err := alive.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			up := make([]byte, 3)
			if _, err := io.ReadFull(alive, up); err != nil { // from here on it ignores TERM
				t.Fatal(err)
			}
			if then == "exit 0" {
				<-p.Ended
			}
			p.Stop()
			if said, err := io.ReadAll(alive); err != nil || len(said) > 0 {
				t.Errorf("the child still runs: read %q, %v", said, err)
			}
		})
	}
}

// TestStarted: whoever stores the pid hears of it before the program can be talked to, and of its
// end before Ended.
func TestStarted(t *testing.T) {
	var pid int
	released := false
	p, err := Start(ProcessOptions{Command: []string{"/bin/sh", "-c", "read line"}, Dir: t.TempDir(), Grace: time.Minute,
		Started: func(id int) func() {
			pid = id
			return func() { released = true }
		}})
	if err != nil {
		t.Fatal(err)
	}
	if pid == 0 || pid != p.PID() {
		t.Errorf("started %d, and it is %d", pid, p.PID())
	}
	if err := p.Stdin.Close(); err != nil { // read ends
		t.Fatal(err)
	}
	<-p.Ended
	if !released {
		t.Error("it has ended, and nobody was told")
	}
	p.Stop()
}

// TestStartFails: a program that is not there says so, and nothing is left of it. A name is looked
// up on the PATH of the program, and never in the current folder.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, env := range map[string][]string{
		"no PATH": nil, "an empty PATH": {"PATH="}, "the current folder": {"PATH=.:"}, "the last PATH counts": {"PATH=" + dir, "PATH=/nowhere"},
	} {
		if p, err := Start(ProcessOptions{Command: []string{"tool"}, Env: env, Dir: dir}); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if p, err := Start(ProcessOptions{Command: []string{filepath.Join(dir, "none")}, Dir: dir}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that is not there: %v, %v", p, err)
	}
	p, err := Start(ProcessOptions{Command: []string{"tool"}, Env: []string{"PATH=/nowhere", "PATH=" + dir}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	p.Stop()
}

// TestTailInPieces: whatever the pieces, the end of what was written is kept.
func TestTailInPieces(t *testing.T) {
	var whole strings.Builder
	var tail Tail
	for i, piece := range []string{"", "a", strings.Repeat("bé", 700), strings.Repeat("c", 5000), "d", strings.Repeat("é", tailBytes), "e"} {
		whole.WriteString(piece)
		if n, err := tail.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("piece %d: %d, %v", i, n, err)
		}
		text := whole.String()
		want := strings.ToValidUTF8(text[max(0, len(text)-tailBytes):], "")
		if got := tail.Text(); got != want {
			t.Errorf("after piece %d: %d bytes, want %d", i, len(got), len(want))
		}
	}
}
