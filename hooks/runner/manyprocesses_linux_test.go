package runner

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
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
	var pids []int
	for _, s := range proc.Table() {
		if !s.Dead && proc.Carries(s.PID, "REC_DIR="+b.dir) {
			pids = append(pids, s.PID)
		}
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
				settings.Source{Name: "test", Settings: limitTo(300, on(hooks.Stop, command))})
			start := time.Now()
			out := b.fire(t, r, hooks.StopInput{})
			result := onlyResult(t, out)
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if result.Outcome != hooks.NonBlockingError || !strings.Contains(result.Warning,
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
		settings.Source{Name: "test", Settings: gateOn(hooks.Stop, bomb("", 1500)+"; wait")})
	if out := b.fire(t, r, hooks.StopInput{}); out.Decision != hooks.Block {
		t.Errorf("%+v", out)
	}
}

// TestAttack05BombLeftBehind: the classic bomb ends at once, and what it has left
// behind goes on; its hook has had its say by then.
func TestAttack05BombLeftBehind(t *testing.T) {
	b := newBench(t)
	told := make(chan string, 1)
	r := b.runnerWith(t, Options{MaxProcesses: 100, OnTooManyProcesses: func(in hooks.Input, command, warning string) {
		told <- in.SessionID + " " + command + ": " + warning
	}}, settings.Source{Name: "test", Settings: on(hooks.Stop, "(sleep 0.5; "+bomb("setsid", 1500)+
		"; sleep 30) >/dev/null 2>&1 & exit 2")})
	if out := b.fire(t, r, hooks.StopInput{}); out.Decision != hooks.Block {
		t.Errorf("it had refused: %+v", out)
	}
	select {
	case text := <-told:
		if !strings.HasPrefix(text, b.input(hooks.StopInput{}).SessionID+" (sleep 0.5") || !strings.Contains(text,
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
	r := b.runnerWith(t, Options{MaxProcesses: 100}, settings.Source{Name: "test",
		Settings: on(hooks.Stop, strings.ReplaceAll(bomb("", 60), "sleep 30", "sleep 0.3")+"; wait")})
	if result := onlyResult(t, b.fire(t, r, hooks.StopInput{})); result.Outcome != hooks.Success || result.Warning != "" {
		t.Errorf("%+v", result)
	}
}
