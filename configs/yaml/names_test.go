package yaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// graph is what leads where.
type graph map[string][]string

// drawGraph draws up to eight names and their edges, to themselves and twice too.
func drawGraph(t *rapid.T) ([]string, graph) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:rapid.IntRange(0, 8).Draw(t, "names")]
	g := graph{}
	for _, name := range names {
		g[name] = rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, name)
	}
	return names, g
}

// FindCycles finds something if and only if there is a cycle, and each path that it finds is one.
func TestFindCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, g := drawGraph(t)
		found, visits := 0, map[string]int{}
		FindCycles(names, func(name string) []string {
			visits[name]++
			return g[name]
		}, func(path []string) {
			found++
			for i, name := range path {
				if other := path[(i+1)%len(path)]; !slices.Contains(g[name], other) {
					t.Fatalf("%q is no cycle: %s does not lead to %s", path, name, other)
				}
				if slices.Contains(path[:i], name) {
					t.Fatalf("%q has %s twice", path, name)
				}
			}
		})
		if (found > 0) != cyclic(names, g) {
			t.Fatalf("found %d cycles in %v", found, g)
		}
		for _, name := range names {
			if visits[name] != 1 {
				t.Fatalf("%s was visited %d times", name, visits[name])
			}
		}
	})
}

// cyclic takes away what leads nowhere, until nothing is left or all of it leads on.
func cyclic(names []string, g graph) bool {
	left := slices.Clone(names)
	for {
		before := len(left)
		left = slices.DeleteFunc(left, func(name string) bool {
			return !slices.ContainsFunc(g[name], func(other string) bool { return slices.Contains(left, other) })
		})
		if len(left) == 0 || len(left) == before {
			return len(left) > 0
		}
	}
}

// TestFindCyclesOfMany: a chain of many names is walked at once, and its one cycle is all of it.
func TestFindCyclesOfMany(t *testing.T) {
	const many = 50_000
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	next := map[string][]string{names[many-1]: {names[0]}}
	for i, name := range names[1:] {
		next[names[i]] = []string{name}
	}
	var cycles []int
	FindCycles(names, func(name string) []string { return next[name] }, func(path []string) { cycles = append(cycles, len(path)) })
	if len(cycles) != 1 || cycles[0] != many {
		t.Errorf("cycles of %v names", cycles)
	}
}

// TestFreeName: whatever is taken, a name is free, says where it comes from, and is a name that a
// spec may have.
func TestFreeName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taken := map[string]int{}
		base := Slug(rapid.SampledFrom([]string{"Fix it", "", "a", strings.Repeat("long ", 9), strings.Repeat("x", 40), "é"}).Draw(t, "subject"))
		for range rapid.IntRange(1, 120).Draw(t, "tasks") {
			id := FreeName(base, taken)
			stem, _, _ := strings.Cut(base, "-")
			if taken[id] != 0 || len(id) > 32 || Slug(id) != id || base != "" && !strings.HasPrefix(id, stem[:min(len(stem), 28)]) {
				t.Fatalf("%q of %q, after %d others", id, base, len(taken))
			}
			taken[id] = 1
		}
	})
	for _, test := range []struct{ base, taken, want string }{
		{"", "", "task"}, {"", "task", "task-2"}, {"fix", "other", "fix"}, {"fix", "fix fix-2 fix-4", "fix-3"},
		{strings.Repeat("a", 29) + "-bc", strings.Repeat("a", 29) + "-bc", strings.Repeat("a", 29) + "-2"},
	} {
		taken := map[string]int{}
		for _, id := range strings.Fields(test.taken) {
			taken[id] = 7
		}
		if got := FreeName(test.base, taken); got != test.want {
			t.Errorf("%q beside %s: %q, want %q", test.base, test.taken, got, test.want)
		}
	}
}

// TestNameSet: a name that is not there gets the one that was probably meant, else all names if
// they are few.
func TestNameSet(t *testing.T) {
	few := []string{"lead", "backend", "frontend"}
	var many []string
	for i := range 11 {
		many = append(many, fmt.Sprint("worker-number-", i))
	}
	for _, test := range []struct {
		names []string
		text  string
		want  string
	}{
		{few, "lead", ""}, {few, "", ""}, {few, "Lead", `there is no member "Lead"; write lead`},
		{few, "backed", `there is no member "backed"; write backend`},
		{few, "qa", `there is no member "qa"; the spec has lead, backend, frontend`},
		{many, "qa", `there is no member "qa"; add it, or name another one`},
		{many, "worker-number-10", ""}, {many, "worker-numbr-10", `there is no member "worker-numbr-10"; write worker-number-10`},
	} {
		d := NewDecoder("t.yaml", []byte("owner: x\n"))
		at := d.Root.Pairs[0].Value
		NewNameSet("member", test.names).Check(d, &Node{Kind: TextKind, Text: test.text, At: at.At})
		switch {
		case test.want == "" && len(d.Problems) == 0:
		case len(d.Problems) != 1 || d.Problems[0].Message != test.want:
			t.Errorf("%q: %+v, want %q", test.text, d.Problems, test.want)
		case d.Problems[0].Line != 1 || d.Problems[0].Col != 8:
			t.Errorf("%q: the problem is at %d:%d", test.text, d.Problems[0].Line, d.Problems[0].Col)
		}
	}
}

// TestHoursAreRead: all hours that can be written are read as they are meant, with spaces and
// without a leading zero too.
func TestHoursAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.IntRange(0, 24*60)
		from, to := day.Draw(t, "from"), day.Draw(t, "to")
		form := rapid.SampledFrom([]string{"%02d:%02d-%02d:%02d", "%d:%02d - %d:%02d", " %02d:%02d- %d:%02d "}).Draw(t, "form")
		h, err := parseHours(fmt.Sprintf(form, from/60, from%60, to/60, to%60))
		from %= 24 * 60 // what begins at 24:00 begins at 0:00
		if (err == nil) != (from != to) {
			t.Fatalf("%v, %v", h, err)
		}
		if err == nil && (h.From != time.Duration(from)*time.Minute || h.To != time.Duration(to)*time.Minute) {
			t.Fatalf("read as %v", h)
		}
	})
}

// TestHoursAndZone: what is said of hours and a zone that do not fit.
func TestHoursAndZone(t *testing.T) {
	for _, test := range []struct{ hours, zone, want string }{
		{"08:00-20:00", "Europe/Berlin", ""}, {"08:00-20:00", "", ""}, {"", "", ""},
		{"", "Europe/Berlin", `zone is that of hours; add hours: "08:00-20:00", or remove zone`},
		{"08:00-20:00", "Mars/Olympus", `there is no time zone "Mars/Olympus"; write one such as Europe/Berlin or UTC`},
		{"08:00-20:00", "Local", "without zone the machine's zone applies; remove it"},
		{"08:00-20:00", "../etc/passwd", `there is no time zone "../etc/passwd"; write one such as Europe/Berlin or UTC`},
		{"8-20", "UTC", `"8-20": these are not two times of the day; write hours such as "08:00-20:00"`},
		{"09:00-9:00", "UTC", `"09:00-9:00": both times are the same; write hours such as "08:00-20:00"`},
	} {
		d := NewDecoder("t.yaml", []byte("hours: x\n"))
		value := func(text string) Value[string] {
			if text == "" {
				return Value[string]{}
			}
			return Value[string]{V: text, At: d.Root.Pairs[0].Value}
		}
		h := d.Hours(value(test.hours), value(test.zone))
		var got string
		if len(d.Problems) > 0 {
			got = d.Problems[0].Message
		}
		if got != test.want || len(d.Problems) > 1 || test.want == "" && (h.Zone != test.zone || (h.To != 0) != (test.hours != "")) {
			t.Errorf("%q in %q: %+v, %+v", test.hours, test.zone, h, d.Problems)
		}
	}
}
