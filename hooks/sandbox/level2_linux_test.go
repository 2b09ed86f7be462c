package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// wants runs a script and compares its output.
func wants(t *testing.T, b *Box, dir, script, want string) {
	t.Helper()
	out, err := run(t, b, dir, script)
	if err != nil || out != want {
		t.Errorf("%s\nprinted %q, not %q (%v)", script, out, want, err)
	}
}

// A program of level 2 sees what it is granted, in its place, and nothing else.
func TestLevel2(t *testing.T) {
	t.Parallel()
	s := at(t, Mounts)
	dir := t.TempDir()
	for _, name := range []string{"copy/.env", "copy/deep/.env", "copy/kept/file", "copy/secret/file", "copy/deep/kept/file", "copy/deep/secret/file", "real/tool", "else/file"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o644))
	}
	work := dir + "/copy"
	testkit.Must(t, os.Symlink("real", dir+"/link"))
	testkit.Must(t, os.Symlink("../else/file", work+"/out"))
	b := box(t, s, Policy{Network: NetworkOff, Read: []string{dir + "/link/tool", dir + "/absent"},
		ReadOnly: []string{work + "/kept"}, Deny: []string{".env", work + "/secret"}, Search: []string{work}}, work)
	if len(b.Lost()) > 0 && s.Landlock >= scopes {
		t.Errorf("lost %v", b.Lost())
	}
	wants(t, b, work, "pwd; cat "+dir+"/link/tool "+dir+"/real/tool", work+"\ntext\ntext\n")
	wants(t, b, work, "cat .env deep/.env secret/file 2>/dev/null; true", "")
	wants(t, b, work, "{ echo new >kept/file; echo new >kept/other; } 2>/dev/null; cat kept/*", "text\n")
	// Nor can what is above be moved, so that the next program would find another in its place.
	wants(t, box(t, s, Policy{ReadOnly: []string{work + "/deep/kept/file"}, Deny: []string{work + "/deep/secret/file"}}, work, work+"/deep"), work,
		"for d in deep deep/kept deep/secret; do mv $d moved 2>/dev/null && echo moved $d; done; echo x >deep/new; mv deep/new deep/other; cat deep/other; rm deep/other", "x\n")
	wants(t, b, work, "cat out "+dir+"/else/file 2>/dev/null; test -e "+dir+"/else; echo $?", "1\n")
	wants(t, b, work, "mv deep/.env deep/x 2>/dev/null; mv .env x 2>/dev/null; cat x deep/x 2>/dev/null; true", "")
	wants(t, b, work, "echo new >new; mkdir d; mv new d; cat d/new", "new\n")
	wants(t, b, work, "echo t >/tmp/t; cat /tmp/t; echo s >/dev/shm/s; cat /dev/shm/s", "t\ns\n")
	wants(t, b, work, "ls /tmp /dev/shm | grep -x -e t -e s; echo out | cat /dev/stdin; cat /proc/self/mounts | grep -c "+dir+"/else; true", "out\n0\n")
	if text := testkit.Read(t, work, "d/new"); text != "new\n" {
		t.Errorf("the operator sees %q", text)
	}
	if _, err := run(t, b, dir+"/else", "true"); err == nil || !strings.Contains(err.Error(), "else is not granted") {
		t.Errorf("a working folder that is not granted: %v", err)
	}
	cmd := exec.Command("/bin/none")
	if _, err := b.Start(cmd); !os.IsNotExist(err) && !strings.Contains(fmt.Sprint(err), "no such file") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// Programs of a box share a folder for temporary files if they have one, and see it where programs
// expect it.
func TestTemp(t *testing.T) {
	t.Parallel()
	s := at(t, Mounts)
	dir, temp := t.TempDir(), t.TempDir()
	b := box(t, s, Policy{Temp: temp}, dir)
	wants(t, b, dir, "echo text >/tmp/f", "")
	wants(t, b, dir, "cat /tmp/f /var/tmp/f "+temp+"/f; cd "+dir+" && echo x >y && cat y", "text\ntext\ntext\nx\n")
	wants(t, box(t, s, Policy{}, dir), dir, "ls /tmp /var/tmp | grep -x f; true", "")
}

// A program has no open files but those of a plain one.
func TestNoFilesAreLeft(t *testing.T) {
	t.Parallel()
	const list = "for f in /proc/$$/fd/*; do echo ${f##*/}; done"
	plain, err := run(t, nil, "", list) // tests may inherit some
	testkit.Must(t, err)
	for _, level := range []Level{Files, Mounts} {
		dir := t.TempDir()
		b := box(t, at(t, level), Policy{Network: NetworkList, Hosts: []string{"example.com"}}, dir)
		wants(t, b, dir, list, plain)
	}
}

// What a program does to a discarded folder is gone with it, also what is ignored by git and what it
// removes.
func TestDiscard(t *testing.T) {
	t.Parallel()
	s := at(t, Mounts)
	temp, dir := t.TempDir(), filepath.Join(t.TempDir(), "a, b:c\\d")
	testkit.Must(t, os.MkdirAll(dir+"/sub", 0o755))
	testkit.Must(t, os.WriteFile(dir+"/f", []byte("old\n"), 0o644))
	testkit.Must(t, os.WriteFile(dir+"/sub/g", []byte("old\n"), 0o644))
	b := box(t, s, Policy{Discard: []string{dir}})
	b.extras.Layers = temp
	wants(t, b, dir, "echo new >f; mkdir -p build; echo x >build/out; rm -r sub; chmod 600 f; cat f build/out; ls", "new\nx\nbuild\nf\n")
	wants(t, b, dir, "cat f sub/g; ls", "old\nold\nf\nsub\n")
	wants(t, nil, dir, "cat f sub/g; ls", "old\nold\nf\nsub\n")
	empty := func(after string) {
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("layers were left behind after %s: %v %v", after, left, err)
		}
	}
	empty("programs")
	failing := exec.Command("/bin/sh")
	failing.SysProcAttr = &syscall.SysProcAttr{Chroot: "/nowhere"}
	if _, err := b.Start(failing); err == nil {
		t.Error("a helper started in a folder that is not there")
	}
	empty("a helper that does not start")
	testkit.Must(t, os.MkdirAll(temp+"/"+layersName+"1/0/work/work", 0o700)) // as a killed covey leaves it
	testkit.Must(t, os.Chmod(temp+"/"+layersName+"1/0/work/work", 0))
	RemoveLayers(temp)
	empty("a crash")
	s.Layers, s.Missing = false, []Lacks{{Part: "layers", Why: "there are no layers"}}
	b = box(t, s, Policy{Discard: []string{dir}})
	if lost := b.Lost(); len(lost) != 1 || !lost[0].Held || b.Level() != Mounts {
		t.Errorf("level %d, lost %v", b.Level(), lost)
	}
	wants(t, b, dir, "echo kept >f; cat f", "kept\n")
	wants(t, nil, dir, "cat f", "kept\n")
}

// Where a system refuses what boxes need, as old kernels, AppArmor and containers do, it is told at once, best holds what it
// can, and required refuses. A box in a box is such a place, too.
func TestRefused(t *testing.T) {
	t.Parallel()
	at(t, Mounts)
	flags := func(errno unix.Errno) []instruction {
		return checking(0, when(ifAny, unix.CLONE_NEWNS, answer(unix.SECCOMP_RET_ERRNO|uint32(errno))))
	}
	always := func(errno unix.Errno) []instruction {
		return []instruction{answer(unix.SECCOMP_RET_ERRNO | uint32(errno))}
	}
	const level1, level0 = "level 1\n", "level 0\n"
	for name, c := range map[string]struct {
		calls []call
		level string
		said  []string
	}{
		"namespaces of a container":          {[]call{{unix.SYS_CLONE, flags(unix.EPERM)}}, level1, []string{"namespaces cannot be used (fork/exec /proc/self/exe: operation not permitted)"}},
		"namespaces by AppArmor":             {[]call{{unix.SYS_CLONE, flags(unix.EACCES)}}, level1, []string{"namespaces cannot be used (fork/exec /proc/self/exe: permission denied)"}},
		"namespaces, of which none are left": {[]call{{unix.SYS_CLONE, flags(unix.ENOSPC)}}, level1, []string{"no space left on device"}},
		"mounts by AppArmor":                 {[]call{{unix.SYS_MOUNT, always(unix.EACCES)}}, level1, []string{"make the mounts private: permission denied"}},
		"trees of mounts":                    {[]call{{unix.SYS_OPEN_TREE, always(unix.ENOSYS)}}, level1, []string{"namespaces cannot be used (grant "}},
		"landlock of an old kernel":          {[]call{{unix.SYS_LANDLOCK_CREATE_RULESET, always(unix.ENOSYS)}}, level0, []string{"this kernel has no landlock"}},
		"landlock that is disabled":          {[]call{{unix.SYS_LANDLOCK_CREATE_RULESET, always(unix.EOPNOTSUPP)}}, level0, []string{"landlock is disabled"}},
		"landlock of a container":            {[]call{{unix.SYS_LANDLOCK_CREATE_RULESET, always(unix.EPERM)}}, level0, []string{"landlock is refused (operation not permitted)"}},
		"filters of calls":                   {[]call{{unix.SYS_SECCOMP, always(unix.ENOSYS)}}, level0, []string{"system calls cannot be filtered"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := probeUnder(t, func(start func() error) error {
				return <-onOwnThread(func() error {
					if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
						return err
					}
					program := slices.Concat([]instruction{{Code: load, K: number}}, search(c.calls))
					filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
					if err := raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter))); err != nil {
						return err
					}
					return start()
				})
			})
			said := append(c.said, c.level, "required: "+ErrRefused.Error())
			if c.level == level1 {
				said = append(said, "inside: Permission denied\n")
			}
			for _, text := range said {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q: %s", text, out)
				}
			}
		})
	}
	t.Run("box", func(t *testing.T) {
		dir := t.TempDir()
		b := box(t, at(t, Files), Policy{Read: []string{testkit.Binary(t)}}, dir)
		rules, err := b.rules()
		testkit.Must(t, err)
		out := probeUnder(t, func(start func() error) error {
			return <-onOwnThread(func() error { return errors.Join(filterThread(b.filter()), ruleThread(rules), start()) })
		})
		if !strings.Contains(out, level1) || !strings.Contains(out, "fork/exec /proc/self/exe: operation not permitted") ||
			!strings.Contains(out, "inside: Permission denied\n") {
			t.Error(out)
		}
	})
}

// probeUnder returns what playProbe prints in a process that is started by way of a function.
func probeUnder(t *testing.T, by func(start func() error) error) string {
	t.Helper()
	cmd := exec.Command(testkit.Binary(t))
	var out strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = "/", &out, &out, append(os.Environ(), probeVariable+"=1")
	testkit.Must(t, by(cmd.Start))
	testkit.Must(t, cmd.Wait())
	return out.String()
}

// probeVariable makes the test binary print what the system supports, and start a box.
const probeVariable = "COVEY_TEST_PROBE"

func playProbe() {
	s := Probe()
	fmt.Printf("level %d\n%v\n", s.Level(), s.Missing)
	read, write := System()
	b, err := New(Policy{Want: Best, Read: read[:10], Write: write}, s, Extras{})
	if _, err := New(Policy{Want: OwnMounts}, s, Extras{}); err != nil {
		fmt.Println("required:", err)
	}
	if err == nil {
		cmd := exec.Command("/bin/sh", "-c", "echo inside: $(cat /dev/urandom 2>&1 | head -c 60 | sed 's/.*: //')")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		var session *Session
		if session, err = b.Start(cmd); err == nil {
			err = cmd.Wait()
			session.Close()
		}
	}
	if err != nil {
		fmt.Println(err)
	}
	os.Exit(0)
}
