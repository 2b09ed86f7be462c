package trust_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// RunsOf lists what trust in a workspace is about.
func ExampleRunsOf() {
	dir, err := os.MkdirTemp("", "team")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "demo.yaml"), []byte("steps: []\n"), 0o600); err != nil {
		panic(err)
	}
	team, err := configs.Parse(filepath.Join(dir, "team.yaml"), []byte(`
covey: 1
lead: {model: {provider: script, script: demo.yaml}}
gates: {task: [go test ./...]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range trust.RunsOf(team) {
		fmt.Println(run.Kind, run.Event, run.Command, filepath.Base(run.Path))
	}
	// Output:
	// spec   team.yaml
	// script   demo.yaml
	// gate TaskCompleted go test ./... .
}
