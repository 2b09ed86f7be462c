package proc

import (
	"maps"
	"net"
	"os"
	"slices"
	"testing"
)

// TestListening finds the port on which this process listens, as long as it does.
func TestListening(t *testing.T) {
	own, ok := Read(os.Getpid())
	if !ok {
		t.Fatal("this process is not in the table")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if found := slices.Collect(maps.Values(Listening(own.Session, "NOBODY="))); !slices.Contains(found, port) {
		t.Errorf("found %v, not %d", found, port)
	}
	if found := Listening(-1, "NOBODY="); len(found) > 0 {
		t.Errorf("a session that is not there listens on %v", found)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if found := slices.Collect(maps.Values(Listening(own.Session, "NOBODY="))); slices.Contains(found, port) {
		t.Errorf("found %v after %d was closed", found, port)
	}
}
