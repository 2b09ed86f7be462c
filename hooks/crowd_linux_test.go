package hooks

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bomb makes processes as fast as it can, without an end of its own but for total: a
// test that fails must not take the machine with it. prefix stands before each, like
// setsid.
func bomb(prefix string, total int) string {
	return "i=0; while [ $i -lt " + strconv.Itoa(total) + " ]; do " + prefix +
		" sleep 30 >/dev/null 2>&1 & i=$((i+1)); done"
}

// marked lists the living processes of a hook, by the folder that the bench gives them.
func (b *bench) marked() []int {
	f := &family{root: -1, marker: []byte("REC_DIR=" + b.dir)}
	var pids []int
	for _, k := range f.search() {
		pids = append(pids, k.pid)
	}
	return pids
}

// TestAttack05PidsLimit: a hook that makes processes without end is killed with all of
// them, long before its time is up, and its result says why.
func TestAttack05PidsLimit(t *testing.T) {
	for name, command := range map[string]string{
		"children":         bomb("", 3000) + "; wait",
		"in own sessions":  bomb("setsid", 3000) + "; wait",
		"each makes two":   "b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & wait; } || exec sleep 300; }; b 11",
		"parents are gone": "(" + bomb("setsid", 3000) + ") & sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := b.runnerWith(t, Options{MaxProcesses: 200},
				Source{Name: "test", Settings: limitTo(300, on(Stop, command))})
			start := time.Now()
			out := b.fire(t, r, StopInput{})
			result := onlyResult(t, out)
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if result.Outcome != NonBlockingError || !strings.Contains(result.Warning,
				"started more than 200 processes and was killed with all of them") {
				t.Errorf("result %+v", result)
			}
			if left := b.marked(); len(left) > 0 {
				t.Errorf("%d processes go on: %v", len(left), left)
			}
		})
	}
}

// TestAttack05GateRefuses: a gate that was killed has not agreed.
func TestAttack05GateRefuses(t *testing.T) {
	b := newBench(t)
	r := b.runnerWith(t, Options{MaxProcesses: 100},
		Source{Name: "test", Settings: gateOn(Stop, bomb("", 1500)+"; wait")})
	if out := b.fire(t, r, StopInput{}); out.Decision != Block {
		t.Errorf("%+v", out)
	}
}

// TestAttack05BombLeftBehind: the classic bomb ends at once, and what it has left
// behind goes on; its hook has had its say by then.
func TestAttack05BombLeftBehind(t *testing.T) {
	b := newBench(t)
	told := make(chan string, 1)
	r := b.runnerWith(t, Options{MaxProcesses: 100, Crowded: func(in Input, command, warning string) {
		told <- in.SessionID + " " + command + ": " + warning
	}}, Source{Name: "test", Settings: on(Stop, "(sleep 0.5; "+bomb("setsid", 1500)+
		"; sleep 30) >/dev/null 2>&1 & exit 2")})
	if out := b.fire(t, r, StopInput{}); out.Decision != Block {
		t.Errorf("it had refused: %+v", out)
	}
	select {
	case text := <-told:
		if !strings.HasPrefix(text, b.input(StopInput{}).SessionID+" (sleep 0.5") || !strings.Contains(text,
			": what it left behind started more than 100 processes") {
			t.Errorf("told %q", text)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody was told")
	}
	if left := b.marked(); len(left) > 0 {
		t.Errorf("%d processes go on: %v", len(left), left)
	}
}

// TestCrowdLetsBuildsBe: many processes below the limit are nobody's business.
func TestCrowdLetsBuildsBe(t *testing.T) {
	b := newBench(t)
	r := b.runnerWith(t, Options{MaxProcesses: 100}, Source{Name: "test",
		Settings: on(Stop, strings.ReplaceAll(bomb("", 60), "sleep 30", "sleep 0.3")+"; wait")})
	if result := onlyResult(t, b.fire(t, r, StopInput{})); result.Outcome != Success || result.Warning != "" {
		t.Errorf("%+v", result)
	}
}

// TestCrowdDue: the table is read when the machine has become fuller, and else seldom.
func TestCrowdDue(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		c    *crowd
		load uint16
		want bool
	}{
		"as it was":          {&crowd{step: 50, least: 300, counted: now}, 300, false},
		"a few more":         {&crowd{step: 50, least: 300, counted: now}, 349, false},
		"many more":          {&crowd{step: 50, least: 300, counted: now}, 350, true},
		"many more, wrapped": {&crowd{step: 50, least: 65530, counted: now}, 60, true},
		"fewer":              {&crowd{step: 50, least: 300, counted: now}, 200, false},
		"long ago":           {&crowd{step: 50, least: 300, counted: now.Add(-time.Minute)}, 300, true},
		"long ago, nobody":   {&crowd{step: 50, least: 300, counted: now.Add(-time.Minute), ended: now}, 300, false},
		"long ago, kin": {&crowd{step: 50, least: 300, counted: now.Add(-time.Minute), ended: now, kin: true},
			300, true},
	} {
		if got := test.c.due(now, test.load); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCrowdCountsSeldom: many processes of others are reason to count once, and the
// fewer are left to the limit, the fewer more are.
func TestCrowdCountsSeldom(t *testing.T) {
	c := &crowd{pid: 1 << 29, limit: 1000, step: stepTo(1000), least: 0}
	c.counted = time.Now()
	if c.due(time.Now(), 499) || !c.due(time.Now(), 500) {
		t.Error("half of the limit is the first step")
	}
	c.least = 500
	c.count()
	if c.over || c.step < 400 || c.due(time.Now(), 600) {
		t.Errorf("counted again for what others do: %d", c.step)
	}
	for room, want := range map[int]int{1000: 500, 100: 50, 10: 8, 0: 8, -5: 8} {
		if got := stepTo(room); got != want {
			t.Errorf("room %d: step %d, want %d", room, got, want)
		}
	}
}

// TestCrowdStops: a watch ends with what it watches.
func TestCrowdStops(t *testing.T) {
	p := sh("sleep 0.4 >/dev/null 2>&1 &", nil)
	p.MaxProcesses, p.Marker = 50, "M="+t.TempDir()
	p.Env = append(os.Environ(), p.Marker)
	r, err := p.launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exit := r.wait(); exit.Crowded || len(exit.Left) != 1 {
		t.Errorf("%+v", exit)
	}
	eventually(t, "the end of the watch", func() bool {
		r.crowd.mu.Lock()
		defer r.crowd.mu.Unlock()
		return r.crowd.done
	})
}

// TestRoom: the default limit stays below what control groups allow, whichever of the
// two versions has them.
func TestRoom(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupLimits(root); got != nil {
		t.Errorf("without control groups %v", got)
	}
	write("proc/self/cgroup", "8:pids:/a/b\n7:memory:/m\n0::/user.slice/covey\nodd\n")
	write("sys/fs/cgroup/pids/a/pids.max", "700\n")
	write("sys/fs/cgroup/pids/a/b/pids.max", "max\n")
	write("sys/fs/cgroup/user.slice/covey/pids.max", "90\n")
	write("sys/fs/cgroup/memory/m/pids.max", "1\n")
	if got := groupLimits(root); len(got) != 3 || got[0] != 0 || got[1] != 700 || got[2] != 90 {
		t.Errorf("limits %v, want [0 700 90]", got)
	}
	for room, want := range map[int]int{0: 1024, 1: 1, 90: 45, 700: 350, 4000: 1024} {
		if got := mostProcesses(room); got != want {
			t.Errorf("room %d: limit %d, want %d", room, got, want)
		}
	}
}
