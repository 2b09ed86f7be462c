package writes

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestJudge: who could write at the moment of a change, and who of them may, decides
// whose doing it was.
func TestJudge(t *testing.T) {
	var l Log
	l.Begin("ana", "1", at(0))
	l.End("ana", "1", at(1000))
	l.Begin("ben", "turn", at(500))
	l.End("ben", "turn", at(2000))
	l.Begin("cy", "turn", at(900))
	l.Begin(Hooks, "h", at(2500))
	l.End(Hooks, "h", at(2600))
	for name, tt := range map[string]struct {
		at   int
		me   string
		may  string // who may write there
		want string // "mine", suspects, or nothing
	}{
		"alone":                       {300, "ana", "", "mine"},
		"by the clock of files":       {-10, "ana", "", "mine"},
		"before":                      {-100, "ana", "", ""},
		"beside one who may":          {600, "ana", "ben", ""},
		"beside one who may not":      {600, "ana", "", "ana ben"},
		"the other's word":            {600, "ben", "", "ana ben"},
		"three":                       {950, "cy", "", "ana ben cy"},
		"three, one may":              {950, "cy", "ana", ""},
		"after, with one that may":    {1500, "ana", "ben", ""},
		"after":                       {1500, "ana", "", ""},
		"the others are still there":  {1500, "ben", "", "ben cy"},
		"it has no end":               {9000, "cy", "", "mine"},
		"a hook":                      {2550, "cy", "", ""},
		"who is never there may not":  {300, "dan", "", ""},
		"that I may excuses me never": {300, "ana", "ana", "mine"},
	} {
		r := l.Judge(Question{Path: "p", At: at(tt.at), Me: tt.me, May: func(who string) bool { return who == tt.may }})
		got := strings.Join(r.Suspects, " ")
		if r.Mine {
			got = strings.TrimSpace("mine " + got)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestJudgeDeeds: what somebody said it would write, and what is as it left it, is its
// own and nobody else's.
func TestJudgeDeeds(t *testing.T) {
	left, other := Print{Mode: 0o600, Sum: "a"}, Print{Mode: 0o600, Sum: "b"}
	for name, tt := range map[string]struct {
		note  func(l *Log)
		print Print
		mine  bool
	}{
		"permitted":             {func(l *Log) { l.Wrote("ana", "p", left, true) }, left, false},
		"not permitted":         {func(l *Log) { l.Wrote("ana", "p", left, false) }, left, true},
		"of somebody else":      {func(l *Log) { l.Wrote("ben", "p", left, false) }, left, false},
		"changed since":         {func(l *Log) { l.Wrote("ben", "p", left, true) }, other, true},
		"under way":             {func(l *Log) { l.Announce("ana", "p", true) }, other, false},
		"come to nothing":       {func(l *Log) { l.Announce("ana", "p", true); l.Drop("p") }, other, true},
		"another path":          {func(l *Log) { l.Wrote("ana", "q", left, true) }, left, true},
		"the latest word holds": {func(l *Log) { l.Wrote("ben", "p", left, true); l.Wrote("ana", "p", left, false) }, left, true},
	} {
		var l Log
		l.Begin("ana", "turn", at(0))
		tt.note(&l)
		r := l.Judge(Question{Path: "p", Print: tt.print, At: at(10), Me: "ana", May: func(string) bool { return false }})
		if r.Mine != tt.mine || len(r.Suspects) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestLogForgets: what is over and will not be asked about goes, what is under way
// and what was taken back do not count, and the past can be added.
func TestLogForgets(t *testing.T) {
	var l Log
	l.Begin("ana", "1", at(0))
	l.End("ana", "1", at(100))
	l.Begin("ana", "2", at(200))
	l.Begin(Hooks, "h", at(0))
	l.Void(Hooks, "h")
	l.Keep("ana", at(150))
	mine := func(ms int) bool {
		return l.Judge(Question{Path: "p", At: at(ms), Me: "ana", May: func(string) bool { return false }}).Mine
	}
	if got := []bool{mine(50), mine(300)}; !slices.Equal(got, []bool{false, true}) {
		t.Errorf("mine %v", got)
	}
	l.Add([]Span{{Who: "ana", From: at(-500), To: at(-400)}})
	if !mine(-450) || mine(-300) {
		t.Error("the past does not count, or too much of it")
	}
	if d := time.Duration(0); l.Judge(Question{At: at(0).Add(d), Me: "ben"}).Mine {
		t.Error("ben was never there")
	}
}

// TestLogOnly: what somebody said it would write is its doing, and what it alone could
// write; hooks that run meanwhile excuse nobody, other members do.
func TestLogOnly(t *testing.T) {
	left, other := Print{Mode: 0o600, Sum: "a"}, Print{Mode: 0o600, Sum: "b"}
	var l Log
	for who, span := range map[string][2]int{"ana": {0, 1000}, "ben": {500, 2000}, Hooks: {100, 2500}} {
		l.Begin(who, "1", at(span[0]))
		l.End(who, "1", at(span[1]))
	}
	l.Wrote("ana", "said", left, true)
	for name, tt := range map[string]struct {
		path string
		now  Print
		at   int
		want string // who it was
	}{
		"alone":               {"p", left, 50, "ana"},
		"a hook beside":       {"p", left, 300, "ana"},
		"a member beside":     {"p", left, 700, ""},
		"said":                {"said", left, 700, "ana"},
		"said and changed":    {"said", other, 1500, "ben"},
		"a hook and no other": {"p", left, 2400, ""},
		"nobody":              {"p", left, 9000, ""},
	} {
		for _, who := range []string{"ana", "ben"} {
			if got := l.Only(who, tt.path, Trace{Print: tt.now, At: at(tt.at)}); got != (who == tt.want) {
				t.Errorf("%s: %s: %v", name, who, got)
			}
		}
	}
}

// TestLogKeeps: what is over is kept as long as one of several askers may ask about it.
func TestLogKeeps(t *testing.T) {
	var l Log
	l.Begin("ana", "1", at(0))
	l.End("ana", "1", at(100))
	known := func() bool { return l.Only("ana", "p", Trace{At: at(50)}) }
	l.Keep("early", at(0))
	if l.Keep("late", at(200)); !known() {
		t.Error("forgotten though one may ask")
	}
	if l.Release("early"); !known() {
		t.Error("forgotten before anybody has asked for later times")
	}
	if l.Keep("late", at(300)); known() {
		t.Error("kept though nobody may ask")
	}
}
