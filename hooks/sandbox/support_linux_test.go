package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// less returns what the system supports, less than it has.
func less(t *testing.T, landlock int, namespaces bool) Support {
	t.Helper()
	level := Files
	if namespaces {
		level = Mounts
	}
	s := at(t, level)
	s.Landlock = min(s.Landlock, landlock)
	if landlock < minLandlock {
		s.Missing = append(s.Missing, Lacks{"landlock", "landlock is too old", "use a newer kernel"})
	}
	if !namespaces {
		s.Namespaces = false
		s.Missing = append(s.Missing, Lacks{"namespaces", "namespaces are forbidden", "allow them"})
	}
	return s
}

// On kernels with less, best names what is lost and holds the rest, and required refuses.
func TestLessSupport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Must(t, os.Mkdir(dir+"/a", 0o755))
	testkit.Must(t, os.Mkdir(dir+"/b", 0o755))
	read, write := System()
	policy := Policy{Read: read, Write: append(write[:4:4], dir), Network: NetworkList, Hosts: []string{"example.com"}, Deny: []string{".env"},
		Search: []string{dir}}
	for _, c := range []struct {
		landlock   int
		namespaces bool
		level      Level
		lost       string
	}{
		{0, true, None, "nothing is held: landlock is too old; use a newer kernel"},
		{1, true, None, "nothing is held: landlock is too old; use a newer kernel"},
		{2, false, Files, "signals reach|abstract unix sockets|truncated|list of hosts|denied below"},
		{4, false, Files, "signals reach|abstract unix sockets|list of hosts|denied below"},
		{4, true, Mounts, "signals reach"},
		{7, false, Files, "list of hosts|denied below"},
		{7, true, Mounts, ""},
	} {
		t.Run(fmt.Sprint(c.landlock, c.namespaces), func(t *testing.T) {
			s := less(t, c.landlock, c.namespaces)
			if s.Level() != c.level {
				t.Skipf("this system holds level %d at most", s.Level())
			}
			p := policy
			p.Want = Best
			b, err := New(p, s, Extras{})
			testkit.Must(t, err)
			var lost []string
			for _, l := range b.Lost() {
				lost = append(lost, l.String())
			}
			parts := strings.Split(c.lost, "|")
			if c.lost == "" {
				parts = nil
			}
			if len(lost) != len(parts) || b.Level() != c.level {
				t.Fatalf("level %d, lost %q", b.Level(), lost)
			}
			for i, part := range parts {
				if !strings.Contains(lost[i], part) {
					t.Errorf("lost %q, not %q", lost[i], part)
				}
			}
			wants(t, b, dir, "echo x >a/f; mv a/f b/f; cat b/f; rm b/f", "x\n")
			outside := filepath.Join(filepath.Dir(dir), "outside")
			text, _ := run(t, b, dir, "echo x >"+outside)
			if err := os.Remove(outside); (err != nil) != (c.level > None) { // at level 2 it may be written to a folder of the box
				t.Errorf("a write outside: %v %s", err, text)
			}
			for _, want := range []Want{Required, OwnMounts} {
				p.Want = want
				_, err := New(p, s, Extras{})
				if refused := errors.Is(err, ErrRefused); refused != (len(lost) > 0) {
					t.Errorf("%s: %v", want, err)
				}
			}
		})
	}
	// What is only less convenient is not refused, unless namespaces are required.
	p := Policy{Network: NetworkOff, Want: Required}
	if _, err := New(p, less(t, 7, false), Extras{}); err != nil {
		t.Error(err)
	}
	p.Want, p.Network = OwnMounts, NetworkOn
	if _, err := New(p, less(t, 7, false), Extras{}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// A policy that makes no sense is one clear error.
func TestBadPolicies(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Policy{
		`unknown level "high"`:            {Want: "high"},
		`unknown network "some"`:          {Want: Best, Network: "some"},
		"usr is no absolute path":         {Want: Best, Read: []string{"usr"}},
		"a/b is neither an absolute path": {Want: Best, Deny: []string{"a/b"}},
		`"[" is no host`:                  {Want: Best, Network: NetworkList, Hosts: []string{"["}},
		`"" is no host`:                   {Want: Best, Network: NetworkList, Hosts: []string{""}},
	} {
		if _, err := New(p, Support{}, Extras{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	if b, err := New(Policy{Want: Off}, Support{}, Extras{}); b != nil || err != nil {
		t.Error(b, err)
	}
}

// tracerVariable makes the test binary try to trace all threads of the process that the variable names.
const tracerVariable = "COVEY_TEST_TRACE"

func playTracer() {
	pid := os.Getenv(tracerVariable)
	// What shows that it could: a child of its own, in the same box.
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	} else if err := raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(child.Process.Pid)); err != nil {
		fmt.Println("its own child cannot be traced either:", err)
	}
	_ = child.Process.Kill()
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*")
	if err != nil || len(tasks) == 0 {
		fmt.Println("no tasks", err)
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(filepath.Base(task))
		if err := raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid)); err == nil {
			fmt.Println("traced", tid)
			_ = unix.PtraceDetach(tid)
		}
		if f, err := os.Open(task + "/mem"); err == nil {
			fmt.Println("opened the memory of", tid)
			f.Close()
		}
	}
	os.Exit(0)
}

// No program reaches the thread that forked it, even if it may trace and does so at once.
func TestThreadIsNotReached(t *testing.T) {
	t.Parallel()
	b := box(t, at(t, Files), Policy{Debug: true, Read: []string{testkit.Binary(t)}})
	for range 20 {
		var out strings.Builder
		cmd := exec.Command(testkit.Binary(t))
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Env = append(os.Environ(), tracerVariable+"="+strconv.Itoa(os.Getpid()))
		s, err := b.Start(cmd)
		testkit.Must(t, err)
		if err := cmd.Wait(); err != nil || out.Len() > 0 {
			t.Errorf("%v: %s", err, out.String())
		}
		s.Close()
	}
}

// The limits of a policy hold for a program, and it cannot raise them.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Files, Mounts} {
		dir := t.TempDir()
		b := box(t, at(t, level), Policy{MaxFile: 1 << 20, MaxOpen: 100}, dir)
		// The limits are set after the start at level 1.
		out, err := run(t, b, dir, `while [ "$(ulimit -Hn)" != 100 ]; do sleep 0.01; done; ulimit -n 200 2>/dev/null || echo held
			head -c 2000000 /dev/zero >big; wc -c <big`)
		if err != nil || !strings.Contains(out, "held\n") || !strings.Contains(out, "\n1048576\n") {
			t.Errorf("level %d: %v %s", level, err, out)
		}
	}
}

// BenchmarkStart prints how long a program takes in a box, compared to without, one after the other.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	ways := []*Box{nil, box(b, at(b, Files), Policy{}, dir), box(b, at(b, Mounts), Policy{Network: NetworkOff}, dir)}
	took := make([][]time.Duration, len(ways))
	for range b.N {
		for i, way := range ways {
			took[i] = append(took[i], testkit.Timed(b, func() error { _, err := run(b, way, dir, "true"); return err }))
		}
	}
	plain := testkit.Median(took[0])
	b.ReportMetric(testkit.Micros(plain), "plain-us")
	for i, name := range []string{"", "level1/plain", "level2/plain"} {
		if i > 0 {
			b.ReportMetric(float64(testkit.Median(took[i]))/float64(plain), name)
		}
	}
}
