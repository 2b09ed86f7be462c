//go:build unix

package teammate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// longText stands in recordings for a letter that is repeated.
var longText = regexp.MustCompile(`<([A-Z])\*(\d+)>`)

// memberCases are the recordings of whole turns.
func memberCases(t *testing.T) []goldenCase {
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

// TestConformance: what recordings show a model is what covey shows one, to the
// byte, and the hooks run in the same order. The list of all recordings, with what
// of them is a deviation, is that of package hooks.
func TestConformance(t *testing.T) {
	if testing.Short() {
		// The race detector, for which -short is, is too slow to keep what ends a fraction of a second apart.
		t.Skip("skipped with -short: recorded hooks end fractions of a second apart")
	}
	var mu sync.Mutex
	agrees := map[string]bool{}
	t.Run("member", func(t *testing.T) {
		for _, c := range memberCases(t) {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					agrees[c.Name] = !t.Failed()
				}()
				replay(t, c)
			})
		}
	})
	data, err := os.ReadFile("../hooks/runner/testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	sum := 0
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, note, _ := strings.Cut(rest, " ")
		yes, ran := agrees[name]
		if strings.Contains(kind, "member") != ran {
			t.Errorf("conformance.txt: %s is of kind %s, but replayed by a member: %v", name, kind, ran)
		}
		switch {
		case ran && yes:
			sum++
			fmt.Fprintf(&table, "%-38s member  agrees %s\n", name, note)
		case ran:
			fmt.Fprintf(&table, "%-38s member  DISAGREES %s\n", name, note)
		}
	}
	t.Logf("\n%smember: %d of %d agree", &table, sum, len(agrees))
}
