package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
)

func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // boxes need it
		panic(err)
	}
	testkit.Begin(0)
	os.Exit(m.Run())
}

// TestWithoutRoot runs the tests as another user, who needs a user namespace for level 2.
func TestWithoutRoot(t *testing.T) { testkit.WithoutRoot(t, "TestNetworkList") }

// A list of hosts lets programs reach these, and tells of the others; servers of their own work.
func TestNetworkList(t *testing.T) {
	t.Parallel()
	s := sandbox.Probe()
	if s.Level() < sandbox.Mounts {
		t.Skipf("this system holds level %d: %v", s.Level(), s.Missing)
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s\n", r.Method, r.Host) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	testkit.Must(t, err)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	refused := make(chan string, 10)
	dir := t.TempDir()
	read, write := sandbox.System()
	b, err := sandbox.New(sandbox.Policy{Want: sandbox.Best, Read: read, Write: append(write, dir), Network: sandbox.NetworkList, Hosts: []string{"127.0.0.1:" + port}}, s, sandbox.Extras{
		Proxy: func(l net.Listener, hosts []string) { Serve(l, hosts, func(host string) { refused <- host }) },
		Listeners: map[string]func(net.Listener){"127.0.0.1:4711": func(l net.Listener) {
			_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "team") }))
		}},
	})
	testkit.Must(t, err)
	wants := func(script, want string) {
		t.Helper()
		var out strings.Builder
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		session, err := b.Start(cmd)
		testkit.Must(t, err)
		defer session.Close()
		if err := cmd.Wait(); err != nil || out.String() != want {
			t.Errorf("%s\nprinted %q, not %q (%v)", script, out.String(), want, err)
		}
	}
	to := "127.0.0.1:" + port
	curl := "curl -s --noproxy '' -m 300 "
	wants(curl+"http://"+to, "GET "+to+"\n")
	wants(curl+"-p http://"+to, "GET "+to+"\n") // -p makes a tunnel
	wants("curl -s http://127.0.0.1:4711", "team\n")
	wants("curl -s http://"+to+"; echo $?", "7\n") // not without the proxy
	theirs := strings.TrimPrefix(other.URL, "http://")
	wants(curl+other.URL, "covey: sandbox: "+theirs+" may not be reached (sandbox.network.allow)\n")
	wants(curl+"-p "+other.URL+"; echo $?", "56\n")
	for range 2 {
		if host := <-refused; host != theirs {
			t.Errorf("refused %s", host)
		}
	}
}
