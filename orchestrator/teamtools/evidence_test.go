package teamtools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
)

func TestReadEvidence(t *testing.T) {
	for given, want := range map[string]string{
		``:                           `[]`,
		`null`:                       `[]`,
		`""`:                         `[]`,
		`"it works"`:                 `[it works/]`,
		`{"file":"out.txt"}`:         `[/out.txt]`,
		`{"path":"out.txt"}`:         `[/out.txt]`,
		`{"text":"a","file":"b"}`:    `[a/b]`,
		`["a",{"file":"b"},"",null]`: `[a/ /b]`,
		`7`:                          `is neither text nor {"text": …, "file": …}`,
		`{}`:                         `write {"text": …} or {"file": …}`,
		`{"file":"a","path":"b"}`:    `write {"text": …} or {"file": …}`,
	} {
		list, err := readEvidence(json.RawMessage(given))
		have := []string{}
		for _, e := range list {
			have = append(have, e.Text+"/"+e.File)
		}
		if text := fmt.Sprint(have); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %s", given, text, err, want)
		}
	}
}

// TestEvidenceInMetadata: agents of other hosts know no field for evidence.
func TestEvidenceInMetadata(t *testing.T) {
	given := map[string]json.RawMessage{"evidence": json.RawMessage(`"seen"`), "n": json.RawMessage("1")}
	p, err := withEvidence(tasks.Patch{Metadata: given}, json.RawMessage(`"heard"`))
	if err != nil || len(p.Evidence) != 2 || p.Evidence[1].Text != "seen" || len(p.Metadata) != 1 || len(given) != 2 {
		t.Errorf("patch %+v of %v, %v", p, given, err)
	}
	odd := map[string]json.RawMessage{"evidence": json.RawMessage(`7`)}
	if p, err := withEvidence(tasks.Patch{Metadata: odd}, nil); err != nil || len(p.Evidence) != 0 || len(p.Metadata) != 1 {
		t.Errorf("what is no evidence: %+v, %v", p, err)
	}
}

// TestGatesSeeEvidence: also that which comes with the very change that they judge, and
// a refused change leaves none.
func TestGatesSeeEvidence(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "slow"})
	dev := b.as("dev", "")
	first := tasks.Patch{Evidence: []tasks.Evidence{{Text: "half of it", By: "lead"}}}
	if _, _, err := b.board.Update(t.Context(), dev, "1", first); err != nil {
		t.Fatal(err)
	}
	var seen []string
	agree := false
	b.hook = func(p hooks.Payload) (hooks.Outcome, error) {
		seen = nil
		for _, e := range p.(hooks.TaskCompletedInput).Evidence {
			seen = append(seen, e.By+": "+e.Text+e.File)
		}
		if agree {
			return hooks.Outcome{Decision: hooks.Pass}, nil
		}
		return hooks.Outcome{Decision: hooks.Block, Feedback: []string{"no"}}, nil
	}
	done := to(tasks.Completed)
	done.Evidence = []tasks.Evidence{{File: "log.txt"}}
	var refused *RefusedError
	if _, _, err := b.board.Update(t.Context(), dev, "1", done); !errors.As(err, &refused) {
		t.Fatalf("error %v", err)
	}
	if have := b.want("1", tasks.Pending, ""); len(have.Evidence) != 1 {
		t.Errorf("a refused change left %+v", have.Evidence)
	}
	agree = true
	if _, _, err := b.board.Update(t.Context(), dev, "1", done); err != nil {
		t.Fatal(err)
	}
	if want := "dev: half of it|dev: log.txt"; strings.Join(seen, "|") != want {
		t.Errorf("the gates saw %q", seen)
	}
	task := b.want("1", tasks.Completed, "")
	if text := inFull(task, "dev"); !strings.Contains(text, "\nEvidence: half of it\nEvidence:  (log.txt)") {
		t.Errorf("shown as %q", text)
	}
}
