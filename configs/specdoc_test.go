package configs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

//go:generate go test -run TestSpecDocIsCurrent -update .

const specDoc = "../docs/spec.md"

// documented are the tables of the spec, by the names that docs/spec.md has for
// them.
func documented() map[string][]yaml.Field {
	var (
		lead  leadSpec
		agent agentSpec
		task  taskSpec
		gate  gateSpec
		work  teamworkSpec
		due   scheduleSpec
		group groupSpec
		hook  handlerSpec
	)
	member := lead.memberSpec.fields()
	more := func(p yaml.Part) []yaml.Field {
		return slices.DeleteFunc(yaml.Keys(p), func(f yaml.Field) bool {
			return slices.ContainsFunc(member, func(m yaml.Field) bool { return m.Key == f.Key })
		})
	}
	return map[string][]yaml.Field{
		"team": (&teamSpec{}).fields(), "model": (&modelSpec{}).fields(), "mcpServer": (&serverSpec{}).fields(), "agent": agent.fields(),
		"auth": agent.auth.fields(), "rule": (&ruleSpec{}).fields(),
		"member": member, "lead": more(leadPart(&lead, &memberSpec{})), "teammate": more(memberPart(&lead.memberSpec, &memberSpec{})), "template": more(templatePart(&lead.memberSpec, &memberSpec{})), "permissions": (&permissionSpec{}).fields(), "limits": (&Limits{}).fields(),
		"task": task.fields(), "wants": task.wants(), "gates": (&gatesSpec{}).fields(), "gate": gate.fields(),
		"hookGroup": group.fields(), "hook": hook.commonFields("command"),
		"worktree": work.worktree.fields(), "merge": work.merge.fields(), "budget": work.budget.fields(),
		"restart": (&restartSpec{}).fields(), "schedule": due.fields(),
		"notify": (&notifySpec{}).fields(), "target": (&targetSpec{}).fields(), "web": work.web.fields(), "bus": work.bus.fields(), "node": (&nodeSpec{}).fields(), "sandbox": work.sandbox.fields(), "git": work.git.fields(),
		"commandHook": hook.commandFields(), "httpHook": hook.httpFields(),
		"promptHook": hook.promptFields(), "toolHook": hook.toolFields(), "policy": (&policySpec{}).fields(),
	}
}

// valueExtras is what a list of keys leaves out of a value.
var valueExtras = regexp.MustCompile(`^an? (mapping from .*)?|^one of |( of texts)$|,? such as .*|(, or one)? with its unit.*| from \d+ to 2147483647`)

// docExtras is what a list of keys leaves out of a description, because the page says it once.
var docExtras = regexp.MustCompile(`, relative to the spec\b|\. Relative to the spec\b|0: no limit\. `)

// keyList is a list of fields in Markdown. It leaves out of values what the
// page says once or the description of the key tells.
func keyList(fields []yaml.Field) string {
	var out strings.Builder
	for _, f := range fields {
		value := valueExtras.ReplaceAllString(f.Part.Want(), "")
		choices := strings.Split(value, ", ")
		told := !slices.ContainsFunc(choices, func(c string) bool { return !strings.Contains(f.Doc, c) })
		if value == "text" || value == "mapping" || value == "true or false" || len(choices) > 1 && told {
			value = ""
		}
		if f.Need {
			value = strings.TrimSuffix("required; "+value, "; ")
		}
		if value != "" {
			value = " (" + value + ")"
		}
		fmt.Fprintf(&out, "- `%s`%s: %s\n", f.Key, value, docExtras.ReplaceAllString(f.Doc, ""))
	}
	return out.String()
}

var keysMark = regexp.MustCompile(`(?s)<!-- keys: (\w+) -->\n.*?<!-- end -->\n`)

// TestSpecDocIsCurrent holds the lists of keys in docs/spec.md against the parser's.
func TestSpecDocIsCurrent(t *testing.T) {
	have, err := os.ReadFile(specDoc)
	if err != nil {
		t.Fatal(err)
	}
	tables := documented()
	for _, name := range []string{"httpHook", "promptHook", "toolHook"} { // as in Claude Code, which documents them
		delete(tables, name)
	}
	tables["commandHook"] = slices.DeleteFunc(tables["commandHook"], func(f yaml.Field) bool {
		return !slices.Contains([]string{"windows", "linux", "osx", "cwd", "env", "may_act", "sandbox"}, f.Key)
	})
	want := keysMark.ReplaceAllFunc(have, func(mark []byte) []byte {
		name := string(keysMark.FindSubmatch(mark)[1])
		fields, known := tables[name]
		if !known {
			t.Errorf("docs/spec.md wants the keys of %q, which no table of keys has (or has shown already)", name)
		}
		delete(tables, name)
		return fmt.Appendf(nil, "<!-- keys: %s -->\n%s<!-- end -->\n", name, keyList(fields))
	})
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		t.Errorf("docs/spec.md does not show the keys of %s; put <!-- keys: %[1]s --> and <!-- end --> there", name)
	}
	if *update {
		if err := os.WriteFile(specDoc, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(have, want) {
		t.Error("the lists of keys in docs/spec.md are stale; run `go generate ./configs`")
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// wholeSpec makes a spec of an example that shows only a part of one.
func wholeSpec(example string) string {
	for line, rest := range map[string]string{
		"covey:": "covey: 1\n", "lead:": "lead: {model: {provider: script, script: scripts/lead.yaml}}\n",
	} {
		if !strings.Contains("\n"+example, "\n"+line) {
			example += rest
		}
	}
	return example
}

// TestDocumentedSpecsAreSpecs runs the examples of the documents through the
// parser, and finds that docs/spec.md has one for each key.
func TestDocumentedSpecsAreSpecs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"scripts/lead.yaml", "tape/api.recording.jsonl", "scripts/backend.yaml", "scripts/boss.yaml", "scripts/coder.yaml",
		"prompts/docs.md", ".claude/settings.json", ".codex/hooks.json", ".github/hooks/policy.json",
		"plugins/ralph-wiggum/hooks/hooks.json", "secrets/openai", "secrets/key", "lint.sh", "prices.yaml", "secrets/token",
		"secrets/webhook", "secrets/team.nk", "evidence.sh", "followup.sh",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MY_TOKEN", "")
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "org.yaml"), []byte("covey-policy: 1\nbudget: {usd: 500}\n"), 0o600))
	shown := ""
	for _, doc := range []string{specDoc, "../README.md", "../docs/models.md", "../docs/agents.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		blocks := yamlBlock.FindAllSubmatch(text, -1)
		if len(blocks) == 0 {
			t.Errorf("%s shows no spec", doc)
		}
		for _, block := range blocks {
			example := string(block[1])
			if doc == specDoc {
				shown += example
			}
			if strings.HasPrefix(example, "covey-policy:") { // a spec below it extends it, with its digest
				testkit.Must(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), block[1], 0o600))
				continue
			}
			if _, err := Parse(filepath.Join(dir, "team.yaml"), []byte(wholeSpec(example))); err != nil {
				t.Errorf("%s: %v in\n%s", doc, err, example)
			}
		}
	}
	for name, fields := range documented() {
		for _, f := range fields {
			if key := regexp.MustCompile(`(?m)(^|[\s{,])` + f.Key + `:`); !key.MatchString(shown) {
				t.Errorf("docs/spec.md has no example of the key %s of a %s", f.Key, name)
			}
		}
	}
}
