package configs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
)

// folder makes a folder with a script in it.
func folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "team")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "demo.yaml"), []byte("steps: []\n"), 0o600); err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// A spec becomes a team whose members have all they need.
func ExampleParse() {
	dir, remove := folder()
	defer remove()
	team, err := configs.Parse(filepath.Join(dir, "team.yaml"), []byte(`
covey: 1
name: changelog
models: {demo: {provider: script, script: demo.yaml}}
defaults: {model: demo}
lead: {}
teammates:
  api: {description: owns the service, limits: {stop_block_cap: 3}}
  docs: {}
tasks:
  - {id: api, subject: Add the endpoint, owner: api}
  - {id: docs, subject: Describe it, blocked_by: [api]}
gates: {task: [go test ./...]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range team.Members() {
		fmt.Println(m.Name, m.Agent.Kind, m.Agent.Model.Name, m.Limits.StopBlockCap, m.SelfClaim)
	}
	for _, t := range team.Tasks {
		fmt.Println(t.ID, t.Owner, t.BlockedBy)
	}
	// Output:
	// lead builtin demo 8 false
	// api builtin demo 3 true
	// docs builtin demo 8 true
	// api api []
	// docs  [api]
}

// All mistakes of a spec come at once, each with its place.
func ExampleErrors() {
	_, err := configs.Parse("team.yaml", []byte(`covey: 1
lead: {modle: demo}
teammates: [api]
`))
	var problems configs.Errors
	if errors.As(err, &problems) {
		fmt.Println(len(problems), "problems")
	}
	fmt.Println(err)
	// Output:
	// 2 problems
	// team.yaml:2:8: unknown key "modle"; write model
	//     lead: {modle: demo}
	//            ^
	// team.yaml:3:12: teammates must be a mapping from names to members, not a list
	//     teammates: [api]
	//                ^
}
