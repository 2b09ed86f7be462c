package process

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
)

// visited is a listener and the end of a connection that it has accepted.
type visited struct {
	net.Listener
	here, there netip.AddrPort
}

// visit listens, and accepts the connection that call makes to the port.
func visit(t *testing.T, call func(port string)) *visited {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	call(strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	c, err := l.Accept()
	testkit.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &visited{l, netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())}
}

// A connection is the operator's if a process outside of the team is found to hold it: not if one of
// the team or of an earlier run does, and not if none does.
func TestOutside(t *testing.T) {
	var own net.Conn
	v := visit(t, func(port string) {
		var err error
		own, err = net.Dial("tcp", "127.0.0.1:"+port)
		testkit.Must(t, err)
	})
	if err := Outside(v.here, v.there, 0, Unmarked); err != nil {
		t.Errorf("no team runs: %v", err)
	}
	if uid := UserOf(v.here, v.there); uid != os.Geteuid() {
		t.Errorf("it is of user %d", uid)
	}
	if err := Outside(v.here, v.there, os.Getpid(), Unmarked); !errors.Is(err, ErrInside) {
		t.Errorf("the team's own process: %v", err)
	}
	if err := Outside(v.here, v.there, os.Getppid(), Unmarked); !errors.Is(err, ErrInside) {
		t.Errorf("a process below the team: %v", err)
	}
	if err := Outside(v.here, v.there, 0, func(int) bool { return true }); !errors.Is(err, ErrInside) {
		t.Errorf("a process of an earlier run: %v", err)
	}

	file, err := own.(*net.TCPConn).File()
	testkit.Must(t, err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	testkit.Must(t, unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(file.Fd())), nil, 0))
	testkit.Must(t, errors.Join(file.Close(), own.Close()))
	if err := Outside(v.here, v.there, 0, Unmarked); err == nil || !strings.Contains(err.Error(), "no process shows") {
		t.Errorf("a socket in flight: %v", err)
	}
	if err := Outside(v.here, v.here, 0, Unmarked); !errors.Is(err, errNoSocket) || UserOf(v.here, v.here) != -1 {
		t.Errorf("no connection: %v", err)
	}
}

// A connection of another user is not the operator's, whoever holds it.
func TestOutsideOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it starts processes of another user")
	}
	shell, err := exec.LookPath("bash") // it opens TCP connections by itself
	if err != nil {
		t.Skip(err)
	}
	const stranger = 12345
	v := visit(t, func(port string) {
		connect := exec.Command(shell, "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port+"; read -u 3")
		connect.Dir, connect.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		testkit.Must(t, connect.Start())
		t.Cleanup(func() { _, _ = connect.Process.Kill(), connect.Wait() })
	})
	if err := Outside(v.here, v.there, 0, Unmarked); err == nil || !strings.Contains(err.Error(), "user 12345") {
		t.Errorf("another user: %v", err)
	}
	if uid := UserOf(v.here, v.there); uid != stranger {
		t.Errorf("it is of user %d", uid)
	}
}
