package configs

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

// allowed is how long the worst spec of MaxSize may take. It takes a second on
// a quiet machine; the rest is for busy and slow ones.
const allowed = time.Minute

// TestHostile parses what is made to be slow, huge or confusing. All of it
// must be refused, in time, with a place that exists.
func TestHostile(t *testing.T) {
	const spec = "covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\n"
	tests := map[string]struct{ spec, want string }{
		"40k brackets":     {strings.Repeat("[", 40000), "nests too deep"},
		"40k braces":       {strings.Repeat("{a: ", 30000), "nests too deep"},
		"closed brackets":  {strings.Repeat("[", 40000) + strings.Repeat("]", 40000), "nests too deep"},
		"40k dashes":       {strings.Repeat("- ", 40000), "nests too deep"},
		"16k keys":         {numbered("k%d: \n", 15000), "more than 10000 keys"},
		"3k keys":          {numbered("k%d: 1\n", 3000), "unknown key"},
		"43k same keys":    {strings.Repeat("a:\n", 43000), "more than 10000 keys"},
		"3k same keys":     {strings.Repeat("a:\n", 3000), "is here twice"},
		"deep by indent":   {indented(400), "nests too deep"},
		"anchors":          {strings.Repeat("&a ", 40000), "anchors"},
		"alias bomb":       {aliasBomb(), "anchors"},
		"tags":             {strings.Repeat("! ", 60000), "tags"},
		"documents":        {strings.Repeat("a\n---\n", 20000), "a second document"},
		"spaces":           {strings.Repeat(" ", yaml.MaxSize), "the spec is empty"},
		"newlines":         {strings.Repeat("\n", yaml.MaxSize), "the spec is empty"},
		"literal of blank": {"a: |\n" + strings.Repeat("        \n", 5000), "unknown key"},
		"quotes":           {strings.Repeat("'", yaml.MaxSize-1), "missing"},
		"129 KiB":          {strings.Repeat("#", 129<<10), "larger than 128 KiB"},
		"empty":            {"", "the spec is empty"},
		"byte order only":  {"\ufeff", "the spec is empty"},
		"latin1":           {spec + "goal: caf\xe9\n", "byte 0xe9 is not UTF-8"},
		"half a character": {spec + "goal: \xf0\x9f\x98\n", "is not UTF-8"},
		"NUL":              {spec + "goal: a\x00b\n", "control character U+0000"},
		"escape":           {spec + "goal: \x1b[31m\n", "control character U+001B"},
		"UTF-16":           {"\xff\xfec\x00o\x00", "is not UTF-8"},
		"tabs":             {spec + strings.Repeat("\tx:\n", 1000), "tab"},
		"many in one line": {"{covey: 1, " + strings.Repeat("kk: 1, ", 9000) + "}", "is here twice"},
		"long matcher":     {spec + "hooks: {Stop: [{matcher: \"" + strings.Repeat("(", 60000) + "\", hooks: []}]}\n", ""},
		"long rule":        {spec + "defaults: {permissions: {deny: [\"Bash(" + strings.Repeat("(", 60000) + "\"]}}\n", "permission rule"},
		"long event":       {spec + "hooks: {" + strings.Repeat("e", 60000) + ": []}\n", "unknown event"},
		"long name":        {spec + "name: " + strings.Repeat("a", 60000) + "\n", "a name is 1 to 32"},
		"long key":         {spec + strings.Repeat("a", 60000) + ": 1\n", "unknown key"},
		"many mates":       {spec + "teammates: {" + "a: x, b: {agent: claude, count: 10000}}\n", "more than 10000 teammates"},
		"many rules":       {spec + "defaults: {permissions: {allow: [" + numbered("a%d, ", 5000) + "]}}\n", "more than 1000 entries"},
		"wrong references": {spec + "tasks: [" + numbered("{subject: a, owner: bb%d, blocked_by: [x%[1]d]}, ", 1000) + "]\n", "there is no member"},
		"many variables":   {spec + "agents: {x: {use: codex, env: {" + numbered("A%d: x, ", 2000) + "}}}\n", "more than 1000 entries"},
		"same variables":   {spec + "agents: {x: {use: codex, env: {" + strings.Repeat("A: x, ", 900) + "}}}\n", "is here twice"},
		"many dollars":     {spec + "agents: {x: {use: codex, env: {A: \"" + strings.Repeat("$", 20001) + "\"}}}\n", "write $$ for a dollar"},
		"unclosed":         {spec + "agents: {x: {use: codex, env: {A: \"" + strings.Repeat("${A", 20000) + "\"}}}\n", "write $$ for a dollar"},
		"long variable":    {spec + "agents: {x: {use: codex, env: {A: \"${" + strings.Repeat("A", 60000) + "}\"}}}\n", "is not set"},
		"bad variables":    {spec + "agents: {x: {use: codex, env: {" + numbered("%d: x, ", 900) + "}}}\n", "cannot be the name of a variable"},
		"many arguments":   {spec + "agents: {x: {use: acp, command: [" + strings.Repeat("a, ", 20000) + "]}}\n", "more than 1000 entries"},
		"many sessions":    {spec + "agents: {x: {use: command, command: [a], resume: [" + strings.Repeat("a, ", 900) + "]}}\n", "put {session}"},
		"many agents":      {spec + "agents: {" + numbered("a%d: {use: acp}, ", 3000) + "}\n", "has no command"},
		"long program":     {spec + "agents: {x: {use: acp, command: [/" + strings.Repeat("a/", 30000) + "]}}\n", "cannot be used"},
		"blanks":           {spec + "agents: {x: {use: acp, command: [\"" + strings.Repeat("a ", 30000) + "\"]}}\n", "with blanks in its name"},
		"many mandatory":   {spec + "defaults: {permissions: {deny: [" + numbered("{rule: a%d}, ", 2000) + "]}}\n", "more than 1000 entries"},
		"long chain":       {spec + "tasks: [" + chain(2000) + "]\n", "wait for each other"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := parse(t, test.spec)
			if took := time.Since(start); took > allowed {
				t.Errorf("took %v", took)
			}
			var problems Errors
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v", err)
			}
			if text := err.Error(); !strings.Contains(text, test.want) || len(text) > 100_000 {
				t.Errorf("the error, %d bytes, lacks %q: %.300s", len(text), test.want, text)
			}
			checkPlaces(t, test.spec, problems)
		})
	}
}

// checkPlaces: every problem has a place in the text.
func checkPlaces(t *testing.T, spec string, problems Errors) {
	t.Helper()
	lines := strings.Count(spec, "\n") + strings.Count(spec, "\r") + 1
	for _, p := range problems {
		if p.Line < 1 || p.Line > lines || p.Col < 1 {
			t.Fatalf("a problem of %d lines is at %d:%d", lines, p.Line, p.Col)
		}
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return b.String()
}

// chain is tasks that wait for each other in one long ring.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{id: t%d, subject: s, blocked_by: [t%d]}, ", i, (i+1)%n)
	}
	return b.String()
}

// TestInheritedMemory: a small spec cannot make a huge team by inheritance.
func TestInheritedMemory(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "long.md": strings.Repeat("word ", 200_000)})
	spec := "covey: 1\ndefaults: {model: {provider: script, script: demo.yaml}, prompt_file: long.md, " +
		"permissions: {deny: [" + numbered("a%d, ", 1000) + "]}}\nlead: {name: chief}\n" +
		"teammates: {" + numbered("a%d: {self_claim: true}, ", 1500) + "}\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	team, err := Parse(filepath.Join(dir, "team.yaml"), []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 200<<20 {
		t.Errorf("the team takes %d MiB", grown>>20)
	}
	if len(team.Teammates) != 1500 || len(team.Teammates[9].Instructions) < 900_000 {
		t.Errorf("%d teammates", len(team.Teammates))
	}
}

// TestExpandedMemory: a small spec cannot make huge environments of one large
// variable of covey's.
func TestExpandedMemory(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	opts := Options{Lookup: func(string) (string, bool) { return large, true }}
	for name, agents := range map[string]string{
		"one value":   "{a: {use: codex, env: {A: \"" + strings.Repeat("${L}", 20000) + "\"}}}",
		"many values": "{a: {use: codex, env: {" + numbered("A%d: \"${L}\", ", 900) + "}}}",
		"many agents": "{" + numbered("a%d: {use: codex, env: {A: \"${L}\"}}, ", 2000) + "}",
	} {
		_, _, err := parseAgents(t, "lead: {model: demo}\nagents: "+agents+"\n", opts)
		if err == nil || !strings.Contains(err.Error(), "longer than 1024 KiB") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	team, _, err := parseAgents(t, "lead: a\nagents: {a: {use: codex, env: {A: \"${L}${L}\", B: \"${L}\"}}}\n", opts)
	if err != nil || len(team.Lead.Agent.Env[0].Value) != 200_000 {
		t.Errorf("a large variable is refused: %v", err)
	}
}

// FuzzParse: whatever the bytes, there is a Team or there are Errors with
// places in the text.
func FuzzParse(f *testing.F) {
	f.Add(everyKey)
	f.Add("covey: 1\nlead: [*a]\n")
	f.Add("{\"covey\": 1, \"lead\": {\"model\": {\"provider\": \"script\", \"script\": \"demo.yaml\"}}}")
	f.Add("covey: 1\nteammates:\n  a: &x {}\n  <<: *x\n---\n")
	f.Add("? a\n: b\n\t- c\n'd\n\"\\u00e9\\x\n>|\n")
	f.Add("hooks: {Stop: [{matcher: \"(?<=a)\", hooks: [{type: command, command: x, args: []}]}]}")
	f.Add("covey: 1\nlead: codex\nagents: {codex: {use: codex, env: {A: \"${B}$$\", C: 1e3}, auth: {file: lint.key}, parallel: 0}}\n")
	f.Add("covey: 1\nlead: a\nagents: {a: {use: command, command: [./bin/lint.sh, '{prompt}'], resume: ['{session}'], native_hooks: on}}\n")
	f.Add("covey: 1\nlead: {agent: claude, permissions: {deny: [{rule: Bash, mandatory: true}, Bash]}}\n" +
		"hooks: {Stop: [{hooks: [{type: command, command: x, mandatory: true}]}]}\n")
	dir := testkit.Files(f, everyKeyFiles())
	name := filepath.Join(dir, "team.yaml")
	f.Fuzz(func(t *testing.T, spec string) {
		team, err := Parse(name, []byte(spec))
		if (team == nil) == (err == nil) {
			t.Fatalf("team %v, error %v", team, err)
		}
		if err == nil {
			return
		}
		var problems Errors
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("error %v", err)
		}
		checkPlaces(t, spec, problems)
		for _, p := range problems {
			if strings.ContainsAny(p.String(), "\x00\x1b\x07") || p.Message == "" {
				t.Fatalf("problem %q", p)
			}
		}
	})
}
