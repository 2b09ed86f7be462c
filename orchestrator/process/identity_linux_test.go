package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// callerVariable makes the test binary a process that calls a socket.
const callerVariable = "COVEY_TEST_CALL"

// TestCallerProcess is not a test: other tests run it as a process of its own,
// to see whom its call is taken for. It waits for a line on stdin if told so.
func TestCallerProcess(t *testing.T) {
	path := os.Getenv(callerVariable)
	if path == "" {
		t.Skip("run by other tests")
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("no connection:", err)
		os.Exit(0)
	}
	if os.Getenv(callerVariable+"_LEAVE") != "" {
		os.Exit(0)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		answer = err.Error() + "\n"
	}
	if out := os.Getenv(callerVariable + "_OUT"); out != "" {
		if errors.Join(os.WriteFile(out+".new", []byte(answer), 0o600), os.Rename(out+".new", out)) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	fmt.Print(answer)
	os.Exit(0)
}

// gatekeeper listens on a socket and tells each caller whom it is taken for.
type gatekeeper struct {
	path string
	wg   sync.WaitGroup
}

func newGatekeeper(t *testing.T, p *Processes) *gatekeeper {
	t.Helper()
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // so that other users reach it
		t.Fatal(err)
	}
	g := &gatekeeper{path: filepath.Join(dir, "s")}
	l, err := net.Listen("unix", g.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(g.path, 0o777); err != nil {
		t.Fatal(err)
	}
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.wg.Go(func() {
				defer c.Close()
				by, err := p.Identify(c)
				if err != nil {
					fmt.Fprintf(c, "refused: %v\n", err)
					return
				}
				fmt.Fprintf(c, "%s %s\n", by.Kind, cmp.Or(by.Member, "_"))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		g.wg.Wait()
	})
	return g
}

// caller is a command that calls the gatekeeper.
func (g *gatekeeper) caller(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testkit.Binary(t), "-test.run=^TestCallerProcess$")
	cmd.Env = append(os.Environ(), append(env, callerVariable+"="+g.path)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// shell is a shell that runs a script in which $CALL is such a command. Its
// descendants write what they were told into a file, which read waits for.
func (g *gatekeeper) shell(t *testing.T, script string) (cmd *exec.Cmd, read func() string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	cmd = exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), callerVariable+"="+g.path, callerVariable+"_OUT="+out,
		"CALL="+testkit.Binary(t)+" -test.run=^TestCallerProcess$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, func() string {
		for deadline := time.Now().Add(testPatience); ; time.Sleep(time.Millisecond) {
			if text, err := os.ReadFile(out); err == nil {
				return strings.TrimSpace(string(text))
			}
			if time.Now().After(deadline) {
				t.Fatal("the caller was told nothing")
			}
		}
	}
}

// run starts cmd for an owner and waits for it.
func runFor(t *testing.T, p *Processes, cmd *exec.Cmd, o Owner) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release := p.Register(cmd.Process.Pid, o)
	defer release()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestIdentifyRealProcesses(t *testing.T) {
	t.Parallel()
	if err := BecomeReaper(); err != nil {
		t.Fatal(err)
	}
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip("needs the setsid command")
	}
	for _, c := range []struct {
		name, script string
		owner        Owner
		want         string
	}{
		{"a tool's child", "$CALL; true", Owner{Kind: MemberTool, Member: "api"}, "tool api"},
		{"a hook's child", "$CALL; true", Owner{Kind: Hook, Member: "docs"}, "hook docs"},
		{"a hook of the team", "$CALL; true", Owner{Kind: Hook, Member: ""}, "hook _"},
		{"a tool's grandchild", "sh -c '$CALL; true'; true", Owner{Kind: MemberTool, Member: "api"}, "tool api"},
		{"an orphan", "( ( sleep 0.1; exec $CALL ) & )", Owner{Kind: MemberTool, Member: "api"}, "tool api"},
		{"an orphan after nohup", "( nohup sh -c 'sleep 0.1; exec $CALL' >/dev/null 2>&1 & )",
			Owner{Kind: Hook, Member: "docs"}, "hook docs"},
		{"a session of its own below a live parent", setsid + " -w $CALL; true", Owner{Kind: MemberTool,
			Member: "api"}, "tool api"},
		{"a daemon", "( " + setsid + " sh -c 'sleep 0.1; exec $CALL' & )", Owner{Kind: MemberTool,
			Member: "api"}, "stray _"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := New(Unmarked)
			g := newGatekeeper(t, p)
			cmd, read := g.shell(t, c.script)
			runFor(t, p, cmd, c.owner)
			if got := read(); got != c.want {
				t.Errorf("taken for %q, want %q", got, c.want)
			}
		})
	}
}

func TestIdentifyOperator(t *testing.T) {
	// covey is a process beside the caller, or below it.
	beside := exec.Command("sleep", "60")
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = beside.Process.Kill()
		_ = beside.Wait()
	}()
	p := New(Unmarked)
	p.self = beside.Process.Pid
	g := newGatekeeper(t, p)
	out, err := g.caller(t).Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "operator _" {
		t.Errorf("a process beside covey is taken for %q, %v", got, err)
	}
	c, err := net.Dial("unix", g.path) // this process is covey's parent
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if line, err := bufio.NewReader(c).ReadString('\n'); line != "operator _\n" {
		t.Errorf("covey's parent is taken for %q, %v", line, err)
	}
}

// Attack 39: another user.
func TestIdentifyRefusesOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	const nobodyID = 65534
	data, err := os.ReadFile(testkit.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "c")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "caller")
	if err := errors.Join(testkit.WriteProgram(bin, data), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	as := func(path string) string {
		cmd := exec.Command(bin, "-test.run=^TestCallerProcess$")
		cmd.Dir = "/"
		cmd.Env = []string{callerVariable + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	g := newGatekeeper(t, New(Unmarked))
	if got := as(g.path); !strings.Contains(got, "refused: only the user who runs the team") {
		t.Errorf("another user was told %q", got)
	}
	private := filepath.Join(t.TempDir(), "team")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(private, "control.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := as(socket); !strings.Contains(got, "permission denied") {
		t.Errorf("another user at the real socket was told %q", got)
	}
}

// A caller that has gone cannot be told by its number any more.
func TestIdentifyRefusesTheGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := &gatekeeper{path: path}
	if out, err := g.caller(t, callerVariable+"_LEAVE=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if id, err := New(Unmarked).Identify(c); err == nil {
		t.Errorf("a process that has ended is taken for %+v", id)
	}
}

func TestIdentifyRefusesWhatIsNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if id, err := New(Unmarked).Identify(a); err == nil {
		t.Errorf("a pipe is taken for %+v", id)
	}
}

func TestParseStat(t *testing.T) {
	good := "4711 (a) b) (c) S 10 20 30 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 998877 1 2 3"
	p, err := parseStat(4711, []byte(good))
	if err != nil || p.Parent != 10 || p.Group != 20 || p.Session != 30 || !strings.HasSuffix(p.Birth,
		"/998877") || p.Zombie {
		t.Errorf("parseStat = %+v, %v", p, err)
	}
	if p, err := parseStat(1, []byte(strings.Replace(good, ") S", ") Z", 1))); err != nil || !p.Zombie {
		t.Errorf("a zombie: %+v, %v", p, err)
	}
	for _, bad := range []string{"", "4711", "4711 (sh)", "4711 (sh) S 1 2", strings.Replace(good, "S 10",
		"S x", 1)} {
		if p, err := parseStat(4711, []byte(bad)); err == nil {
			t.Errorf("parseStat(%q) = %+v", bad, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 1 2 3"))
	f.Add([]byte("1 (x) ) ) S"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, err := parseStat(1, stat); err == nil && p.Birth == "" {
			t.Errorf("%q has no birth", stat)
		}
	})
}

func TestReadProcess(t *testing.T) {
	me, err := Read(os.Getpid())
	if err != nil || me.Parent != os.Getppid() || me.Zombie {
		t.Errorf("this process is %+v, %v", me, err)
	}
	if sid, err := unix.Getsid(0); err != nil || me.Session != sid {
		t.Errorf("its session is %d, want %d, %v", me.Session, sid, err)
	}
	if again, err := Read(os.Getpid()); err != nil || again != me {
		t.Errorf("read twice: %+v and %+v, %v", me, again, err)
	}
	if _, err := Read(1 << 30); !errors.Is(err, errNoProcess) {
		t.Errorf("a process that cannot be: %v", err)
	}
}

// startOrphan runs a script in the background of a shell that ends, so that it
// becomes ours, and returns its number. The script begins when it is an orphan.
func startOrphan(t *testing.T, script string) int {
	t.Helper()
	if err := BecomeReaper(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // lets the script begin
	cmd := exec.Command("/bin/sh", "-c", "(read _ <&3; exec 3<&-; "+script+") >/dev/null 2>&1 & echo $!")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{r}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func isZombie(pid int) bool {
	p, err := Read(pid)
	return err == nil && p.Zombie
}

func TestReapTakesOrphansOnly(t *testing.T) {
	p := New(Unmarked)
	pid := startOrphan(t, "exit 0")
	own := exec.Command("true") // its zombie is ours to wait for: registered
	own.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	plain := exec.Command("true") // so is this one: it is in our session
	for _, cmd := range []*exec.Cmd{own, plain} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	release := p.Register(own.Process.Pid, Owner{Kind: MemberTool, Member: "api"})
	defer release()
	for _, pid := range []int{pid, own.Process.Pid, plain.Process.Pid} {
		testkit.Eventually(t, "the process ends", func() bool { return isZombie(pid) })
	}
	seen := map[int]sighting{}
	now := time.Now()
	p.reap(seen, now)
	if !isZombie(pid) {
		t.Error("an orphan was taken at first sight, when somebody may be about to wait for it")
	}
	p.reap(seen, now.Add(reapGrace))
	if isZombie(pid) {
		t.Error("an orphan's zombie stays")
	}
	if len(seen) > 0 {
		t.Errorf("still remembered: %v", seen)
	}
	for _, cmd := range []*exec.Cmd{own, plain} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process of our own was taken: %v", err)
		}
	}
}

func TestReapRuns(t *testing.T) {
	p := New(Unmarked)
	p.grace = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.Reap(ctx) })
	pid := startOrphan(t, "exit 0")
	testkit.Eventually(t, "the orphan is taken", func() bool {
		_, err := Read(pid)
		return errors.Is(err, errNoProcess)
	})
	cancel()
	wg.Wait()
}

func TestKillStrays(t *testing.T) {
	p := New(Unmarked)
	daemon := startOrphan(t, "trap '' TERM; sleep 60 & sleep 60; true")
	kept := exec.Command("sleep", "60")
	if err := kept.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the daemon's children run", func() bool {
		below, err := descendants(daemon)
		return err == nil && len(below) == 2
	})
	below, err := descendants(daemon)
	if err != nil {
		t.Fatal(err)
	}
	killed := p.KillStrays(t.Context())
	for _, pid := range []int{daemon, below[0].PID, below[1].PID} {
		if !slices.Contains(killed, pid) {
			t.Errorf("%d is not among the killed %v", pid, killed)
		}
		testkit.Eventually(t, "it is dead", func() bool {
			info, err := Read(pid)
			return err != nil || info.Zombie
		})
	}
	if isZombie(kept.Process.Pid) {
		t.Error("a process of our own was killed")
	}
	_ = kept.Process.Kill()
	_ = kept.Wait()
	p.reap(map[int]sighting{}, time.Now())
}

func TestSiftForgetsEmptySessions(t *testing.T) {
	p := New(Unmarked)
	cmd := exec.Command("/bin/sh", "-c", "(sleep 60) >/dev/null 2>&1 &")
	runForSession := func(cmd *exec.Cmd) int {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		runFor(t, p, cmd, Owner{Kind: MemberTool, Member: "api"})
		return cmd.Process.Pid
	}
	if err := BecomeReaper(); err != nil {
		t.Fatal(err)
	}
	left, empty := runForSession(cmd), runForSession(exec.Command("true"))
	p.reap(map[int]sighting{}, time.Now())
	if _, ok := p.past[left]; !ok {
		t.Error("a session in which a process lives was forgotten")
	}
	if _, ok := p.past[empty]; ok {
		t.Error("an empty session is remembered")
	}
	p.KillStrays(t.Context())
}
