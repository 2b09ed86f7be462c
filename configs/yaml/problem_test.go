package yaml

import (
	"encoding/json"
	"testing"
)

// TestProblemWithoutPlace does not invent one.
func TestProblemWithoutPlace(t *testing.T) {
	p := Problem{File: "team.yaml", Message: "codex is not installed"}
	if got, want := p.String(), "team.yaml: codex is not installed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProblemJSON(t *testing.T) {
	got, err := json.Marshal(Problem{File: "team.yaml", Line: 2, Col: 3, Message: "m", Source: "  x"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"file":"team.yaml","line":2,"col":3,"message":"m","source":"  x"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
