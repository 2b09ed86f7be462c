package proc

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestCrowdOfNobody: who has no limit has no crowd, and all that is asked of it is fine.
func TestCrowdOfNobody(t *testing.T) {
	for _, most := range []int{0, -1} {
		if c := watchCrowd(&Process{MaxProcesses: most}, 1<<29); c != nil {
			t.Errorf("limit %d: %+v", most, c)
		}
	}
	var c *crowd
	c.waitKill()
	if killed, over := c.detach(true, true); killed != nil || over {
		t.Errorf("killed %v, %v", killed, over)
	}
}

// TestCrowdEnds: a crowd is watched on once its program has ended for as long as kin may
// come to light, and no longer; who is known to run on is watched as long as it does.
func TestCrowdEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		kin, gone    bool
		early, later bool // whether the watch is over right then, and after the afterlife
	}{
		"all are gone":    {gone: true, early: true, later: true},
		"nobody is known": {later: true},
		"kin":             {kin: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &crowd{pid: 1 << 29, limit: 10, step: 1 << 14, least: machineLoad(), counted: time.Now()}
			c.timer = time.AfterFunc(crowdPoll, c.check)
			defer c.timer.Stop()
			c.detach(tc.kin, tc.gone)
			time.Sleep(2 * crowdPoll)
			early := c.unwatched()
			time.Sleep(afterlife)
			if later := c.unwatched(); early != tc.early || later != tc.later {
				t.Errorf("%s: over %v, then %v; want %v, then %v", name, early, later, tc.early, tc.later)
			}
			c.detach(false, true)
		})
	}
}

// unwatched reports whether nobody watches any more.
func (c *crowd) unwatched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// TestCrowdMissesNoGrowth: however the kernel's number wraps, a tree that could have
// filled half of its room is counted, and fewer processes never are a reason.
func TestCrowdMissesNoGrowth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := time.Now()
		least := rapid.Uint16().Draw(r, "least")
		step := rapid.IntRange(8, 10_000).Draw(r, "step")
		grown := rapid.IntRange(-20_000, 20_000).Draw(r, "grown")
		c := &crowd{step: step, least: least, counted: now}
		load := least + uint16(grown)
		if got := c.due(now, load); got != (grown >= step) {
			r.Fatalf("%d more than %d with a step of %d: %v", grown, least, step, got)
		}
		if grown < 0 && c.least != load {
			r.Fatalf("what grows now grows from %d, not from %d", load, c.least)
		}
	})
}

// TestCrowdStepIsSafe: as many as the step allows never take a tree past its limit before
// it is counted, but for the last few.
func TestCrowdStepIsSafe(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		room := rapid.IntRange(-100, 1<<20).Draw(r, "room")
		if step := stepTo(room); step < 8 || step > 8 && step > room {
			r.Fatalf("room %d: step %d", room, step)
		}
		limit := limitIn(room)
		if limit < 1 || limit > defaultProcesses || room > 1 && limit > max(room/2, 1) {
			r.Fatalf("room %d: limit %d", room, limit)
		}
	})
}
