package replica_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// fault is something that happens to a cluster. When do returns, it is over, and what has ended runs
// again.
type fault struct {
	kind, name string
	do         func(c *cluster, leader string) // leader is the server that leads the log
}

// networkFaults returns all faults. Those of .ci/run come first.
func networkFaults() []fault {
	return []fault{
		{"cut", "the coordinator is cut off", cutCoordinator(true, true)},
		{"kill", "the leading server is killed", killServers(func(leader string) []string { return []string{leader} })},
		{"power", "the power of all servers fails", func(c *cluster, _ string) { powerCut(c, machines[:3]...) }},
		{"kill", "the coordinator is killed and starts again", killCoordinator},
		{"kill", "the coordinator's host dies", killHost},
		{"cut", "the leading server is cut off", cutServer(true, true)},
		{"stop", "the coordinator is stopped", stopCoordinator},
		{"kill", "the standby is killed", killStandby},
		{"cut", "nobody hears the coordinator", cutCoordinator(true, false)},
		{"kill", "another server is killed", killServers(func(leader string) []string { return []string{another(leader)} })},
		{"kill", "the leading server and the coordinator's host die", killBoth},
		{"slow", "200 ms and 5 % loss", slowNetwork},
		{"cut", "the coordinator hears nobody", cutCoordinator(false, true)},
		{"kill", "all servers are killed", killServers(func(string) []string { return machines[:3] })},
		{"full", "the disk of the leading server is full", fullDisk},
		{"cut", "nobody hears the leading server", cutServer(true, false)},
		{"stop", "the leading server is stopped", stopServer},
		{"power", "the power of the leading server fails", func(c *cluster, leader string) { powerCut(c, leader) }},
		{"cut", "the leading server hears nobody", cutServer(false, true)},
		{"kill", "the coordinator is killed and starts again", killCoordinator},
		{"cut", "two servers do not reach each other", cutPair},
		{"kill", "the coordinator's host dies", killHost},
		{"cut", "the standby is cut off", cutStandby},
		{"cut", "the leading server reaches hosts alone", cutFromServers},
	}
}

// another returns another server.
func another(name string) string {
	if name == "a" {
		return "b"
	}
	return "a"
}

// others returns all machines but one.
func others(name string) (list []string) {
	for _, m := range machines {
		if m != name {
			list = append(list, m)
		}
	}
	return list
}

func cutCoordinator(sent, received bool) func(*cluster, string) {
	return func(c *cluster, _ string) {
		old, _ := c.leader()
		c.Drop(old.name, sent, received, others(old.name)...)
		c.takenOver(old)
		c.acked(3)
		c.Heal()
		c.depose(old)
	}
}

func cutServer(sent, received bool) func(*cluster, string) {
	return func(c *cluster, leader string) {
		c.Drop(leader, sent, received, others(leader)...)
		c.acked(50) // those under way are few
		c.Heal()
	}
}

// cutFromServers leaves a server that hosts may be connected to without the others.
func cutFromServers(c *cluster, leader string) {
	c.Drop(leader, true, true, slices.DeleteFunc(slices.Clone(machines[:3]), func(m string) bool { return m == leader })...)
	c.acked(50)
	c.Heal()
}

func cutPair(c *cluster, leader string) {
	c.Drop(leader, true, true, another(leader))
	c.acked(1500)
	c.Heal()
}

func cutStandby(c *cluster, _ string) {
	name := c.standby()
	c.Drop(name, true, true, others(name)...)
	c.acked(1500)
	c.Heal()
}

// standby returns the host that does not lead.
func (c *cluster) standby() string {
	now, _ := c.leader()
	if now.name == "x" {
		return "y"
	}
	return "x"
}

func killServers(which func(leader string) []string) func(*cluster, string) {
	return func(c *cluster, leader string) {
		for _, name := range which(leader) {
			c.kill(name)
			c.count["killed servers"]++
		}
		if len(which(leader)) == 1 {
			c.acked(50)
		}
		for _, name := range which(leader) {
			c.start(name)
		}
	}
}

func killCoordinator(c *cluster, _ string) {
	old, changed := c.leader()
	c.killHost(old)
	<-changed
}

// killHost kills the coordinator on a host that is gone until another one has taken over.
func killHost(c *cluster, _ string) {
	old, _ := c.leader()
	c.Drop(old.name, true, true, others(old.name)...)
	c.killHost(old)
	c.takenOver(old)
	c.acked(3)
	c.Heal()
}

func killBoth(c *cluster, leader string) {
	c.kill(leader)
	c.count["killed servers"]++
	killHost(c, leader)
	c.start(leader)
}

func killStandby(c *cluster, _ string) {
	c.mu.Lock()
	h := c.both[map[string]string{"x": "y", "y": "x"}[c.now.name]]
	c.mu.Unlock()
	c.killHost(h)
	<-h.gone
	c.acked(20)
}

// killHost kills the process of a host.
func (c *cluster) killHost(h *hosted) {
	_ = h.cmd.Process.Kill()
	c.count["killed hosts"]++
}

func stopCoordinator(c *cluster, _ string) {
	old, _ := c.leader()
	_ = old.cmd.Process.Signal(syscall.SIGSTOP)
	c.takenOver(old)
	c.acked(3)
	_ = old.cmd.Process.Signal(syscall.SIGCONT)
	c.depose(old)
}

func stopServer(c *cluster, leader string) {
	c.stop(leader, syscall.SIGSTOP)
	c.acked(50)
	c.stop(leader, syscall.SIGCONT)
}

func slowNetwork(c *cluster, _ string) {
	c.Slow(200e6, 0.05)
	c.acked(40)
	c.Heal()
}

// fullDisk leaves no room on a server's disk until others have gone on. The server then has to be
// started again: it has given up its part.
func fullDisk(c *cluster, leader string) {
	room := c.disks[leader].Fill()
	c.acked(200)
	room()
	c.kill(leader)
	c.start(leader)
}

// powerCut cuts the power of servers at one moment.
func powerCut(c *cluster, names ...string) {
	for _, name := range names {
		c.stop(name, syscall.SIGSTOP)
	}
	for _, name := range names {
		c.disks[name].PowerCut(func() { c.kill(name) })
	}
	for _, name := range names {
		c.start(name)
	}
}

// buildWithClock builds this test with a clock that is an hour off for processes.
func buildWithClock(t *testing.T, dir string) string {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const read = "sec, nsec, mono := runtimeNow()\n"
	off := strings.Replace(string(text), read, read+"\tsec += 3600\n", 1)
	if off == string(text) {
		t.Fatalf("%s does not read the clock as expected", source)
	}
	wrong, overlay, program := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "clock.test")
	if err := os.WriteFile(wrong, []byte(off), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, []byte(`{"Replace":{"`+source+`":"`+wrong+`"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, "go", "test", "-c", "-overlay", overlay, "-o", program, ".")
	return program
}
