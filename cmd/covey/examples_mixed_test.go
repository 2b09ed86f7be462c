package main_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// checkMixedTeam: programs of four vendors meet the same gates and rules. Each
// gate and rule catches one of them, and the tools work in the end.
func checkMixedTeam(t *testing.T, e example) {
	e.checkAllDone(t, 5)
	for id, member := range map[string]string{"1": "lead", "2": "cora", "3": "clay", "4": "gem", "5": "opal"} {
		if who := e.completedBy(id); who != member {
			t.Errorf("task %s was completed by %s, want %s", id, who, member)
		}
	}
	for _, member := range []string{"cora", "clay", "gem", "opal"} {
		if e.find(0, mail(member, "lead")) < 0 {
			t.Errorf("%s did not report to the lead", member)
		}
	}
	if e.find(0, told("clay", "5", "minutes FILE prints")) < 0 {
		t.Error("clay did not write into task 5 what opal needs")
	}
	e.checkTurns(t)
	for _, want := range []struct{ member, event, text string }{
		{"cora", "TaskCompleted", `slug "Hello, World!" prints "hello-world-"`},
		{"clay", "Stop", "tells nobody anything"},
		{"opal", "TeammateIdle", "the lead has not heard of it"},
	} {
		if n := e.count(feedback(want.member, want.event, want.text)); n != 1 {
			t.Errorf("%s refused %s with %q %d times, want once", want.event, want.member, want.text, n)
		}
	}
	denied := e.find(0, func(l journalLine) bool {
		return l.Type == "permission" && l.Member == "clay" && l.Data.Decision == "deny"
	})
	if denied < 0 || e.line[denied].Data.By != "rule" || e.callText(e.line[denied].Data.ID, "clay") != "git push origin main" {
		t.Error("no rule denied clay's git push")
	}
	site := filepath.Join(e.dir, "workspace", "site")
	for want, args := range map[string][]string{
		"# A b {#a-b}\n":          {"bin/heading", "A b"},
		"a-b.html: A b (1 min)\n": {"bin/entry", "A b", "posts/rain.txt"},
	} {
		cmd := exec.Command("sh", args...)
		cmd.Dir = site
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s prints %q (%v), want %q", args[0], out, err, want)
		}
	}
}
