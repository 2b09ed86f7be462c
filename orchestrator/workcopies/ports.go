package workcopies

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Ports are given out in units of portUnit: a guard, on which covey listens as long as the working
// copy exists, and the ports after it, which are the copy's. The units are the same for all teams
// on a machine, however many ports each of them asks for, so nobody else gets a unit whose guard is
// held. Nothing is stored: the kernel frees the guards of a team that was killed.
const (
	portUnit     = 10
	firstPort    = 10_000
	firstDynamic = 32_768 // where systems begin that give out ports by themselves, if they do not say
)

// portBlocks are the blocks of ports of a team's working copies. Its methods may be called from any
// goroutine; the zero value is ready.
type portBlocks struct {
	mu   sync.Mutex
	held map[string]portBlock // by the folder of the copy
	next int                  // the unit to look at next
	end  int                  // where the ports end; 0: at those that the system gives out by itself
}

type portBlock struct {
	guards  []net.Listener
	environ []string // COVEY_PORT_0 and so on
}

// of returns the variables that name the ports of the copy in dir; nil if it has none.
func (p *portBlocks) of(dir string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[dir].environ
}

// take takes n ports for the copy in dir, unless it has as many, and returns their variables.
func (p *portBlocks) take(dir string, n int) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if had := p.held[dir]; len(had.environ) == n {
		return had.environ, nil
	}
	p.drop(dir)
	var b portBlock
	taken := errors.New("there are fewer") // or why the last unit is not free
	end := cmp.Or(p.end, dynamicPorts())
	units := (end - firstPort) / portUnit
	for tried := 0; tried < units && len(b.environ) < n; tried++ {
		first := firstPort + p.next%units*portUnit
		p.next++
		guard, err := hold(first)
		if err != nil {
			taken = err
			continue
		}
		b.guards = append(b.guards, guard)
		for port := first + 1; port < first+portUnit && len(b.environ) < n; port++ {
			b.environ = append(b.environ, fmt.Sprintf("COVEY_PORT_%d=%d", len(b.environ), port))
		}
	}
	if p.held == nil {
		p.held = map[string]portBlock{}
	}
	p.held[dir] = b
	if len(b.environ) < n {
		p.drop(dir)
		return nil, fmt.Errorf("worktree.ports: %d ports are not free between %d and %d: %w; lower the number, or end "+
			"other teams", n, firstPort, end-1, taken)
	}
	return b.environ, nil
}

// release frees the ports of the copy in dir.
func (p *portBlocks) release(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(dir)
}

// close frees all ports.
func (p *portBlocks) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for dir := range p.held {
		p.drop(dir)
	}
}

func (p *portBlocks) drop(dir string) {
	for _, guard := range p.held[dir].guards {
		_ = guard.Close() // it has no connections
	}
	delete(p.held, dir)
}

// hold takes the unit that begins with a port, and returns its guard. A unit with a port that another
// program uses is not free.
func hold(first int) (guard net.Listener, err error) {
	for port := first; port < first+portUnit; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		switch {
		case err != nil && guard != nil:
			return nil, errors.Join(err, guard.Close())
		case err != nil:
			return nil, err
		case guard == nil:
			guard = l
		default:
			_ = l.Close() // the guard keeps it for the copy
		}
	}
	return guard, nil
}

// dynamicPorts returns the first of the ports that the system gives out by itself. Where hardly any
// are below it, no port is safe from that, and the usual border is as good as any.
func dynamicPorts() int {
	data, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // only Linux has it
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\t")
	if n, err := strconv.Atoi(first); err == nil && n >= firstPort+100*portUnit {
		return n
	}
	return firstDynamic
}
