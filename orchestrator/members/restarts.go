package members

import (
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
)

// Restarts counts the failures of members in this run, by name, because each life of a
// member has its own seat. The counts are not stored. The zero value is ready to use.
type Restarts struct {
	mu    sync.Mutex
	falls map[string]failures
}

// PolicyOf returns a member's restart policy. Without one in the spec a failed member is
// given up, because its agent program has been restarted several times by then.
func PolicyOf(m configs.Member) configs.Restart {
	if !m.Restart.Given {
		return configs.Restart{}
	}
	return m.Restart
}

// Fail records a failure of a member. It returns how long the member rests before its
// restart and how often it may fail again; ok is false if it is given up.
func (r *Restarts) Fail(m configs.Member, now time.Time) (rest time.Duration, left int, ok bool) {
	policy := PolicyOf(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	after, rest, ok := r.falls[m.Name].next(policy, now)
	if r.falls == nil {
		r.falls = map[string]failures{}
	}
	r.falls[m.Name] = after
	return rest, policy.Max - len(after), ok
}

// GivenUp returns why a failed member is not restarted.
func GivenUp(m configs.Member, reason string) string {
	policy := PolicyOf(m)
	if policy.Max == 0 {
		return reason
	}
	return fmt.Sprintf("%s; it was started again %d times in %s, and is not any more", reason, policy.Max, policy.Within)
}

// failures are the times of a member's failures, the earliest first.
type failures []time.Time

// next adds a failure and returns the rest before the restart; ok is false if there were
// too many failures.
//
// Failures before the policy's period are dropped, so that one a week never adds up.
// Times after now are dropped too: the clock was set back, and they would count for long.
// f is not changed.
func (f failures) next(r configs.Restart, now time.Time) (after failures, rest time.Duration, ok bool) {
	for _, at := range f {
		if now.Sub(at) < r.Within && !at.After(now) {
			after = append(after, at)
		}
	}
	if len(after) >= r.Max {
		return after, 0, false
	}
	after = append(after, now)
	return after, Backoff(len(after)), true
}
