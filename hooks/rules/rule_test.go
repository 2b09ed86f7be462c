package rules

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/shell"
)

// bashCall is a call of the Bash tool.
func bashCall(command string) Call {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return Call{Tool: "Bash", Input: raw, Cwd: "/w", Root: "/w"}
}

// mustRule parses a rule that is one.
func mustRule(tb testing.TB, text string) Rule {
	tb.Helper()
	r, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Rule{
		"Bash":                    {Tool: "Bash"},
		" Bash(*) ":               {Tool: "Bash"},
		"Bash()":                  {Tool: "Bash"},
		"Bash(git push *)":        {Tool: "Bash", Spec: "git push *"},
		"Bash(a(b)":               {Tool: "Bash", Spec: "a(b"},
		`Bash(f\(x\))`:            {Tool: "Bash", Spec: "f(x)"},
		"mcp__srv__*":             {Tool: "mcp__srv__*"},
		"WebFetch(domain:x.org)":  {Tool: "WebFetch", Spec: "domain:x.org"},
		"Edit(//etc/**)":          {Tool: "Edit", Spec: "//etc/**"},
		"plugin:my-tool(a:b)":     {Tool: "plugin:my-tool", Spec: "a:b"},
		"Bash(echo ünïcode *)":    {Tool: "Bash", Spec: "echo ünïcode *"},
		"Bash(touch a && echo b)": {Tool: "Bash", Spec: "touch a && echo b"},
	} {
		got, err := Parse(text)
		if err != nil || got.Tool != want.Tool || got.Spec != want.Spec ||
			got.String() != strings.TrimSpace(text) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", " ", "*", "(x)", "Bash(", "Bash(x", "bogus((", "Bash(x)y", "Bash (x)",
		"a b", "*(x)", `Bash(x\)`, "B*sh", "Bash(\x00)"} {
		if r, err := Parse(bad); !errors.Is(err, Err) {
			t.Errorf("%q: %+v, %v", bad, r, err)
		}
	}
}

func TestRuleTools(t *testing.T) {
	tests := []struct {
		rule     string
		yes, not []string
	}{
		{"Bash", []string{"Bash"}, []string{"bash", "BashOutput", "Write"}},
		{"Edit", []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, []string{"Read", "Bash"}},
		{"Write", []string{"Write"}, []string{"Edit"}},
		{"Read", []string{"Read"}, []string{"Grep", "Glob"}},
		{"Agent", []string{"Agent", "Task"}, []string{"TaskCreate"}},
		{"mcp__srv", []string{"mcp__srv__a", "mcp__srv__b__c"}, []string{"mcp__srv2__a", "mcp__s"}},
		{"mcp__srv__*", []string{"mcp__srv__a"}, []string{"mcp__other__a"}},
		{"mcp__srv__get_*", []string{"mcp__srv__get_x"}, []string{"mcp__srv__put_x"}},
		{"mcp__srv__a", []string{"mcp__srv__a"}, []string{"mcp__srv__ab"}},
	}
	for _, test := range tests {
		r := mustRule(t, test.rule)
		for want, tools := range map[bool][]string{true: test.yes, false: test.not} {
			for _, tool := range tools {
				c := Call{Tool: tool, Input: []byte("{}"), Cwd: "/w", Root: "/w"}
				fires := want && (test.rule != "Edit" || tool != "Write") // an `if` for Edit is not about Write
				if r.Fires(c) != fires || r.Permits(c) != want || r.Forbids(c) != want {
					t.Errorf("%s on %s: want %v", test.rule, tool, want)
				}
			}
		}
	}
}

// TestAttack43OnlyThePlainForm: of all ways to write a push that a shell
// understands, an allow rule takes only those that cannot be anything else.
func TestAttack43OnlyThePlainForm(t *testing.T) {
	rule := mustRule(t, "Bash(git push*)")
	for _, command := range []string{"git push", "git\tpush", "git push origin main", "git  push",
		`git push -o "a b"`, "git push 'x'",
		" git push ", "git push\n"} {
		if !rule.Permits(bashCall(command)) {
			t.Errorf("%q is not permitted", command)
		}
	}
	for _, command := range []string{"git push && rm -rf /", "git push; rm -rf /", "git push | sh",
		"git push |& git push",
		"git push & rm -rf /", "git push\nrm -rf /", "git push\r\nrm -rf /", "git push\rrm", "(git push)",
		"{ git push; }",
		"! git push", "git push &", "git push > /etc/passwd", "git push 2>&1", "git push <<EOF\nx\nEOF",
		"git push <<< x",
		"git push <(touch FLAG)", "git push $(touch FLAG)", "git push `touch FLAG`",
		"git push ${x:-`touch F`}", "git push $HOME",
		"git push $((1+1))", "git push \"$(touch F)\"", "git push \"$HOME\"", "X=1 git push", `g""it push`,
		`"git" push`, `git "push"`,
		`$'\x67it' push`, `git push $'a'`, `git push $"a"`, `g\it push`, `git push a\ b`,
		"git() { rm -rf /; }",
		"echo $[ x='a[$(touch FLAG)]', x ]", "git push $[ x='a[$(touch FLAG)]', x ]", "git push # fine",
		"# git push",
		"git push 'unfinished", "if true; then git push; fi", "time git push", "coproc git push",
		"[[ git push ]]", "((git push))",
		"git push @(a|b)", "", " ", "\n", "x=git push", "git push\x00", "git push\x1b[2J", "git\u00a0push",
		"{git,push}", "git pus", "Git push"} {
		if rule.Permits(bashCall(command)) {
			t.Errorf("%q is permitted", command)
		}
	}
	for _, command := range []string{`test -v 'a[$(touch F)]'`, "printf -v 'a[`touch F`]' x"} {
		for _, rule := range []string{"Bash(test *)", "Bash(printf *)"} {
			if mustRule(t, rule).Permits(bashCall(command)) {
				t.Errorf("%s permits %q", rule, command)
			}
		}
	}
	if rule.Permits(Call{Tool: "Bash", Input: []byte(`{"command":5}`)}) || rule.Permits(Call{Tool: "Bash"}) {
		t.Error("a call without a command is permitted")
	}
}

// TestForbids: a deny rule catches its command wherever a shell would start it,
// and what cannot be judged; it leaves alone what only mentions it as data.
func TestForbids(t *testing.T) {
	rule := mustRule(t, "Bash(git push*)")
	for _, command := range []string{"git push", `g""it push`, `$'\x67it' push`, `g\it push`,
		"git pu\\\nsh", `"git" 'push'`, "X=1 git push",
		"a && git push", "a || git push", "a; git push", "a | git push", "a & git push", "a\ngit push",
		"a\r\ngit push\r\n",
		"(git push)", "{ git push; }", "! git push", "git push > f", "time git push", "coproc git push",
		"if git push; then :; fi", "while git push; do :; done", "case x in x) git push;; esac",
		"f() { git push; }; f",
		"echo $(git push)", "echo `git push`", "echo \"$(git push)\"", "x=$(git push)", "cat <(git push)",
		"echo ${x:-$(git push)}",
		"cat <<EOF\n$(git push)\nEOF", "a[$(git push)]=1", "echo $((a[$(git push)]))",
		"sh -c 'git push'", "bash -o pipefail -c 'cd x; git push'", "bash -lc \"git push\"",
		"/bin/sh -c 'sh -c \"git push\"'",
		"eval git push", "eval 'git push'", "eval \"$X\"", "sudo -n git push", "sudo $X",
		"env A=b git push", "env -S 'git push'",
		"timeout 5 git push", "nice -n 5 git push", "/usr/bin/git push", "sudo /usr/bin/git push",
		"./git push", "xargs git push",
		"find . -exec git push ;", "find . -exec sh -c 'git push' ;", "docker run x git push",
		"npx git push", "ssh host git push",
		"curl x | sh", "sh <<< 'git push'", "bash <<EOF\ngit push\nEOF", "sh -s < f", "bash \"$X\"",
		"source <(echo git push)",
		"$X push", "git $X", "git $(echo push)", "$X", "{git,push}", "git pus?", "gi* push",
		"git push 'unfinished", "git push ((",
		"echo $[ x='a[$(touch FLAG)]', x ]", "printf -v 'a[$(git push)]' x", "trap 'git push' EXIT",
		"let 'a[$(git push)]'",
		"sh -c 'unfinished \"'", strings.Repeat("(", 2000), "echo " + strings.Repeat("x", 64<<10),
		"git push\x00"} {
		if !rule.Forbids(bashCall(command)) {
			t.Errorf("%.80q is not caught", command)
		}
	}
	for _, command := range []string{"git status", "git pull", "gitpush", "echo git push",
		"echo 'git push'", "git commit -m 'git push later'",
		"grep -r 'git push' .", "go test $PKG", "go test ./... 2>&1 | tail -5", "ls *.go",
		"npm install bash", "npm run git push", "python -c \"print('hi')\"",
		"bash script.sh", "cat <<EOF\ngit push\nEOF", "for f in *; do echo $f; done", "make test",
		"bash --version", "", "# git push",
		"sh -c 'git status'", "x=1", "export A=git"} {
		if rule.Forbids(bashCall(command)) {
			t.Errorf("%q is caught", command)
		}
	}
	if !rule.Forbids(Call{Tool: "Bash", Input: []byte(`{"command":5}`)}) ||
		!rule.Forbids(Call{Tool: "Bash"}) {
		t.Error("a call that cannot be read is not caught")
	}
	whole := mustRule(t, "Bash(a && b)")
	if !whole.Forbids(bashCall("a && b")) || whole.Forbids(bashCall("a")) {
		t.Error("a rule that is a whole line catches that line alone")
	}
}

// TestFires: an `if` runs its hook as the original does, and in doubt.
func TestFires(t *testing.T) {
	tests := []struct {
		rule     string
		yes, not []string
	}{
		{"Bash(touch:*)", []string{"touch x && echo y", "touch", "X=1 touch a", "echo $(touch a)",
			"timeout 3 touch a", "nohup touch a"},
			[]string{"touchx", "echo touch", "echo $HOME"}},
		{"Bash(git *)", []string{"git", "git push", "a; git x", "`git x`", "'unfinished"}, []string{"gitx",
			"echo git", "touch $X", "ls"}},
		{"Bash(ls*)", []string{"ls", "lsof", "ls -la"}, []string{"xls"}},
		{"Bash(ls *)", []string{"ls", "ls -la"}, []string{"lsof"}},
		{"Bash(git push *)", []string{"git push", "git push x", "echo $HOME", "echo `x`", "x $(y)"},
			[]string{"git pull", "echo git push"}},
		{"Bash(*made_by*)", []string{"touch made_by_tool", "x; touch made_by_tool"}, []string{"touch other"}},
		{"Bash(touch a && echo b)", nil, []string{"touch a && echo b"}},
		{"Bash(npm run test)", []string{"npm run test", "npm  run\ttest"}, []string{"npm run test:unit",
			"npm run"}},
	}
	for _, test := range tests {
		r := mustRule(t, test.rule)
		for want, commands := range map[bool][]string{true: test.yes, false: test.not} {
			for _, command := range commands {
				if got := r.Fires(bashCall(command)); got != want {
					t.Errorf("%s on %q: %v", test.rule, command, got)
				}
			}
		}
	}
}

func TestPermittedBy(t *testing.T) {
	rules := []Rule{mustRule(t, "Read"), mustRule(t, "Bash(go test *)"), mustRule(t, "Bash(cd *)"),
		mustRule(t, "Bash(tail:*)")}
	for command, want := range map[string]string{
		"go test ./...":                     "Bash(go test *)",
		"cd sub && go test ./... | tail -5": "Bash(cd *)",
		"cd sub\ngo test":                   "Bash(cd *)",
		"cd sub && rm -rf /":                "",
		"cd $(rm -rf /) && go test":         "",
		"":                                  "",
	} {
		got, ok := PermittedBy(rules, bashCall(command))
		if ok != (want != "") || got.String() != want {
			t.Errorf("%q: %q, %v, want %q", command, got, ok, want)
		}
	}
	if r, ok := PermittedBy(rules, Call{Tool: "Read", Input: []byte(`{"file_path":"/x"}`)}); !ok ||
		r.Tool != "Read" {
		t.Errorf("Read: %v, %v", r, ok)
	}
	if _, ok := PermittedBy(nil, bashCall("ls")); ok {
		t.Error("no rules permit nothing")
	}
}

// TestPathRules judges by both the path that is named and the file it leads to.
func TestPathRules(t *testing.T) {
	root := realPath(t.TempDir())
	cwd := filepath.Join(root, "sub")
	for _, dir := range []string{"sub/src", "docs", "secret"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "secret"), filepath.Join(cwd, "src", "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		rule, tool, path string
		permits, forbids bool
	}{
		{"Edit(src/**)", "Edit", "src/a/b.go", true, true},
		{"Edit(src/**)", "Write", cwd + "/src/a.go", true, true},
		{"Edit(src/**)", "Edit", root + "/src/a.go", false, false},
		{"Edit(src/**)", "Edit", "other/src/a.go", false, false},
		{"Edit(src/**)", "Edit", "src/../x.go", false, false},
		{"Edit(src/**)", "Edit", "src/link/key", false, true},
		{"Edit(**/src/**)", "Edit", "a/src/b.go", true, true},
		{"Edit(/docs/**)", "Edit", "../docs/x.md", true, true},
		{"Edit(/docs/**)", "Edit", "docs/x.md", false, false},
		{"Read(//etc/**)", "Read", "/etc/passwd", true, true},
		{"Read(//etc/**)", "Read", "etc/passwd", false, false},
		{"Read(.env)", "Read", "a/b/.env", true, true},
		{"Read(.env)", "Read", "a/.envx", false, false},
		{"Read(*.pem)", "Read", "a/b/k.pem", true, true},
		{"Read(secret)", "Read", "secret/deep/x", true, true},
		{"Read(/secret/**)", "Read", "src/link/key", false, true},
		{"Read(/secret/)", "Read", "../secret/key", true, true},
		{"Read(./src/*)", "Read", "src/a.go", true, true},
		{"Read(../docs/**)", "Read", root + "/docs/a", true, true},
		{"Read(src/**)", "Grep", "src", true, true},
		{"Read(src/**)", "Glob", "", false, false},
		{"Read(**)", "Glob", "", true, true},
		{"Write(src/[x)", "Write", "src/[x", true, true},
	}
	for _, test := range tests {
		field := "file_path"
		if test.tool == "Grep" || test.tool == "Glob" {
			field = "path"
		}
		input := map[string]string{field: test.path, "pattern": "*.go"}
		if test.path == "" {
			delete(input, field)
		}
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		c := Call{Tool: test.tool, Input: data, Cwd: cwd, Root: root}
		r := mustRule(t, test.rule)
		fires := test.forbids && (r.Tool != "Edit" || test.tool != "Write")
		if r.Permits(c) != test.permits || r.Forbids(c) != test.forbids || r.Fires(c) != fires {
			t.Errorf("%s on %s %s: permits %v, forbids %v, fires %v", test.rule, test.tool, test.path,
				r.Permits(c), r.Forbids(c), r.Fires(c))
		}
	}
	home, err := os.UserHomeDir()
	if err == nil && !mustRule(t, "Read(~/.ssh/**)").Forbids(fileCall("Read", home+"/.ssh/id")) {
		t.Error("~ is not home")
	}
}

// fileCall is a call of a tool that works on one file.
func fileCall(tool, path string) Call {
	data, _ := json.Marshal(map[string]string{"file_path": path})
	return Call{Tool: tool, Input: data, Cwd: "/w", Root: "/w"}
}

// TestPathDoubts: what cannot be told is not permitted, and is forbidden.
func TestPathDoubts(t *testing.T) {
	r := mustRule(t, "Read(src/**)")
	for _, c := range []Call{
		{Tool: "Read", Input: []byte(`{}`), Cwd: "/w"},
		{Tool: "Read", Input: []byte(`{"file_path":5}`), Cwd: "/w"},
		{Tool: "Read", Input: []byte(`{"file_path":"src/a\u0000b"}`), Cwd: "/w"},
		{Tool: "Read", Input: []byte(`{"file_path":"src/a"}`)},
		{Tool: "Read"},
	} {
		if r.Permits(c) || !r.Forbids(c) || !r.Fires(c) {
			t.Errorf("%s: permits %v, forbids %v, fires %v", c.Input, r.Permits(c), r.Forbids(c), r.Fires(c))
		}
	}
	search := Call{Tool: "Glob", Input: []byte(`{"path":"src","pattern":"../../etc/*"}`), Cwd: "/w",
		Root: "/w"}
	if r.Permits(search) {
		t.Error("a search that leads out of its folder is permitted")
	}
}

func TestOtherRules(t *testing.T) {
	tests := []struct {
		rule, tool, input string
		permits, forbids  bool
	}{
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://X.org:8443/a"}`, true, true},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://x.org./a"}`, true, true},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://sub.x.org/a"}`, false, true},
		{"WebFetch(domain:*.x.org)", "WebFetch", `{"url":"https://sub.x.org/a"}`, true, true},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://x.org@evil.org/"}`, false, false},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://evil.org\\@x.org/"}`, false, true},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"https://notx.org/"}`, false, false},
		{"WebFetch(domain:x.org)", "WebFetch", `{"url":"::"}`, false, true},
		{"WebFetch(domain:x.org)", "WebFetch", `{}`, false, true},
		{"Agent(Explore)", "Agent", `{"subagent_type":"Explore"}`, true, true},
		{"Agent(Explore)", "Task", `{"subagent_type":"Plan"}`, false, false},
		{"Agent(model:opus*)", "Agent", `{"model":"opus-5"}`, true, true},
		{"TaskUpdate(status:completed)", "TaskUpdate", `{"taskId":"1"}`, false, false},
		{"X(n:5)", "X", `{"n":5}`, true, true},
		{"Skill(deploy)", "Skill", `{"name":"deploy"}`, false, true},
		{"Skill(deploy)", "Skill", `{"skill":"deploy"}`, true, true},
		{"Skill(tools:*)", "Skill", `{"skill":"tools:deploy"}`, true, true},
		{"Skill(tools:*)", "Skill", `{"skill":"deploy"}`, false, false},
		{"Skill(deploy:*)", "Skill", `{"skill":"deploy","args":"now"}`, true, true},
		{"Skill(skill:deploy:*)", "Skill", `{"skill":"deploy"}`, true, true},
		{"Skill(skill:deploy)", "Skill", `{"skill":"deploy"}`, true, true},
		{"mcp__s__t(path:/a/*)", "mcp__s__t", `{"path":"/a/b"}`, true, true},
		{"mcp__s__t(path:/a/*)", "mcp__s__t", `[`, false, true},
	}
	for _, test := range tests {
		r, c := mustRule(t, test.rule), Call{Tool: test.tool, Input: []byte(test.input), Cwd: "/w",
			Root: "/w"}
		if r.Permits(c) != test.permits || r.Forbids(c) != test.forbids {
			t.Errorf("%s on %s: permits %v, forbids %v", test.rule, test.input, r.Permits(c), r.Forbids(c))
		}
	}
}

// TestRuleNeverBoth: what a rule permits, the same rule forbids and fires on.
// The three questions differ in doubt alone.
func TestRuleNeverBoth(t *testing.T) {
	words := rapid.SampledFrom([]string{"git", "push", "sh", "-c", "a b", "$X", "'", "\"", ";", "&&", "|",
		"\n", "(", ")", "`", "\\", "*",
		"{a,b}", ">f", "#", "sudo", "eval", "X=1", "\r", "$(", "<<E", "\t"})
	specs := rapid.SampledFrom([]string{"git *", "git push", "git push:*", "*push*", "sh *", "git*"})
	rapid.Check(t, func(t *rapid.T) {
		r, err := Parse("Bash(" + specs.Draw(t, "spec") + ")")
		if err != nil {
			t.Fatal(err)
		}
		c := bashCall(strings.Join(rapid.SliceOf(words).Draw(t, "words"), rapid.SampledFrom([]string{" ",
			""}).Draw(t, "glue")))
		if r.Permits(c) && (!r.Forbids(c) || !r.Fires(c)) {
			t.Fatalf("%s permits %s, but fires %v and forbids %v", r, c.Input, r.Fires(c), r.Forbids(c))
		}
	})
}

// TestMayFit: against a slow and obvious matcher.
func TestMayFit(t *testing.T) {
	letters := rapid.SampledFrom([]rune{'a', 'b', '*', shell.Unknown})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.ReplaceAll(rapid.StringOfN(letters, 0, 6, -1).Draw(t, "pattern"),
			string(shell.Unknown), "")
		text := strings.ReplaceAll(rapid.StringOfN(letters, 0, 6, -1).Draw(t, "text"), "*", "")
		if got, want := mayFit(pattern, text), slowFit(pattern, text); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// slowFit is mayFit by trying everything.
func slowFit(pattern, text string) bool {
	switch {
	case pattern == "" && text == "":
		return true
	case pattern != "" && pattern[0] == '*':
		return slowFit(pattern[1:], text) || text != "" && slowFit(pattern, text[1:])
	case text != "" && text[0] == shell.Unknown:
		return slowFit(pattern, text[1:]) || pattern != "" && slowFit(pattern[1:], text)
	}
	return pattern != "" && text != "" && pattern[0] == text[0] && slowFit(pattern[1:], text[1:])
}

// TestRuleIsFast: no command line holds a member up.
func TestRuleIsFast(t *testing.T) {
	r, reads := mustRule(t, "Bash(git push * --force*)"), mustRule(t, "Read(secret/**)")
	for name, command := range map[string]string{
		"brackets": strings.Repeat("(", 60_000),
		"under":    strings.Repeat("(", 900) + strings.Repeat(")", 900),
		"words":    "git " + strings.Repeat("$X ", 20_000),
		"stars":    strings.Repeat("*", 60_000),
		"quotes":   strings.Repeat(`"`, 60_000),
		"nested":   strings.Repeat("$(", 900) + strings.Repeat(")", 900),
		"chain":    strings.Repeat("a;", 30_000),
		"heredocs": strings.Repeat("cat <<E\n", 5000),
		"starters": strings.Repeat("docker run ", 5000),
		"runners":  strings.Repeat("npx ", 15_000),
		"lines":    "tmux " + strings.Repeat("'tmux a b' ", 5000),
		"folders":  strings.Repeat("cd a; cat b;", 4000),
		"names":    "cat " + strings.Repeat("abc/def ", 8000),
		"paths":    strings.Repeat("cd b; ", 100) + "cat " + strings.Repeat(strings.Repeat("a/", 1900)+" ", 15),
		"path":     "cat " + strings.Repeat("a/", 30_000),
		"files":    "cat " + strings.Repeat("a/$x ", 12_000),
	} {
		start := time.Now()
		c := bashCall(command)
		r.Fires(c)
		r.Permits(c)
		r.Forbids(c)
		reads.Forbids(c)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// FuzzRule: nothing panics, and what is permitted is also caught.
func FuzzRule(f *testing.F) {
	for _, seed := range [][2]string{{"Bash(git push*)", "git push"}, {"Bash(a:*)", "X=1 a $(b) <<E\nx\nE"},
		{"Bash(*x*)", "sh -c 'x'"},
		{"Edit(src/**)", "src/a"}, {"WebFetch(domain:x)", "http://x/"}, {"mcp__a__*", ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rule, text string) {
		r, err := Parse(rule)
		if err != nil {
			return
		}
		data, err := json.Marshal(map[string]string{"command": text, "file_path": text, "url": text})
		if err != nil {
			return
		}
		for _, tool := range []string{"Bash", "Write", "Glob", "WebFetch", r.Tool} {
			c := Call{Tool: tool, Input: data, Cwd: "/nowhere", Root: "/nowhere"}
			fires := r.Fires(c) || r.Tool == "Edit" && tool == "Write"
			if r.Permits(c) && (!r.Forbids(c) || !fires) {
				t.Fatalf("%s permits %s on %q but does not catch it", r, tool, text)
			}
		}
	})
}

// TestLists: a list of tools has names, and for MCP servers patterns.
func TestLists(t *testing.T) {
	for _, tc := range []struct {
		list, tool string
		want       bool
	}{
		{"Read Bash", "Bash", true}, {"Read", "Grep", false}, {"Read", "Glob", false}, {"mcp__a", "mcp__a__x", true},
		{"mcp__a", "mcp__ab__x", false}, {"mcp__a__*", "mcp__a__x", true}, {"mcp__a__get_*", "mcp__a__put_x", false},
		{"mcp__a__x", "mcp__a__x", true}, {"", "mcp__a__x", false},
	} {
		if got := Lists(strings.Fields(tc.list), tc.tool); got != tc.want {
			t.Errorf("%q lists %s: %v", tc.list, tc.tool, got)
		}
	}
}

// TestFiresOnCompounds: recorded hosts do not look into a compound command with a command
// substitution, so every rule for the shell fires (HOOKS.md section 12, point 9).
func TestFiresOnCompounds(t *testing.T) {
	for command, want := range map[string]bool{
		"echo $(date) && ls": true, "echo $(date); ls": true, "x=$(date) | cat": true, "if true; then echo `date`; fi": true,
		"echo $(date)": false, "echo a && ls": false, "echo $X && ls": false,
	} {
		for _, text := range []string{"Bash(git *)", "Bash(GIT *)", "Bash(git)", "Bash(git:*)"} {
			rule, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := rule.Fires(bashCall(command)); got != want {
				t.Errorf("%s on %s fires: %v", text, command, got)
			}
			if rule.Forbids(bashCall(command)) && !strings.Contains(command, "$X") {
				t.Errorf("%s forbids %s", text, command)
			}
		}
	}
	if _, err := Parse("Bash(git *"); err == nil {
		t.Error("a rule that is not closed is one")
	}
}
