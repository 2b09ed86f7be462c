package workcopies

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// numbersOf returns the ports in variables, which must be numbered from 0.
func numbersOf(t interface{ Fatalf(string, ...any) }, environ []string) []int {
	var list []int
	for i, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		port, err := strconv.Atoi(value)
		if err != nil || name != "COVEY_PORT_"+strconv.Itoa(i) || port <= firstPort || port >= dynamicPorts() {
			t.Fatalf("variable %d is %s", i, pair)
		}
		list = append(list, port)
	}
	return list
}

// TestPortsAreApart: whatever teams take and free, no two copies ever have the same port, and a copy
// keeps its ports.
func TestPortsAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		teams := make([]portBlocks, 3)
		type copyOf struct {
			team int
			dir  string
		}
		have := map[copyOf][]string{}
		defer func() {
			for i := range teams {
				teams[i].close()
			}
		}()
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			of := copyOf{rapid.IntRange(0, 2).Draw(t, "team"), rapid.SampledFrom([]string{"ana", "ben", "merge"}).Draw(t, "copy")}
			if rapid.IntRange(0, 3).Draw(t, "free") == 0 {
				teams[of.team].release(of.dir)
				delete(have, of)
				continue
			}
			n := rapid.IntRange(1, 100).Draw(t, "ports")
			got, err := teams[of.team].take(of.dir, n)
			if err != nil || len(got) != n {
				t.Fatalf("%d of %d ports: %v", len(got), n, err)
			}
			if again, err := teams[of.team].take(of.dir, n); err != nil || !slices.Equal(again, got) {
				t.Fatalf("the copy had %v and gets %v: %v", got, again, err)
			}
			have[of] = got
			owner := map[int]copyOf{}
			for of, environ := range have {
				for _, port := range numbersOf(t, environ) {
					if other, taken := owner[port]; taken {
						t.Fatalf("%v and %v have port %d", of, other, port)
					}
					owner[port] = of
				}
			}
		}
	})
}

// TestPortsAtOnce: copies that take their ports at the same time get different ones, on which a
// server can listen.
func TestPortsAtOnce(t *testing.T) {
	var mu sync.Mutex
	var all []int
	var taking sync.WaitGroup
	for range 8 {
		var p portBlocks
		t.Cleanup(p.close)
		taking.Go(func() {
			environ, err := p.take("ana", 12)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, numbersOf(t, environ)...)
		})
	}
	taking.Wait()
	slices.Sort(all)
	if len(all) != 96 || len(slices.Compact(slices.Clone(all))) != 96 {
		t.Errorf("they got %v", all)
	}
	for _, port := range all {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPortsHeld: a unit is held by its guard until the copy is gone, a port that another program uses
// is not given out, and where none are left the error says so.
func TestPortsHeld(t *testing.T) {
	var mine portBlocks
	t.Cleanup(mine.close)
	environ, err := mine.take("ana", 3)
	if err != nil {
		t.Fatal(err)
	}
	first := numbersOf(t, environ)[0] - 1
	if guard, err := hold(first); err == nil {
		t.Errorf("the unit at %d is not held, %v", first, guard.Close())
	}
	if mine.release("ana"); mine.of("ana") != nil {
		t.Error("the copy still has ports")
	}
	server, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+portUnit-1)))
	if err != nil {
		t.Fatal(err)
	}
	if guard, err := hold(first); err == nil {
		t.Errorf("the unit at %d has a port in use, and is given out, %v", first, guard.Close())
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	mine.end = firstPort + 3*portUnit
	_, err = mine.take("ben", 3*portUnit)
	if err == nil || !strings.Contains(err.Error(), "worktree.ports: 30 ports are not free between 10000 and 10029: ") ||
		mine.of("ben") != nil {
		t.Errorf("too many ports: %v", err)
	}
}

// TestPortsOfCopies: members with a copy have ports as long as it exists.
func TestPortsOfCopies(t *testing.T) {
	g := newGrove(t)
	g.team.Worktree.Ports = 3
	for _, name := range []string{"lead", "ana", "ben"} {
		if err := g.AssignDir(t.Context(), g.members[name]); err != nil {
			t.Fatal(err)
		}
	}
	ana, ben := g.Ports("ana"), g.Ports("ben")
	if len(ana) != 3 || len(ben) != 3 || slices.Equal(ana, ben) || g.Ports("lead") != nil || g.Ports("nobody") != nil {
		t.Errorf("ana has %v, ben %v, the lead %v", ana, ben, g.Ports("lead"))
	}
	if text := g.PlaceText(g.members["ana"], ""); !strings.Contains(text, "$COVEY_PORT_0 to $COVEY_PORT_2") {
		t.Errorf("ana reads %q", text)
	}
	own, _ := g.Of("ben")
	g.team.Teammates = g.team.Teammates[:1]
	g.Forget("ben")
	if err := g.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if IsFolder(own.Top) || g.ports.of(own.Root) != nil {
		t.Error("ben's copy or its ports are still there")
	}
	if !slices.Equal(g.Ports("ana"), ana) {
		t.Errorf("ana has %v now", g.Ports("ana"))
	}
}
