package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// helperName is the first argument of this program when it is started to become a boxed program.
// The next ones are the number of the file of its channel, the path of the program, and its
// arguments. Without a path it ends when the box stands.
const helperName = "covey-box"

// Not a function that main calls, because the other packages of a large program take longer to initialise than a box
// to make: it runs as soon as those few are initialised that this one imports.
var _ = becomeHelped()

// becomeHelped does nothing but in a process that was started to become a boxed program, where it does not return.
func becomeHelped() (none struct{}) {
	if len(os.Args) < 2 || os.Args[0] != helperName {
		return none
	}
	runtime.LockOSThread() // restrictions are of the thread that executes the program
	fd, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(helperFailed)
	}
	unix.CloseOnExec(fd)
	c := channel{fd}
	if err := c.becomeProgram(os.Args[2:]); err != nil {
		c.tell(wordFailed, failure{errnoOf(err), err.Error()})
		os.Exit(helperFailed)
	}
	os.Exit(0)
	return none
}

// helperFailed is the exit code of a helper that has told why it failed.
const helperFailed = 126

// channel is the helper's end of a connection to the process that started it. Each packet begins
// with a word.
type channel struct{ fd int }

// The words of a helper.
const (
	wordReady     = 'r' // it runs and waits for its orders
	wordListening = 'l' // with it come its listeners, in the order of orders.Listen
	wordBoxed     = 'b' // it executes the program next; the channel is closed by that
	wordFailed    = 'f' // with it comes a failure
)

// orders is what a helper must know.
type orders struct {
	Policy   Policy
	Landlock int
	Network  bool     // it has a network of its own
	Listen   []string // addresses to listen on there
	Scratch  string   // an empty folder, if the policy discards anything
}

// failure is why a helper cannot become the program.
type failure struct {
	Errno syscall.Errno
	Text  string
}

// Error returns the text.
func (f failure) Error() string { return f.Text }

// Unwrap returns the error of the system.
func (f failure) Unwrap() error { return f.Errno }

func errnoOf(err error) (errno syscall.Errno) {
	errors.As(err, &errno)
	return errno
}

// tell sends a word, with a value as JSON or nil, and files.
func (c channel) tell(word byte, value any, files ...int) error {
	packet := []byte{word}
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		packet = append(packet, text...)
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	return unix.Sendmsg(c.fd, packet, rights, nil, unix.MSG_NOSIGNAL)
}

// becomeProgram makes the box around this process and executes the program. It returns only if that
// fails or there is none.
func (c channel) becomeProgram(args []string) error {
	if err := c.tell(wordReady, nil); err != nil {
		return err
	}
	packet := make([]byte, maxPacket)
	n, err := unix.Read(c.fd, packet)
	if err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	var o orders
	if err := json.Unmarshal(packet[:n], &o); err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	if o.Network {
		if err := c.listen(o.Listen); err != nil {
			return err
		}
	}
	dir, err := unix.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	if err := o.makeRoot(); err != nil {
		return err
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("the working folder %s is not granted: %w", dir, err)
	}
	o.Policy.Write = append(o.Policy.Write, ownFolders...)
	b := Box{policy: o.Policy, support: Support{Landlock: o.Landlock}, level: Mounts}
	rules, err := b.ruleset()
	if err != nil {
		return err
	}
	if err := filterThread(b.filter()); err != nil {
		return err
	}
	if err := ruleThread(rules); err != nil {
		return err
	}
	if err := c.tell(wordBoxed, nil); err != nil || len(args) == 0 {
		return err
	}
	return syscall.Exec(args[0], args[1:], os.Environ())
}

// maxPacket bounds orders. A socket of this kind has no larger packets by default.
const maxPacket = 200 << 10

// listen raises the loopback interface, and opens listeners and hands them over.
func (c channel) listen(addresses []string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	var files []int
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		files = append(files, int(f.Fd()))
		// Both are closed by the execution of the program.
	}
	return c.tell(wordListening, nil, files...)
}
