//go:build unix

package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The conformance test holds the engine to recordings of a real host. Each
// recording stands in testdata/conformance.txt, with the place where it is
// replayed, or the reason why it is not: what is about turns runs through a whole
// member, in package teammate and its agent kinds.

// place says where a recording is replayed.
type place struct {
	name string
	kind string // engine, http, model, member, helper, team, absent; several are joined by "+"
	note string // what of it is a deviation on purpose, or why it is absent
}

// places reads the list of all recordings.
func places(t *testing.T) []place {
	t.Helper()
	data, err := os.ReadFile("testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []place
	for line := range strings.Lines(string(data)) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 3); len(fields) > 1 && fields[0] != "#" {
			all = append(all, place{fields[0], fields[1], strings.Join(fields[2:], "")})
		}
	}
	return all
}

// conformed notes which cases agree.
type conformed struct {
	mu  sync.Mutex
	all map[string]bool
}

// note is called when a case has ended.
func (c *conformed) note(name string, agrees bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]bool{}
	}
	c.all[name] = agrees
}

// sum counts the cases that agree.
func (c *conformed) sum() (agree int) {
	for _, yes := range c.all {
		if yes {
			agree++
		}
	}
	return agree
}

// longText stands in recordings for a letter that is repeated.
var longText = regexp.MustCompile(`<([A-Z])\*(\d+)>`)

// engineCases are the recordings of one event each.
func engineCases(t *testing.T) []goldenCase {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile("testdata/conformance.jsonl"); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		line = longText.ReplaceAllFunc(line, func(mark []byte) []byte {
			part := longText.FindSubmatch(mark)
			n, err := strconv.Atoi(string(part[2]))
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Repeat(part[1], n)
		})
		var c goldenCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// TestConformance replays what was recorded of one event, and prints the table.
func TestConformance(t *testing.T) {
	t.Parallel()
	var got conformed
	t.Run("engine", func(t *testing.T) {
		for _, c := range engineCases(t) {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				defer func() { got.note(c.Name, !t.Failed()) }()
				checkGolden(t, c)
			})
		}
	})
	var table strings.Builder
	for _, p := range places(t) {
		agrees, ran := got.all[p.name]
		if here := strings.Contains(p.kind, "engine"); here != ran {
			t.Errorf("testdata/conformance.txt: %s is of kind %s, but replayed here: %v", p.name, p.kind, ran)
		}
		if ran {
			fmt.Fprintf(&table, "%-38s %-14s %s\n", p.name, p.kind, strings.TrimSpace(verdictWord(agrees)+" "+p.note))
		} else {
			fmt.Fprintf(&table, "%-38s %-14s %s\n", p.name, p.kind, cmp.Or(p.note, "replayed elsewhere"))
		}
	}
	t.Logf("\n%sengine: %d of %d agree; %s", &table, got.sum(), len(got.all), kindCounts(places(t)))
}

// verdictWord is what the table says of a case that ran.
func verdictWord(agrees bool) string {
	if agrees {
		return "agrees"
	}
	return "DISAGREES"
}

// kindCounts says of all recordings where they are replayed.
func kindCounts(all []place) string {
	count := map[string]int{}
	for _, p := range all {
		for kind := range strings.SplitSeq(p.kind, "+") {
			count[kind]++
		}
	}
	return fmt.Sprintf("of %d recordings %d run through the engine, %d through its http and %d through its model and "+
		"tool handlers, %d through a member, %d through one with helpers, %d through a team; %d are not applicable",
		len(all), count["engine"], count["http"], count["model"], count["member"], count["helper"], count["team"],
		count["absent"])
}
