package shell

import (
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mustRead reads a line that can be read.
func mustRead(t *testing.T, line string) *Line {
	t.Helper()
	l, err := Read(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return l
}

// TestCommands: each command of a line is found, with how it comes into it and where it runs.
func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		"a b; c | d && e":            "w:a b@. w:c@. w:d@. w:e@.",
		"x=$(a) b <(c)":              "w:b \x00@. w:a@. w:c@.",
		"sh -c 'a; b'":               "w:sh -c a; b@. s:a@. s:b@.",
		"sudo env X=1 a b":           "w:sudo env X=1 a b@. >:env X=1 a b@. >:a b@.",
		"cd x && a; b":               "w:cd x@. w:a@x w:b@x",
		"(cd x; a); b; cd y; c":      "w:cd x@. w:a@x w:b@. w:cd y@. w:c@y",
		"sh -c 'cd x; a'; b":         "w:sh -c cd x; a@. s:cd x@. s:a@x w:b@.",
		"cd x; sh -c 'cd y; a'; b":   "w:cd x@. w:sh -c cd y; a@x s:cd y@x s:a@x/y w:b@x",
		"command cd x; a":            "w:command cd x@. >:cd x@. w:a@x",
		"env cd x; a":                "w:env cd x@. >:cd x@. w:a@.",
		"tmux new 'cd x'; a":         "w:tmux new cd x@. ?:new cd x@. ?:cd x@. ?:cd x@. w:a@.",
		"git -c alias.p='!a b' p; c": "w:git -c alias.p=!a b p@. s:a b@. >:a b \x00@. w:c@.",
		"find . -exec a {} ';'":      "w:find . -exec a {} ;@. >:a \x00@.",
		"":                           "",
	} {
		l := mustRead(t, line)
		dirs := l.Resolve(".", func(dir string, to Word) string { return path.Join(dir, to.Literal()) })
		var got []string
		for _, c := range l.Commands {
			role := string("ws>"[c.Role])
			if c.Guessed {
				role = "?"
			}
			got = append(got, fmt.Sprintf("%s:%s@%s", role, c.Text(), dirs[c.Folder]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\n got %q\nwant %q", line, strings.Join(got, " "), want)
		}
	}
}

// TestSets: variables before a command are those of what it starts, too.
func TestSets(t *testing.T) {
	l := mustRead(t, "A=1 env B=2 git log; C=3; for D in 4 $x; do :; done")
	var got []string
	for _, s := range append(l.Commands[1].Sets, l.Sets...) {
		got = append(got, s.Name+"="+s.Value.Literal())
	}
	if strings.Join(got, " ") != "A=1 B=2 A=1 C=3 D=4 D=" || l.Commands[1].Text() != "git log" {
		t.Errorf("%q of %q", got, l.Commands[1].Text())
	}
}

// TestLoads: what an interpreter runs or loads is told from what it works on.
func TestLoads(t *testing.T) {
	for line, want := range map[string]string{
		"sh x.sh a": "x.sh:1", "/bin/bash -eu x.sh": "x.sh:1", "bash --rcfile r x.sh": "r:3 x.sh:1", "bash --rcfile=r x.sh": "--rcfile=r:3 x.sh:1", "node --eval=a": "--eval=a:5", "dash +x x.sh": "x.sh:1",
		"sh -c a b": "a:5 b:1", "sh -ce a": "a:5", "source x": "x:1", ". ./x": "./x:1", "python3.12 -X dev x.py": "dev:3 x.py:1",
		"python -m m x": "m:4", "python -c 'a' x": "a:5 x:1", "node22 -r ./a.js b.js": "./a.js:3 b.js:1", "perl -e'exit' x": "-eexit:5 x:1",
		"perl -ne a x": "a:5 x:1", "bun x.ts": "x.ts:2", "go run x.go": "x.go:2", "awk -f x.awk data": "x.awk:3", "sed -e s/a/b/ data": "s/a/b/:3",
		"make check": "", "make -f b.mk check": "b.mk:3", "vim x": "", "cat x": "", "./sh.txt x": "", "shell x": "", "sh $x": ":1",
		"uv run python x.py": "x.py:1", "php -r a": "a:5", "pwsh x.ps1": "x.ps1:1",
	} {
		var got []string
		c := mustRead(t, line).Commands[0]
		for _, l := range c.Loads() {
			got = append(got, fmt.Sprintf("%s:%d", c.Words[l.Word].Literal(), l.Kind))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s loads %q, want %q", line, got, want)
		}
	}
}

// TestSingle: only a line that every shell reads in one way is one command.
func TestSingle(t *testing.T) {
	for line, want := range map[string]bool{
		"a 'b c' \"d\" $e": true, "a\\ b": true, "a; b": false, "a | b": false, "x=1 a": false, "a >x": false, "a &": false, "! a": false,
		"a # b": false, "(a)": false, "a $'b'": false, "a 'b\r\nc'": false, "": false, "# a": false, "x=1": false,
	} {
		if _, got := mustRead(t, line).Single(); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
	if c, ok := mustRead(t, `bash -lc "echo \"x\" 'y'"`).Single(); !ok {
		t.Error("it is no single command")
	} else if script, ok := ScriptOf(c.Literals()); !ok || script != `echo "x" 'y'` {
		t.Errorf("%q, %t", script, ok)
	}
}

// TestExpand: a word has all texts that it may become.
func TestExpand(t *testing.T) {
	env := Env{
		Values: func(name string) []string { return map[string][]string{"a": {"1", "2"}}[name] },
		Output: func(command string) string { return map[string]string{"pwd": "/w"}[command] },
	}
	for word, want := range map[string]string{
		"x": "x", "'$a'": "$a", `"x$a"`: "x1 x2", "${a}${a}": "11 21 12 22", "${b:-y$a}": "y1 y2", "$b": "\x00", "$(pwd)/x": "/w/x",
		"$(id)": "\x00", "${a%x}": "\x00", "${#a}": "\x00", "`pwd`": "/w", `\*`: "*",
	} {
		if got := strings.Join(mustRead(t, "e "+word).Commands[0].Words[1].Expand(env), " "); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// TestArgs: words that no shell reads are literal, and what they start is found.
func TestArgs(t *testing.T) {
	l := Args([]string{"timeout", "5", "sh", "-c", "a; $b", "*"})
	var got []string
	for _, c := range l.Commands {
		got = append(got, fmt.Sprintf("%d:%s", c.Role, c.Text()))
	}
	want := []string{"0:timeout 5 sh -c a; $b *", "2:sh -c a; $b *", "1:a", "1:\x00"}
	if !slices.Equal(got, want) || l.Commands[1].Words[0].At != 2 {
		t.Errorf("%q, the shell at %d", got, l.Commands[1].Words[0].At)
	}
}

// FuzzRead: whatever a line is, reading it does not panic, and positions lie in the line.
func FuzzRead(f *testing.F) {
	for _, line := range []string{
		"a", "sh -c 'git push'", "cd x; (cd y && a) | b", "for f in a b; do $f; done", "cat <<E\n$x\nE", "a[$(b)]=c", "env -S 'a b' c",
		"git -c alias.p='!a' p", "alias a='b c'", "xargs -I{} a {}", "parallel a ::: b", "find . -exec a {} +", "echo {a,b}{c,d}", "python -c 'a' x", "()00",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Read(text)
		if err != nil {
			return
		}
		l.Sure()
		l.Single()
		dirs := l.Resolve("", func(dir string, to Word) string { return to.Literal() })
		for _, c := range l.Commands {
			_ = dirs[c.Folder]
			c.Loads()
			for _, w := range c.Words {
				if w.At < 0 || w.At > w.End || w.End > len(text) {
					t.Fatalf("%q: a word at %d to %d", text, w.At, w.End)
				}
				w.Expand(Env{Values: func(string) []string { return []string{"1", "2"} }})
			}
		}
	})
}

func TestJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"git push origin covey/crew/task_1":  {"git", "push", "origin", "covey/crew/task_1"},
		"gh --title '#1: it'\\''s here' ''":  {"gh", "--title", "#1: it's here", ""},
		"echo '$(rm -rf x)' 'a;b' '~' '`x`'": {"echo", "$(rm -rf x)", "a;b", "~", "`x`"},
		"echo 'two\nlines'":                  {"echo", "two\nlines"},
	} {
		if got := Join(args); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

// TestJoinIsReadBack: whatever words are, a shell that gets the line has the same.
func TestJoinIsReadBack(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to ask")
	}
	word := rapid.StringOf(rapid.SampledFrom([]rune("ab{},=^~ '\"\\$`#&;|<>()*?[]!%-é\n\t")))
	rapid.Check(t, func(r *rapid.T) {
		words := append(rapid.SliceOfN(word, 1, 300).Draw(r, "words"), "x{a,b}", "")
		out, err := exec.Command(bash, "-c", "printf '%s\\0' "+Join(words)).Output()
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if err != nil || !slices.Equal(got, words) {
			r.Fatalf("%q became %q (%v)", words, got, err)
		}
	})
}
