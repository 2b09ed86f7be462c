package process

import (
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"testing"
)

// A connection belongs to the member below which its process is, and to the operator if no
// process of the team has it open.
func TestConnected(t *testing.T) {
	shell, err := exec.LookPath("bash") // it opens TCP connections by itself
	if err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := New(Unmarked)
	connect := exec.Command(shell, "-c", "exec 3<>/dev/tcp/127.0.0.1/"+strconv.Itoa(l.Addr().(*net.TCPAddr).Port)+"; read -u 3")
	if err := connect.Start(); err != nil {
		t.Fatal(err)
	}
	release := p.Register(connect.Process.Pid, Owner{Kind: MemberTool, Member: "api"})
	defer release()
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connect.Wait() }()
	defer theirs.Close()
	if by, err := p.Connected(ends(theirs)); err != nil || by.Kind != MemberTool || by.Member != "api" {
		t.Errorf("a member's connection is that of %v, %v", by, err)
	}
	own, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if by, err := p.Connected(ends(ours)); err != nil || by.Kind != Operator {
		t.Errorf("the operator's connection is that of %v, %v", by, err)
	}
}

// ends returns the addresses of a connection.
func ends(c net.Conn) (here, there netip.AddrPort) {
	return netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())
}
