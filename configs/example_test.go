package configs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
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

// Members may name agent programs that covey knows, and agents that the calling
// program brings along.
func ExampleParseWith() {
	team, err := configs.ParseWith("team.yaml", []byte(`
covey: 1
agents:
  tests: {use: command, command: [run-tests, "{prompt}"], env: {TOKEN: "${CI_TOKEN}"}}
lead: mine
teammates: {api: codex, check: tests}
`), configs.Options{
		Given:  []string{"mine"},
		Lookup: func(name string) (string, bool) { return "the secret of " + name, true },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range team.Members() {
		fmt.Println(m.Name, m.Agent.Kind, m.Agent.Name, m.Agent.Preset, m.Agent.Env)
	}
	// Output:
	// lead given mine  []
	// api acp codex codex []
	// check command tests  [TOKEN=${CI_TOKEN}]
}

// Sources are the layers of hooks, as a runner.Runner takes them.
func ExampleTeam_Sources() {
	dir, remove := folder()
	defer remove()
	settings := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}]}]}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
		panic(err)
	}
	team, err := configs.Parse(filepath.Join(dir, "team.yaml"), []byte(`
covey: 1
lead: {model: {provider: script, script: demo.yaml}}
gates: {stop: [exit 1]}
settings: [settings.json]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	sources, warnings := team.Sources()
	for _, source := range sources {
		h := source.Settings[hooks.Stop][0].Hooks[0]
		fmt.Println(filepath.Base(source.Name), h.Command, "gate:", h.Gate)
	}
	fmt.Println(len(warnings), "warnings")
	// Output:
	// team.yaml exit 1 gate: true
	// settings.json ./stop.sh gate: false
	// 0 warnings
}
