package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// visible makes TestRefusesToStart's own process keep its memory visible.
const visible = "COVEY_TEST_VISIBLE"

func TestMain(m *testing.M) {
	if os.Getenv(visible) == "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
	}
	if os.Getenv(probeVariable) != "" {
		playProbe()
	}
	if os.Getenv(tracerVariable) != "" {
		playTracer()
	}
	if os.Getenv(attemptsVariable) != "" {
		playAttacker()
	}
	testkit.Begin(0)
	os.Exit(m.Run())
}

// system is what programs need to run.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/opt",
	"/dev/urandom", "/dev/random", "/dev/zero", "/dev/full"}

// devices may be written to by all programs. The folders of tests are often in /dev/shm.
var devices = []string{"/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// at returns a support of at most a level.
func at(t testing.TB, level Level) Support {
	t.Helper()
	s := Probe()
	if level < Mounts {
		s.Namespaces = false
	}
	if s.Level() < level {
		t.Skipf("this system holds level %d: %v", s.Level(), s.Missing)
	}
	return s
}

// box makes a box in which a program may write to folders.
func box(t testing.TB, s Support, p Policy, write ...string) *Box {
	t.Helper()
	p.Want = Best
	p.Read = append(p.Read, system...)
	p.Write = append(append(p.Write, devices...), write...)
	b, err := New(p, s, Extras{})
	testkit.Must(t, err)
	return b
}

// run runs a shell script in a box and returns its output.
func run(t testing.TB, b *Box, dir, script string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	session, err := b.Start(cmd)
	if err != nil {
		return "", err
	}
	defer session.Close()
	err = cmd.Wait()
	return out.String(), err
}

// 300 programs in boxes beside 300 without: none of the first reads a secret, all of the others do,
// and no thread of this process stays restricted.
func TestBoxedBesidePlain(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	testkit.Must(t, os.WriteFile(secret, []byte("KEY"), 0o600))
	b := box(t, at(t, Files), Policy{Network: NetworkOff})
	var wg sync.WaitGroup
	const atOnce = 30
	for range atOnce {
		wg.Go(func() {
			for range 300 / atOnce {
				if out, err := run(t, b, "", "cat "+secret); err == nil || strings.Contains(out, "KEY") {
					t.Errorf("a boxed program read the secret: %v %q", err, out)
				}
			}
		})
		wg.Go(func() {
			for range 300 / atOnce {
				if out, err := run(t, nil, "", "cat "+secret); err != nil || out != "KEY" {
					t.Errorf("a plain program did not read the secret: %v %q", err, out)
				}
			}
		})
	}
	wg.Wait()
	testkit.Eventually(t, "no thread is restricted", func() bool { return len(restricted(t)) == 0 })
}

// TestRulesFollow: what a policy names may come, go and be replaced while its box is used.
func TestRulesFollow(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Files, Mounts} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		b := box(t, at(t, level), Policy{Read: []string{file}})
		const no = "no\n"
		wants(t, b, "/", "cat "+file+" 2>/dev/null || echo no", no)
		for _, text := range []string{"one\n", "two\n"} {
			testkit.Must(t, os.WriteFile(file+".new", []byte(text), 0o600))
			testkit.Must(t, os.Rename(file+".new", file))
			wants(t, b, "/", "cat "+file+" 2>/dev/null || echo no", text)
		}
		testkit.Must(t, os.Rename(file, dir+"/gone"))
		wants(t, b, "/", "cat "+dir+"/gone 2>/dev/null || echo no", no)
	}
}

// restricted returns the threads of this process that have a filter.
func restricted(t testing.TB) (tids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/status")
	testkit.Must(t, err)
	if len(all) == 0 {
		t.Fatal("no thread was found")
	}
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "Seccomp:\t2") {
			tids = append(tids, name)
		}
	}
	return tids
}

// The main thread is never restricted, even if it is free and the first that would be taken.
func TestNeverTheMainThread(t *testing.T) {
	t.Parallel()
	b := box(t, at(t, Files), Policy{})
	for range 50 {
		if _, err := run(t, b, "", "true"); err != nil {
			t.Fatal(err)
		}
		err := <-onOwnThread(func() error {
			if unix.Gettid() == unix.Getpid() {
				return errors.New("on the main thread")
			}
			return nil
		})
		testkit.Must(t, err)
	}
	text := testkit.Read(t, fmt.Sprintf("/proc/self/task/%d/status", os.Getpid()))
	if !strings.Contains(text, "Seccomp:\t0") {
		t.Error("the main thread is restricted")
	}
}

// A process with visible memory starts no box.
func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	s := at(t, Files)
	if os.Getenv(visible) == "" {
		cmd := exec.Command(testkit.Binary(t), "-test.run=^TestRefusesToStart$", "-test.v")
		cmd.Env = append(os.Environ(), visible+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, level := range []Level{Files, Mounts} {
		if s = Probe(); level == Files {
			s.Namespaces = false
		}
		if _, err := run(t, box(t, s, Policy{}), "", "true"); !errors.Is(err, ErrVisible) {
			t.Errorf("level %d: %v, not ErrVisible", level, err)
		}
	}
}

// Root keeps the capabilities that builds need, and no other user keeps any.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	want := "0000000000000000\n"
	if os.Geteuid() == 0 {
		want = fmt.Sprintf("%016x\n", keptByRoot)
	}
	for _, level := range []Level{Files, Mounts} {
		dir := t.TempDir()
		b := box(t, at(t, level), Policy{}, dir)
		wants(t, b, dir, `for set in CapEff CapPrm CapInh; do sed -n "s/^$set:\t//p" /proc/self/status; done; sh -c 'sed -n "s/^CapEff:\t//p" /proc/self/status'`,
			want+want+strings.Repeat("0", 16)+"\n"+want)
	}
}
