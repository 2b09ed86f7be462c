package process

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tree is a process table for tests.
type tree map[int]Process

func (t tree) read(pid int) (Process, error) {
	p, ok := t[pid]
	if !ok {
		return Process{}, errNoProcess
	}
	return p, nil
}

// forest is: init 1 > shell 10 > covey 50 > tool 60 (session 60) > child 61
// > grandchild 62; covey > hook 70; covey > orphan 65 of session 60; covey >
// daemon 80 with a session of its own > its child 81; shell 10 > another
// command 90 of the operator; covey > git 55 in covey's own session.
func forest() tree {
	t := tree{}
	for _, p := range []Process{
		{PID: 1, Parent: 0, Group: 1, Session: 1}, {PID: 10, Parent: 1, Group: 10, Session: 10},
		{PID: 50, Parent: 10, Group: 50, Session: 10}, {PID: 55, Parent: 50, Group: 50, Session: 10},
		{PID: 60, Parent: 50, Group: 60, Session: 60}, {PID: 61, Parent: 60, Group: 60, Session: 60},
		{PID: 62, Parent: 61, Group: 62, Session: 62}, {PID: 65, Parent: 50, Group: 60, Session: 60},
		{PID: 70, Parent: 50, Group: 70, Session: 70}, {PID: 80, Parent: 50, Group: 80, Session: 80},
		{PID: 81, Parent: 80, Group: 80, Session: 80}, {PID: 90, Parent: 10, Group: 90, Session: 10},
	} {
		p.Birth = fmt.Sprint("b", p.PID)
		t[p.PID] = p
	}
	return t
}

// registryOf is a registry of process 50 with the tool 60 of api and the hook
// 70 for docs.
func registryOf(t tree) *Processes {
	p := New(Unmarked)
	p.self = 50
	p.live[60] = registration{Owner: Owner{Kind: MemberTool, Member: "api"}, Birth: t[60].Birth, Mark: new(int)}
	p.live[70] = registration{Owner: Owner{Kind: Hook, Member: "docs"}, Birth: t[70].Birth, Mark: new(int)}
	return p
}

func TestWhoCalls(t *testing.T) {
	t.Parallel()
	api, docs := Caller{Kind: MemberTool, Member: "api"}, Caller{Kind: Hook, Member: "docs"}
	for _, c := range []struct {
		name   string
		pid    int
		change func(tree, *Processes)
		want   Caller
	}{
		{"the operator's shell, an ancestor of covey", 10, nil, Caller{Kind: Operator}},
		{"covey itself", 50, nil, Caller{Kind: Operator}},
		{"another command of the operator", 90, nil, Caller{Kind: Operator}},
		{"init", 1, nil, Caller{Kind: Operator}},
		{"a tool", 60, nil, api},
		{"a tool's child", 61, nil, api},
		{"a tool's grandchild in a session of its own", 62, nil, api},
		{"an orphan in a tool's session", 65, nil, api},
		{"a hook", 70, nil, docs},
		{"a daemon", 80, nil, Caller{Kind: Unowned}},
		{"a daemon's child", 81, nil, Caller{Kind: Unowned}},
		{"covey's own git", 55, nil, Caller{Kind: Unowned}},
		{"an orphan of a tool that has ended", 65, func(t tree, p *Processes) {
			r := p.live[60]
			delete(t, 60)
			delete(t, 61)
			p.release(60, r)
		}, api},
		{"an orphan that made a group of its own", 65, func(t tree, p *Processes) {
			o := t[65]
			o.Group = 65
			t[65] = o
		}, api},
		{"an orphan, and the number of its session belongs to a younger process", 65, func(t tree, p *Processes) {
			r := p.live[60]
			p.release(60, r)
			young := t[60]
			young.Birth = "later"
			t[60] = young
		}, Caller{Kind: Unowned}},
		{"a process with the number of a tool that has ended", 60, func(t tree, p *Processes) {
			young := t[60]
			young.Birth = "later"
			t[60] = young
		}, Caller{Kind: Unowned}},
		{"a process of the operator with the number of a tool that has ended", 60, func(t tree, p *Processes) {
			t[60] = Process{PID: 60, Parent: 10, Group: 60, Session: 10, Birth: "later"}
		}, Caller{Kind: Operator}},
		{"a tool that was registered after it had ended", 65, func(t tree, p *Processes) {
			r := p.live[60]
			r.Birth = ""
			p.live[60] = r
		}, Caller{Kind: Unowned}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := forest()
			p := registryOf(tr)
			if c.change != nil {
				c.change(tr, p)
			}
			got, err := p.locate(c.pid, tr.read)
			c.want.PID = c.pid
			if err != nil || got != c.want {
				t.Errorf("process %d is %+v, %v; want %+v", c.pid, got, err, c.want)
			}
		})
	}
}

// Whoever is below covey is never taken for the operator, whatever the tree.
func TestNobodyBelowBecomesOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := forest()
		p := registryOf(tr)
		below := []int{50}
		for pid := 100; pid < 100+rapid.IntRange(1, 20).Draw(t, "processes"); pid++ {
			tr[pid] = Process{
				PID: pid, Parent: rapid.SampledFrom(below).Draw(t, "parent"),
				Group:   rapid.SampledFrom(below).Draw(t, "group"),
				Session: rapid.SampledFrom(append(below, pid, 60, 70)).Draw(t, "session"), Birth: fmt.Sprint(pid),
			}
			below = append(below, pid)
		}
		chain, err := ancestry(below[len(below)-1], p.self, tr.read)
		if err != nil {
			t.Fatal(err)
		}
		if by := p.judge(chain, tr.read); by.Kind == Operator {
			t.Fatalf("%+v was taken for the operator", chain)
		}
	})
}

// A parent that ends while we look must not let its child pass for somebody
// else's: the walk begins anew and finds the new parent.
func TestParentEndsDuringTheWalk(t *testing.T) {
	tr := forest()
	p := registryOf(tr)
	reads := 0
	read := func(pid int) (Process, error) {
		if reads++; reads == 2 { // 61 was read, its parent 60 is next
			child := tr[61]
			child.Parent = 50
			tr[61] = child
			delete(tr, 60)
			p.release(60, p.live[60])
		}
		return tr.read(pid)
	}
	if by, err := p.locate(61, read); err != nil || by.Kind != MemberTool || by.Member != "api" {
		t.Errorf("locate = %+v, %v", by, err)
	}
}

// A number that is given away between two reads must not mislead the walk.
func TestNumberReusedDuringTheWalk(t *testing.T) {
	tr := forest()
	p := registryOf(tr)
	reads := 0
	read := func(pid int) (Process, error) {
		if reads++; reads == 2 {
			child := tr[61] // 61 becomes an orphan, and 60 a process of the operator
			child.Parent = 50
			tr[61] = child
			tr[60] = Process{PID: 60, Parent: 10, Group: 60, Session: 10, Birth: "later"}
		}
		return tr.read(pid)
	}
	if by, err := p.locate(61, read); err != nil || by.Kind == Operator {
		t.Errorf("locate = %+v, %v", by, err)
	}
}

func TestWalkGivesUp(t *testing.T) {
	tr := forest()
	if _, err := ancestry(4711, 50, tr.read); !errors.Is(err, errNoProcess) {
		t.Errorf("a process that is not there: %v", err)
	}
	n := 0
	restless := func(pid int) (Process, error) {
		n++
		return Process{PID: pid, Parent: pid - 1, Birth: fmt.Sprint(n)}, nil
	}
	if _, err := ancestry(5, 50, restless); !errors.Is(err, errTreeChanged) {
		t.Errorf("a tree that never rests: %v", err)
	}
	endless := func(pid int) (Process, error) {
		return Process{PID: pid, Parent: pid + 1, Birth: "b"}, nil
	}
	if _, err := ancestry(60, 50, endless); err == nil {
		t.Error("a tree without a root was walked to its end")
	}
	broken := func(int) (Process, error) { return Process{}, errors.New("hidepid") }
	if _, err := ancestry(60, 50, broken); err == nil {
		t.Error("an unreadable process was taken for somebody")
	}
}

// A process may call before its starter has come to register it.
func TestCallerIsRegisteredLate(t *testing.T) {
	tr := forest()
	p := New(Unmarked)
	p.self = 50
	begun := make(chan struct{})
	read := func(pid int) (Process, error) {
		select {
		case <-begun:
		default:
			close(begun)
		}
		return tr.read(pid)
	}
	go func() {
		<-begun
		p.mu.Lock()
		defer p.mu.Unlock()
		p.live[60] = registration{Owner: Owner{Kind: MemberTool, Member: "api"}, Birth: tr[60].Birth, Mark: new(int)}
		close(p.changed)
		p.changed = make(chan struct{})
	}()
	if by, err := p.locate(60, read); err != nil || by.Member != "api" {
		t.Errorf("locate = %+v, %v", by, err)
	}
}

func TestStrayWaitsOnlyAMoment(t *testing.T) {
	tr := forest()
	begin := time.Now()
	by, err := registryOf(tr).locate(80, tr.read)
	if err != nil || by.Kind != Unowned {
		t.Errorf("locate = %+v, %v", by, err)
	}
	if d := time.Since(begin); d < registerTimeout || d > testPatience {
		t.Errorf("it took %v", d)
	}
}

func TestReleaseIsOfOneRegistration(t *testing.T) {
	tr := forest()
	p := registryOf(tr)
	old := p.live[60]
	p.live[60] = registration{Owner: Owner{Kind: MemberTool, Member: "docs"}, Birth: tr[60].Birth, Mark: new(int)}
	p.release(60, old)
	p.release(60, old)
	if by, err := p.locate(60, tr.read); err != nil || by.Member != "docs" {
		t.Errorf("after releasing an older registration: %+v, %v", by, err)
	}
}
