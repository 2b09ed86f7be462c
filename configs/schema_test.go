package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	goyaml "github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/coveyteam/covey/configs/yaml"
)

// TestSchemaIsCurrent is the house rule that the file follows the tables.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("team.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema(), want) {
		t.Error("team.schema.json is stale; run `go generate ./configs`")
	}
}

// validator is the schema as an editor would use it.
func validator(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var made jsonschema.Schema
	if err := json.Unmarshal(Schema(), &made); err != nil {
		t.Fatal(err)
	}
	resolved, err := made.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// asJSON is a spec as a JSON value.
func asJSON(t *testing.T, spec string) any {
	t.Helper()
	var v any
	if err := goyaml.Unmarshal([]byte(spec), &v); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	// Through JSON, because YAML's numbers have Go types of their own.
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSchemaFitsSpecs holds the schema against specs that Parse takes.
func TestSchemaFitsSpecs(t *testing.T) {
	resolved := validator(t)
	specs := map[string]string{"every key": everyKey, "small": "covey: 1\nlead: x\n"}
	examples, err := filepath.Glob("../examples/*/team.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		specs[path] = string(data)
	}
	for name, spec := range specs {
		if err := resolved.Validate(asJSON(t, spec)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses holds the schema against specs that Parse refuses for
// their shape alone.
func TestSchemaRefuses(t *testing.T) {
	resolved := validator(t)
	archive, err := txtar.ParseFile("testdata/errors/types.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// Each line of a spec with wrong types is wrong by itself.
	for _, f := range archive.Files {
		if f.Name != "team.yaml" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			value := asJSON(t, line).(map[string]any)
			for key, fit := range map[string]any{"covey": 1.0, "lead": "x"} {
				if _, ok := value[key]; !ok {
					value[key] = fit
				}
			}
			if resolved.Validate(value) == nil {
				t.Errorf("the schema lets pass: %s", line)
			}
		}
	}
	for _, spec := range []string{"covey: 1", "lead: x", "covey: 2\nlead: x", "covey: 1\nlead: x\nsandbox: {level: none}", "covey: 1\nlead: x\nfail_closed: 1",
		"covey: 1\nlead: x\nnope: 1", "covey: 1\nlead: {model: {script: x}}", "covey: 1\nlead: x\nname: A b",
		"covey: 1\nlead: {limits: {turn_timeout: 10}}", "covey: 1\nlead: {limits: {turn_timeout: -1s}}",
		"covey: 1\nlead: {limits: {turn_timeout: soon}}", "covey: 1\nlead: x\nhooks: {Stopp: []}",
		"covey: 1\nlead: {isolation: clone}", "covey: 1\nlead: x\ntasks: [{id: a}]",
		"covey: 1\nlead: x\ngates: {task: [{policy: x}]}", "covey: 1\nlead: x\nagents: {a: {use: codexx}}",
		"covey: 1\nlead: x\nagents: {a: {command: []}}", "covey: 1\nlead: x\nagents: {a: {command: x}}",
		"covey: 1\nlead: x\nagents: {a: {env: {A B: x}}}", "covey: 1\nlead: x\nagents: {a: {env: {A: [x]}}}",
		"covey: 1\nlead: x\nagents: {a: {auth: none}}", "covey: 1\nlead: x\nagents: {a: {auth: {key: A-B}}}",
		"covey: 1\nlead: x\nagents: {a: {parallel: 0}}", "covey: 1\nlead: x\nagents: {a: {native_hooks: maybe}}",
		"covey: 1\nlead: {permissions: {allow: [{rule: Bash}]}}", "covey: 1\nlead: {permissions: {deny: [{mandatory: true}]}}",
		"covey: 1\nlead: {permissions: {deny: [{rule: Bash}, {rule: Bash}]}}"} {
		if resolved.Validate(asJSON(t, spec)) == nil {
			t.Errorf("the schema lets pass:\n%s", spec)
		}
	}
}

// TestSchemaDescribes: every key says what it does, in a sentence.
func TestSchemaDescribes(t *testing.T) {
	walkFields("", (&teamSpec{}).fields(), func(path string, f yaml.Field) {
		if !strings.HasSuffix(f.Doc, ".") || len(f.Doc) < 10 {
			t.Errorf("%s is described as %q", path, f.Doc)
		}
	})
	var made map[string]any
	if err := json.Unmarshal(Schema(), &made); err != nil {
		t.Fatal(err)
	}
	if made["$schema"] == nil || made["title"] == nil {
		t.Errorf("the schema does not say what it is: %v, %v", made["$schema"], made["title"])
	}
}

// TestKeys holds the keys of the format, so that none goes or comes unnoticed.
func TestKeys(t *testing.T) {
	want := map[string]string{
		"": "covey requires name goal workspace models agents defaults lead teammates templates tasks gates hooks settings plugins fail_closed " +
			"mcp_servers worktree merge git protect sandbox budget schedules gateway bus nodes extends keep on_ask ask_limit " +
			"complete_on_pass others_tasks notify web",
		"nodes":       "labels",
		"sandbox":     "write level network read deny_read unix limits hooks wider",
		"mcp_servers": "command env cwd url headers key_file",
		"models":      "provider base_url model script recording api key_file max_output thinking temperature stream_idle headers fallback",
		"agents":      "use model command resume env auth parallel native_hooks fallback",
		"agents.auth": "key file",
		"teammates": "count agent model description instructions prompt_file tools permission_mode permissions isolation " +
			"owns self_claim plan depends_on on restart rotate memory limits role labels sandbox gateway",
		"templates": "max agent model description instructions prompt_file tools permission_mode permissions isolation " +
			"owns self_claim plan depends_on on restart rotate memory limits role labels sandbox gateway",
		"lead": "name agent model description instructions prompt_file tools permission_mode permissions isolation " +
			"owns self_claim plan depends_on on restart rotate memory limits role labels sandbox gateway",
		"defaults": "agent model description instructions prompt_file tools permission_mode permissions isolation " +
			"owns self_claim plan depends_on on restart rotate memory limits role labels sandbox gateway",
		"defaults.permissions":      "allow ask deny",
		"defaults.permissions.deny": "rule mandatory",
		"defaults.limits":           "max_turns max_tokens turn_timeout max_in_progress stop_block_cap max_budget_usd background",
		"tasks":                     "id subject description owner blocked_by labels wants",
		"tasks.wants":               "tools role labels",
		"teammates.restart":         "max within", "worktree": "setup include base max_disk ports", "merge": "into via per",
		"budget": "tokens usd time on_limit prices", "schedules": "name cron zone task to text",
		"notify": "to about of after hours zone digest", "notify.to": "command webhook secret_file",
		"web":        "public_url",
		"gateway":    "models login",
		"bus":        "url creds unsafe",
		"gates":      "task idle stop merge at_once sandbox",
		"gates.task": "run timeout policy may_act tests sandbox approve hints",
	}
	got := map[string][]string{}
	walkFields("", (&teamSpec{}).fields(), func(path string, f yaml.Field) {
		parent := strings.TrimSuffix(strings.TrimSuffix(path, f.Key), ".")
		got[parent] = append(got[parent], f.Key)
	})
	for parent, keys := range want {
		wanted := strings.Fields(keys)
		slices.Sort(wanted)
		have := got[parent]
		slices.Sort(have)
		if !slices.Equal(have, wanted) {
			t.Errorf("keys of %q are %v, want %v", parent, have, wanted)
		}
	}
}

// walkFields calls visit for every field below a table; path is its keys with
// dots between them.
func walkFields(path string, fields []yaml.Field, visit func(path string, f yaml.Field)) {
	for _, f := range fields {
		below := strings.TrimPrefix(path+"."+f.Key, ".")
		visit(below, f)
		walkFields(below, inner(f.Part), visit)
	}
}

// inner returns the table of the mapping that a part takes, if it takes one.
func inner(p yaml.Part) []yaml.Field {
	switch p := p.(type) {
	case restrictionsPart:
		return yaml.Keys(p.Part)
	case hooksPart:
		return []yaml.Field{{Key: "EVENT", Doc: "An event of turns.", Part: yaml.Object(nil, (&groupSpec{}).fields())}}
	}
	return yaml.Keys(p)
}

// TestNoKeyTakesAnything feeds every key of every table with values of all
// kinds: each must be taken or refused at its own line, and nothing may panic.
func TestNoKeyTakesAnything(t *testing.T) {
	values := []string{"", "text", "\"\"", "3", "-1", "1.5", "true", "[]", "[1]", "[[x]]", "{}", "{x: y}", ".inf", "null"}
	walkFields("", (&teamSpec{}).fields(), func(path string, f yaml.Field) {
		taken := 0
		for _, value := range values {
			d := yaml.NewDecoder("team.yaml", []byte("\n"+f.Key+": "+value+"\n"))
			if d.Root == nil {
				t.Fatalf("%s: %v", path, d.Problems)
			}
			d.Object(nil, d.Root, []yaml.Field{f})
			if len(d.Problems) == 0 {
				taken++
			}
			for _, p := range d.Problems {
				if p.Line != 2 || !strings.Contains(p.Message, f.Key) && p.Col == 1 {
					t.Errorf("%s: %s gives %s", path, value, p)
				}
			}
		}
		if taken > len(values)/2 {
			t.Errorf("%s takes %d of %d values", path, taken, len(values))
		}
	})
}

// makeSchema builds the schema from the tables.
func makeSchema() ([]byte, error) {
	root := yaml.ObjectSchema((&teamSpec{}).fields())
	root.Schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "covey team"
	root.Description = "A team of AI agents that `covey up` runs."
	root.Schema.Defs = root.Defs
	compact, err := root.Schema.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}
