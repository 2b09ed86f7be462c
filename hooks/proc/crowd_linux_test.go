package proc

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

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
	t.Parallel()
	p := sh("sleep 0.4 >/dev/null 2>&1 &", nil)
	p.MaxProcesses, p.Marker = 50, "M="+t.TempDir()
	p.Env = append(os.Environ(), p.Marker)
	r, err := p.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exit := r.Wait(); exit.TooMany || len(exit.Left) != 1 {
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
		if got := limitIn(room); got != want {
			t.Errorf("room %d: limit %d, want %d", room, got, want)
		}
	}
}
