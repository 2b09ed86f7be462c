//go:build unix

package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"go.uber.org/goleak"
)

// TestMain lets the test binary play the agent program.
func TestMain(m *testing.M) {
	if script := os.Getenv("COMMAND_FAKE"); script != "" {
		(&fake{}).main(script)
		os.Exit(0)
	}
	testkit.Begin(0)
	goleak.VerifyTestMain(m)
}

// life is what one process of the fake does, in words that fake.do knows. The
// last life of a play stays.
type life []string

// started is what a process of the fake was started with.
type started struct {
	Args  []string `json:"args"`
	Stdin string   `json:"stdin"`
	Extra string   `json:"extra"` // the variable COMMAND_EXTRA
}

// fake is an agent program that does what it is told.
type fake struct {
	dir  string
	out  *bufio.Writer
	told started
}

func (f *fake) main(script string) {
	var lives []life
	if err := json.Unmarshal([]byte(script), &lives); err != nil {
		panic(err)
	}
	f.dir = os.Getenv("COMMAND_FAKE_DIR")
	f.out = bufio.NewWriterSize(os.Stdout, 1<<20)
	f.told = started{Args: os.Args[1:], Extra: os.Getenv("COMMAND_EXTRA")}
	no := f.count()
	for _, words := range lives[min(no, len(lives)-1)] {
		f.do(words)
		f.out.Flush()
	}
}

// count is how often the program was started before.
func (f *fake) count() int {
	n := 0
	for {
		file, err := os.OpenFile(f.file(n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			file.Close()
			f.log(n)
			return n
		}
		n++
	}
}

func (f *fake) file(n int) string { return filepath.Join(f.dir, "start-"+strconv.Itoa(n)) }

func (f *fake) log(n int) {
	data, err := json.Marshal(f.told)
	if err == nil {
		err = os.WriteFile(f.file(n), data, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// do does one thing.
func (f *fake) do(words string) {
	verb, rest, _ := strings.Cut(words, " ")
	n, _ := strconv.Atoi(rest)
	switch verb {
	case "read": // all of stdin, into the log of this life
		data, _ := io.ReadAll(os.Stdin)
		f.told.Stdin = string(data)
		for no := 0; ; no++ {
			if _, err := os.Stat(f.file(no + 1)); err != nil {
				f.log(no)
				return
			}
		}
	case "print":
		fmt.Fprintln(f.out, rest)
	case "half":
		f.out.WriteString(rest)
	case "file":
		data, err := os.ReadFile(rest)
		if err != nil {
			panic(err)
		}
		f.out.Write(data)
	case "err":
		fmt.Fprintln(os.Stderr, rest)
	case "bytes":
		f.out.WriteString(strings.Repeat("x", n))
	case "noise":
		f.out.WriteString("\x00\xff\xfe{\"type\":\x01\n\x00\n}{[[[\n\xc3\n")
	case "flood": // MiB of short lines
		for range n << 16 {
			f.out.WriteString("0123456789abcde\n")
		}
	case "sleep":
		d, _ := time.ParseDuration(rest)
		time.Sleep(d)
	case "mark":
		if err := os.WriteFile(filepath.Join(f.dir, rest), nil, 0o600); err != nil {
			panic(err)
		}
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "await": // until the test lets it go on
		f.out.Flush()
		awaitFile(filepath.Join(f.dir, rest))
	case "hang":
		testkit.Hang()
	case "child": // that holds the outputs
		f.child(nil)
	case "daemon": // in a session of its own
		f.child(&syscall.SysProcAttr{Setsid: true})
	case "exit":
		f.out.Flush()
		os.Exit(n)
	case "die":
		f.out.Flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		testkit.Hang()
	default:
		panic("the fake does not know " + words)
	}
}

// child starts a process that sleeps with our outputs open, and notes its pid.
func (f *fake) child(attr *syscall.SysProcAttr) {
	cmd := exec.Command("/bin/sleep", "60")
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(f.dir, "child"), []byte(pid), 0o600); err != nil {
		panic(err)
	}
}
