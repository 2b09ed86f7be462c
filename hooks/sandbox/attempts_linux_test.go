package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// world is what surrounds a member: an operator's repository, state and secrets, the copies of two
// members, and a process with a key in its environment.
type world struct {
	Home, Workspace, State string // the operator's
	Copy, Other, Temp      string // the member's own copy, another's, and the member's folder for temporary files
	Socket, Abstract       string
	TCP, UDP, MPTCP        string
	Terminal               string
	PID                    int
}

// The texts that must not be read.
const secretText = "SECRET-0815"

// attempts makes the test binary try all attempts in the world that the variable holds, and print
// the names of those that succeed, one a line.
const attemptsVariable = "COVEY_TEST_ATTEMPTS"

func playAttacker() {
	var w world
	if err := json.Unmarshal([]byte(os.Getenv(attemptsVariable)), &w); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, a := range attempts {
		if err := a.try(w); err == nil {
			fmt.Println("fell:", a.name)
		} else {
			fmt.Printf("held: %s: %q\n", a.name, err.Error())
		}
	}
	os.Exit(0)
}

// attempt is something that a boxed program must not be able to do.
type attempt struct {
	name  string
	try   func(w world) error
	level Level // the first level that holds it
	// uncontrolled is why it does not succeed without a box either; empty means that it does.
	uncontrolled string
}

// appendTo changes a file that is there. At level 2 folders above a grant may be the program's own,
// so that making a file there shows nothing.
func appendTo(path string) error { return write(path, os.O_APPEND) }

func create(path string) error { return write(path, os.O_CREATE) }

func write(path string, flag int) error {
	f, err := os.OpenFile(path, flag|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("#evil\n")
	return errors.Join(err, f.Close())
}

func readSecret(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte(secretText)) {
		err = fmt.Errorf("it has %d other bytes", len(text))
	}
	return err
}

func git(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// hello connects and reads the greeting of the operator.
func hello(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	if network == "udp" {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // nobody answers datagrams that do not arrive
	buf := make([]byte, 5)
	if _, err := io.ReadAtLeast(c, buf, 5); err != nil {
		return err
	}
	return nil
}

// raw makes a system call on a thread of its own, which ptrace wants.
func raw(call uintptr, args ...uintptr) error {
	runtime.LockOSThread()
	args = append(args, make([]uintptr, 6-len(args))...)
	_, _, errno := unix.Syscall6(call, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return errno
	}
	return nil
}

var attempts = []attempt{
	{name: "01 update-ref main in the workspace", level: Files, try: func(w world) error {
		return git(w.Workspace, "update-ref", "refs/heads/main", "HEAD~1")
	}},
	{name: "02 update-ref main in the own copy, seen by the operator", uncontrolled: "a clone has refs of its own", try: func(w world) error {
		if err := git(w.Copy, "update-ref", "refs/heads/main", "v1"); err != nil {
			return err
		}
		main, err := exec.Command("git", "-C", w.Workspace, "rev-parse", "main").Output()
		first, err2 := exec.Command("git", "-C", w.Copy, "rev-parse", "v1").Output()
		if err = errors.Join(err, err2); err == nil && !bytes.Equal(main, first) {
			err = errors.New("the operator's branch has not moved")
		}
		return err
	}},
	{name: "39 push to the workspace", level: Files, try: func(w world) error { return git(w.Copy, "push", "-q", w.Workspace, "HEAD:refs/heads/pushed") }},
	{name: "03 write the file refs/heads/main", level: Files, try: func(w world) error { return create(w.Workspace + "/.git/refs/heads/evil") }},
	{name: "04 write .git/config", level: Files, try: func(w world) error { return appendTo(w.Workspace + "/.git/config") }},
	{name: "05 write a hook", level: Files, try: func(w world) error { return create(w.Workspace + "/.git/hooks/post-checkout") }},
	{name: "06 write info/attributes", level: Files, try: func(w world) error { return create(w.Workspace + "/.git/info/attributes") }},
	{name: "07 write packed-refs", level: Files, try: func(w world) error { return appendTo(w.Workspace + "/.git/packed-refs") }},
	{name: "08 rename a file over packed-refs", level: Files, try: func(w world) error {
		if err := create(w.Temp + "/refs"); err != nil {
			return err
		}
		return os.Rename(w.Temp+"/refs", w.Workspace+"/.git/packed-refs.lock")
	}},
	{name: "09 rename an object of the operator", level: Files, try: func(w world) error {
		all, _ := filepath.Glob(w.Workspace + "/.git/objects/??/*")
		if len(all) == 0 {
			return errors.New("no object is to be seen")
		}
		return errors.Join(os.Rename(all[0], all[0]+".x"), os.Rename(all[0]+".x", all[0]))
	}},
	{name: "10 write objects/info/alternates", level: Files, try: func(w world) error { return create(w.Workspace + "/.git/objects/info/alternates") }},
	{name: "11 write another member's branch", level: Files, try: func(w world) error { return create(w.Other + "/.git/refs/heads/covey-ben") }},
	{name: "12 write another member's copy", level: Files, try: func(w world) error { return appendTo(w.Other + "/f.txt") }},
	{name: "13 write another member's HEAD", level: Files, try: func(w world) error { return appendTo(w.Other + "/.git/HEAD") }},
	{name: "14 write the operator's checkout", level: Files, try: func(w world) error { return appendTo(w.Workspace + "/f.txt") }},
	{name: "15 read .env of the operator's checkout", level: Files, try: func(w world) error { return readSecret(w.Workspace + "/.env") }},
	{name: "16 write the trust file", level: Files, try: func(w world) error { return appendTo(w.State + "/trust.json") }},
	{name: "17 read the operator's key", level: Files, try: func(w world) error { return readSecret(w.State + "/key") }},
	{name: "18 connect to the operator's socket by its path", level: Mounts, try: func(w world) error { return hello("unix", w.Socket) }},
	{name: "19 rename the operator's socket", level: Files, try: func(w world) error { return os.Rename(w.Socket, w.Socket+"2") }},
	{name: "20 connect to an abstract socket", level: Files, try: func(w world) error { return hello("unix", w.Abstract) }},
	{name: "21 connect to the operator's port", level: Files, try: func(w world) error { return hello("tcp", w.TCP) }},
	{name: "22 connect to it by Multipath TCP", level: Files, try: func(w world) error {
		var d net.Dialer
		d.SetMultipathTCP(true)
		c, err := d.Dial("tcp", w.TCP)
		if err != nil {
			return err
		}
		return c.Close()
	}},
	{name: "23 exchange datagrams", level: Files, try: func(w world) error { return hello("udp", w.UDP) }},
	{name: "24 read ~/.ssh", level: Files, try: func(w world) error { return readSecret(w.Home + "/.ssh/id") }},
	{name: "25 read ~/.aws", level: Files, try: func(w world) error { return readSecret(w.Home + "/.aws/credentials") }},
	{name: "26 read the environment of a process outside", level: Files, try: func(w world) error { return readSecret(fmt.Sprintf("/proc/%d/environ", w.PID)) }},
	{name: "27 read by the root of a process outside", level: Files, try: func(w world) error { return readSecret(fmt.Sprintf("/proc/%d/root%s/key", w.PID, w.State)) }},
	{name: "28 signal a process outside", level: Files, try: func(w world) error { return unix.Kill(w.PID, unix.SIGCONT) }},
	{name: "29 trace a process outside", level: Files, try: func(w world) error {
		if err := raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(w.PID)); err != nil {
			return err
		}
		_ = unix.PtraceDetach(w.PID)
		return nil
	}},
	{name: "30 write through a symlink", level: Files, try: func(w world) error {
		_ = os.Symlink(w.State+"/trust.json", w.Copy+"/link")
		return appendTo(w.Copy + "/link")
	}},
	{name: "31 hard link the key", level: Files, try: func(w world) error { return os.Link(w.State+"/key", w.Copy+"/key") }},
	{name: "32 make a user namespace", level: Files, try: func(world) error {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}
		return cmd.Run()
	}},
	{name: "33 gain rights by a setuid program", level: Files, try: func(world) error {
		none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if none == 1 {
			return errors.New("no new privileges")
		}
		return err
	}},
	{name: "34 make an io_uring", level: Files, try: func(world) error {
		var params [256]byte
		return raw(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&params)))
	}},
	{name: "35 chmod outside", level: Mounts, try: func(w world) error { return os.Chmod(w.State+"/trust.json", 0o666) }},
	{name: "36 utime outside", level: Mounts, try: func(w world) error { return os.Chtimes(w.State+"/trust.json", time.Time{}, time.Now()) }},
	{name: "37 setxattr outside", level: Mounts, try: func(w world) error { return unix.Setxattr(w.State+"/trust.json", "user.x", []byte("1"), 0) }},
	{name: "38 stat outside", level: Mounts, try: func(w world) error { _, err := os.Stat(w.Home + "/.ssh/id"); return err }},
	{name: "40 type into a terminal", level: Files, try: func(world) error {
		key := byte('x')
		err := raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&key)))
		if errors.Is(err, unix.ENOTTY) {
			err = nil // it is no terminal here, but it was asked
		}
		return err
	}},
	{name: "41 lock a file outside", level: Files, try: func(w world) error {
		f, err := os.Open(w.State + "/key")
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}},
	{name: "42 remove the operator's index", level: Files, try: func(w world) error { return os.Remove(w.Workspace + "/.git/index") }},
	{name: "43 read .git/config", level: Files, try: func(w world) error { return readSecret(w.Workspace + "/.git/config") }},
	{name: "44 make a pipe in the state", level: Files, try: func(w world) error { return unix.Mkfifo(w.State+"/pipe", 0o600) }},
	{name: "45 read what others share in memory", level: Files, try: func(w world) error {
		var file string
		all, _ := filepath.Glob("/dev/shm/covey-test-secret-*")
		if len(all) > 0 {
			file = all[0]
		}
		return readSecret(file)
	}},
	{name: "46 change the priority of a process outside", level: Files, try: func(w world) error {
		left, err := unix.Getpriority(unix.PRIO_PROCESS, w.PID) // 20 less how nice it is, which an ordinary user only raises
		return errors.Join(err, unix.Setpriority(unix.PRIO_PROCESS, w.PID, min(20-left+1, 19)))
	}},
	{name: "47 open a socket of virtual machines", level: Files, try: func(world) error {
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		return err
	}},
	{name: "48 make a process outside the first to be killed", level: Files, try: func(w world) error {
		return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", w.PID), []byte("1000"), 0)
	}},
	{name: "49 limit a process outside", level: Files, try: func(w world) error {
		var now unix.Rlimit
		return unix.Prlimit(w.PID, unix.RLIMIT_CORE, nil, &now)
	}},
	{name: "50 read the memory of a process outside", level: Files, try: func(w world) error {
		_, err := os.Open(fmt.Sprintf("/proc/%d/mem", w.PID))
		return err
	}},
	{name: "51 signal by a pidfd", level: Files, try: func(w world) error {
		fd, err := unix.PidfdOpen(w.PID, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	}},
	{name: "52 watch a folder outside", level: Files, try: func(w world) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, w.State, unix.IN_CREATE)
		return err
	}},
	{name: "53 read where a link outside leads", level: Mounts, try: func(w world) error { _, err := os.Readlink(w.State + "/link"); return err }},
	{name: "54 System V shared memory of others", level: Files, try: func(w world) error {
		_, err := unix.SysvShmGet(sharedKey, 4096, 0)
		return err
	}},
	{name: "55 the folder of a process outside", level: Files, try: func(w world) error {
		return readSecret(fmt.Sprintf("/proc/%d/cwd/key", w.PID))
	}},
	{name: "56 open a tree of mounts", level: Files, try: func(w world) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/", 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "59 the operator's terminal", level: Mounts, try: func(w world) error {
		_, err := os.OpenFile(w.Terminal, os.O_RDWR|unix.O_NOCTTY, 0)
		return err
	}},
	{name: "60 change the priority of all processes of the user", level: Files, uncontrolled: "it would", try: func(world) error {
		if none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || none == 0 {
			return errors.New("not tried without a box")
		}
		left, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		return errors.Join(err, unix.Setpriority(unix.PRIO_USER, 0, 20-left))
	}},
	{name: "61 change how the disk serves all processes of the user", level: Files, try: func(world) error {
		const user, noClass = 3, 7 << 13
		err := raw(unix.SYS_IOPRIO_SET, user, 0, noClass)
		if errors.Is(err, unix.EINVAL) {
			err = nil // the kernel was asked
		}
		return err
	}},
	{name: "57 an x32 call", level: Files, uncontrolled: "kernels seldom have x32", try: func(world) error { return raw(x32Calls | unix.SYS_GETPID) }},
	{name: "58 use the keys of others", level: Files, uncontrolled: "not all kernels have keys", try: func(world) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	}},
}

// sharedKey is the key of the world's shared memory.
const sharedKey = 0x636f7679

// newWorld makes a world.
func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	w := world{Home: dir + "/home", Workspace: dir + "/ws", State: dir + "/state", Copy: dir + "/copies/ana",
		Other: dir + "/copies/ben", Temp: dir + "/tmp", Socket: dir + "/state/s", Abstract: "@covey-test-" + filepath.Base(filepath.Dir(dir)) + fmt.Sprint(os.Getpid())}
	for name, text := range map[string]string{
		"state/trust.json": "{}", "state/key": secretText, "home/.ssh/id": secretText, "home/.aws/credentials": secretText, "tmp/x": "",
	} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	testkit.Must(t, os.Symlink("key", w.State+"/link"))
	testkit.Shell(t, dir, `git init -q -b main ws && cd ws && git config user.name op && git config user.email op@example.com
		git config http.extraheader `+secretText+`
		printf '.env\n' >.gitignore; echo `+secretText+` >.env; echo 1 >f.txt; git add -A; git commit -qm one; git tag v1
		echo 2 >>f.txt; git commit -qam two
		git pack-refs --all; for m in ana ben; do git clone -q --shared . ../copies/$m && git -C ../copies/$m switch -qc covey-$m; done`)
	testkit.Must(t, os.MkdirAll(w.Workspace+"/.git/hooks", 0o700))
	testkit.Must(t, os.MkdirAll(w.Workspace+"/.git/info", 0o700))
	greet := func(network, address string) string {
		l, err := net.Listen(network, address)
		testkit.Must(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				_, _ = c.Write([]byte("HELLO"))
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	greet("unix", w.Socket)
	greet("unix", w.Abstract)
	w.TCP = greet("tcp", "127.0.0.1:0")
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { u.Close() })
	go func() {
		for _, from, err := u.ReadFrom(make([]byte, 9)); err == nil; _, from, err = u.ReadFrom(make([]byte, 9)) {
			_, _ = u.WriteTo([]byte("HELLO"), from)
		}
	}()
	w.UDP = u.LocalAddr().String()
	terminal, slave, err := pty.Open()
	testkit.Must(t, err)
	t.Cleanup(func() { slave.Close(); terminal.Close() })
	w.Terminal = slave.Name()
	other := exec.Command("sleep", "3600")
	other.Env, other.Dir = []string{"PATH=" + os.Getenv("PATH"), "API_KEY=" + secretText}, w.State
	testkit.Must(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	w.PID = other.Process.Pid
	if id, err := unix.SysvShmGet(sharedKey, 4096, unix.IPC_CREAT|0o600); err == nil {
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	if f, err := os.CreateTemp("/dev/shm", "covey-test-secret-"); err == nil {
		t.Cleanup(func() { os.Remove(f.Name()) })
		_, _ = f.WriteString(secretText)
		f.Close()
	}
	return w
}

// attack tries all attempts in a box around a member of a world, and returns what fell.
func attack(t *testing.T, w world, b *Box) (fell, all []string) {
	t.Helper()
	text, err := json.Marshal(w)
	testkit.Must(t, err)
	var out bytes.Buffer
	cmd := exec.Command(testkit.Binary(t))
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.Copy, &out, &out
	cmd.Env = append(os.Environ(), attemptsVariable+"="+string(text), "TMPDIR="+w.Temp, "HOME="+w.Temp,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	s, err := b.Start(cmd)
	testkit.Must(t, err)
	defer s.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	t.Log(out.String())
	for line := range strings.Lines(out.String()) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		name, _, _ := strings.Cut(rest, ": ")
		if kind == "fell" {
			fell = append(fell, name)
		}
		all = append(all, name)
	}
	return fell, all
}

// TestAttempts tries what a boxed program must not be able to do, without a box and at both levels.
func TestAttempts(t *testing.T) {
	for _, level := range []Level{None, Files, Mounts} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			w := newWorld(t)
			var b *Box
			if level > None {
				b = box(t, at(t, level), Policy{Network: NetworkOff,
					Read: []string{w.Workspace + "/.git/objects", testkit.Binary(t)}}, w.Copy, w.Temp)
			}
			fell, all := attack(t, w, b)
			if len(all) != len(attempts) {
				t.Errorf("%d of %d attempts were made", len(all), len(attempts))
			}
			for _, a := range attempts {
				did := slices.Contains(fell, a.name)
				switch {
				case level == None && !did && a.uncontrolled == "":
					t.Errorf("%s: does not succeed without a box, so that it proves nothing", a.name)
				case level > None && a.level <= level && did:
					t.Errorf("%s: succeeds", a.name)
				case level > None && a.level > level && !did:
					t.Errorf("%s: level %d holds it, too", a.name, level)
				}
			}
		})
	}
}

// TestWithoutRoot runs the tests as another user, who needs a user namespace for level 2.
func TestWithoutRoot(t *testing.T) {
	testkit.WithoutRoot(t, "TestBoxedBesidePlain", "TestAttempts", "TestRefusesToStart", "TestLevel2", "TestDiscard",
		"TestLessSupport", "TestCapabilities", "TestJobs", "TestTemp", "TestNoFilesAreLeft", "TestRefused", "TestThreadIsNotReached", "TestLimits", "TestRulesFollow")
}
