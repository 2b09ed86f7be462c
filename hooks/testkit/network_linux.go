package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Network is machines in network namespaces of their own. This process carries every packet between
// them, so it can drop and delay them in each direction; a kernel without netem cannot.
type Network struct {
	mu      sync.Mutex
	ports   map[netip.Addr]*Port
	cut     map[[2]string]bool // from one machine to another
	delay   time.Duration
	loss    float64 // share of packets
	carried int
	dropped int
}

// Port is a machine's connection to the network.
type Port struct {
	Name, Namespace string
	Address         netip.Addr
	file            *os.File // of a tun device, which has one packet a read and a write
}

// NeedNetwork skips a test where it cannot have machines of its own.
func NeedNetwork(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces and file systems of its own need root")
	}
	for _, program := range []string{"ip", "mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	name := fmt.Sprintf("covey-%d-try", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Skipf("there are no network namespaces here: %s", out)
	}
	if out, err := exec.Command("ip", "netns", "exec", name, "ip", "tuntap", "add", "dev", "net0", "mode", "tun").CombinedOutput(); err != nil {
		_ = exec.Command("ip", "netns", "del", name).Run()
		t.Skipf("there are no tun devices here: %s", out)
	}
	Run(t, "ip", "netns", "del", name)
}

// Run runs a program that must succeed.
func Run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// NewNetwork connects machines with these names.
func NewNetwork(t *testing.T, names ...string) *Network {
	t.Helper()
	n := &Network{ports: map[netip.Addr]*Port{}, cut: map[[2]string]bool{}}
	var readers sync.WaitGroup
	t.Cleanup(func() {
		for _, p := range n.ports {
			_ = p.file.Close()
		}
		readers.Wait()
	})
	for i, name := range names {
		p := &Port{Name: name, Namespace: fmt.Sprintf("covey-%d-%s", os.Getpid(), name), Address: netip.AddrFrom4([4]byte{10, 77, 0, byte(i + 1)})}
		Run(t, "ip", "netns", "add", p.Namespace)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", p.Namespace).Run() })
		Run(t, "ip", "-n", p.Namespace, "link", "set", "lo", "up")
		Run(t, "ip", "-n", p.Namespace, "tuntap", "add", "dev", "net0", "mode", "tun")
		Run(t, "ip", "-n", p.Namespace, "addr", "add", p.Address.String()+"/24", "dev", "net0")
		Run(t, "ip", "-n", p.Namespace, "link", "set", "net0", "up")
		var err error
		if p.file, err = openTun(p.Namespace); err != nil {
			t.Fatalf("the network of %s: %v", name, err)
		}
		n.ports[p.Address] = p
	}
	for _, p := range n.ports {
		readers.Go(func() { n.carry(p) })
	}
	return n
}

// openTun opens the tun device of a namespace.
func openTun(namespace string) (f *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and the thread ends with this goroutine, because it is elsewhere now
		f, err = openTunHere(namespace)
	}()
	<-done
	return f, err
}

func openTunHere(namespace string) (*os.File, error) {
	ns, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq("net0")
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "net0"), nil
}

// carry takes the packets of a machine to the others, until its port is closed.
func (n *Network) carry(from *Port) {
	for packet := make([]byte, 64<<10); ; {
		size, err := from.file.Read(packet)
		if err != nil {
			return
		}
		if size < 20 || packet[0]>>4 != 4 {
			continue // IPv6 looks for its neighbours
		}
		to, delay := n.route(from, netip.AddrFrom4([4]byte(packet[16:20])))
		switch {
		case to == nil:
		case delay == 0:
			_, _ = to.file.Write(packet[:size]) // a full queue drops, as a network does
		default:
			late := append([]byte(nil), packet[:size]...)
			time.AfterFunc(delay, func() { _, _ = to.file.Write(late) })
		}
	}
}

// route returns where a packet goes and when; nil: it is lost.
func (n *Network) route(from *Port, address netip.Addr) (*Port, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.ports[address]
	if to == nil || n.cut[[2]string{from.Name, to.Name}] || rand.Float64() < n.loss {
		n.dropped++
		return nil, 0
	}
	n.carried++
	return to, n.delay
}

// Drop cuts what a machine sends to the others, what it gets from them, or both.
func (n *Network) Drop(name string, sent, received bool, others ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range others {
		n.cut[[2]string{name, other}] = sent
		n.cut[[2]string{other, name}] = received
	}
}

// Slow makes the network slow and lossy.
func (n *Network) Slow(delay time.Duration, loss float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay, n.loss = delay, loss
}

// Heal ends all cuts.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.delay, n.loss = 0, 0
}

// At returns the port of a machine.
func (n *Network) At(name string) *Port {
	for _, p := range n.ports {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Packets returns how many packets were carried and dropped.
func (n *Network) Packets() (carried, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.carried, n.dropped
}
