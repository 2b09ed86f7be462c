package hints

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// edit makes the difference of one file: its header lines, and its lines.
func edit(name, header string, lines ...string) string {
	var old, now int
	for _, l := range lines {
		if l[0] != '+' {
			old++
		}
		if l[0] != '-' {
			now++
		}
	}
	text := "diff --git a/" + name + " b/" + name + "\n" + header + "--- a/" + name + "\n+++ b/" + name + "\n"
	if len(lines) == 0 {
		return text
	}
	return text + fmt.Sprintf("@@ -1,%d +1,%d @@\n", old, now) + strings.Join(lines, "\n") + "\n"
}

const gone, fresh = "deleted file mode 100644\n", "new file mode 100644\n"

func bin(name, header string) string {
	return "diff --git a/" + name + " b/" + name + "\n" + header + "Binary files a/" + name + " and b/" + name + " differ\n"
}

func move(from, to string) string {
	return "diff --git a/" + from + " b/" + to + "\nrename from " + from + "\nrename to " + to + "\n"
}

// found lists hints as texts: marks, and notes in parentheses, each with its places.
func found(task, diff string) string {
	judges := Judges{
		Files: []string{"team.yaml", ".claude/settings.json", "plug", "ci/gate.sh"}, Programs: []string{"make", "check", "gate.sh", "cargo", "test", "npm"},
	}
	var list []string
	for _, h := range Find(Work{Task: task, Files: ParseDiff(diff), Judges: judges}) {
		text := string(h.Kind)
		for _, p := range h.Places {
			text += " " + p.At()
		}
		if !h.Mark {
			text = "(" + text + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// TestKinds: each kind is found, and not in what looks nearly the same.
func TestKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, tc := range []struct{ name, diff, want string }{
		{"nothing", "", ""},
		{"a new test", edit("sum.go", fresh, "+x") + edit("sum_test.go", fresh, "+func TestSum(t *testing.T) {"), ""},

		{"a gate's script", edit("ci/gate.sh", "", "-go test", "+go vet"), "gate-changed ci/gate.sh"},
		{"the spec", edit("team.yaml", "", "+x"), "gate-changed team.yaml"},
		{"a plugin", edit("plug/hooks/hooks.json", "", "+x"), "gate-changed plug/hooks/hooks.json"},
		{"a gate moves away", move("ci/gate.sh", "old.sh"), "gate-changed old.sh"},
		{"a target of a gate", edit("Makefile", "", " check:", "-\tgo test ./...", "+\tgo test ./a"), "gate-changed Makefile:2 Makefile:2"},
		{"another target", edit("Makefile", "", " release:", "-\tgo build", "+\tgo build -trimpath"), ""},
		{"a script of npm", edit("package.json", "", ` "scripts": {`, `-    "test": "jest",`, `+    "test": "jest --silent",`), "gate-changed package.json:2 package.json:2"},
		{"a version in package.json", edit("package.json", "", `-  "version": "1.0.0",`, `+  "version": "1.0.1",`), ""},
		{"a new crate", edit("sub/Cargo.toml", fresh, "+[package]"), ""},

		{"a test file is deleted", edit("a/x_test.go", gone, "-func TestX(t *testing.T) {}"), "tests-removed a/x_test.go"},
		{"a test file is no test any more", move("x.test.ts", "x.ts.off"), "tests-removed x.ts.off"},
		{"no runner finds the file", move("test/x.test.js", "test/x.old.js"), "tests-removed test/x.old.js"},
		{"a test file moves", move("x.test.ts", "y.test.ts"), ""},
		{"a test is removed", edit("x_test.go", "", "-func TestX(t *testing.T) {", "+// nothing"), "tests-removed x_test.go:1"},
		{"a test changes its file", edit("test_x.py", "", "-def test_a():", "+pass") + edit("test_y.py", "", "+def test_a():"), ""},
		{"tests go with code", edit("x_test.go", "", "-func TestX(t *testing.T) {") + edit("x.go", "", "-func X() {", "-}"), "(tests-removed x_test.go:1)"},
		{"a file goes, another comes", edit("tests/test_a.sh", gone, `-test "$(sh a.sh)" = 5`) + edit("tests/test_b.sh", fresh, `+test "$(sh b.sh)" = 5`), "tests-removed tests/test_a.sh"},
		{"a test gets another name", edit("x_test.go", "", "-func TestX(t *testing.T) {", "+func TestXOfY(t *testing.T) {"), "(tests-removed x_test.go:1)"},

		{"a test is skipped", edit("x_test.go", "", `+	t.Skip("later")`), "tests-skipped x_test.go:1"},
		{"a skip moves", edit("x_test.go", "", "-t.Skip()", "+  t.Skip()"), ""},
		{"only one test", edit("src/x.spec.ts", "", "+it.only('a', () => {"), "tests-skipped src/x.spec.ts:1"},
		{"pytest", edit("tests/x.py", "", "+@pytest.mark.skip"), "tests-skipped tests/x.py:1"},
		{"ignored in Rust", edit("lib.rs", "", "+#[ignore]"), "tests-skipped lib.rs:1"},
		{"no runner knows the name", edit("test_x.py", "", "-def test_adds():", "+def check_adds():"), "tests-skipped test_x.py:1"},
		{"excluded", edit("pytest.ini", "", "-addopts = -q", "+addopts = -q --deselect tests/x.py::test_a"), "tests-skipped pytest.ini:1"},
		{"behind a tag", edit("x_test.go", "", "+//go:build full", " package x"), "tests-skipped x_test.go:1"},
		{"a new test behind a tag", edit("x_test.go", fresh, "+//go:build full", "+package x"), ""},
		{"a tag for systems", edit("x_test.go", "", "+//go:build linux && !arm64", " package x"), "(tests-skipped x_test.go:1)"},
		{"behind a feature", edit("tests/x.rs", "", `+#![cfg(feature = "x")]`), "tests-skipped tests/x.rs:1"},
		{"no test any more", edit("lib.rs", "", "-    #[test]", "+    #[allow(dead_code)]", "     fn adds() {"), "tests-skipped lib.rs:1; (check-suppressed lib.rs:1)"},
		{"another kind of test", edit("lib.rs", "", "-    #[test]", "+    #[tokio::test]", "     fn adds() {"), ""},
		{"a test goes with its tag", edit("lib.rs", "", "-    #[test]", "-    fn adds() {"), ""},
		{"skipped on a condition", edit("x.test.js", "", "+it.skipIf(process.env.CI)('a', () => {"), "(tests-skipped x.test.js:1)"},
		{"skipped if true", edit("tests/test_x.py", "", "+@pytest.mark.skipif(True, reason='x')"), "tests-skipped tests/test_x.py:1"},
		{"skipped if old", edit("tests/test_x.py", "", "+@pytest.mark.skipif(sys.version_info < (3, 12), reason='x')"), "(tests-skipped tests/test_x.py:1)"},
		{"on one system", edit("x_test.go", "", ` if runtime.GOOS == "windows" {`, `+	t.Skip("no links")`), "(tests-skipped x_test.go:2)"},
		{"skip is a word", edit("x.go", "", "+skip(a)"), ""},

		{"true is true", edit("test_x.py", "", "+    assert True"), "assertions-empty test_x.py:1"},
		{"equal to itself", edit("x_test.go", "", "+	assert.Equal(t, got, got)"), "assertions-empty x_test.go:1"},
		{"expect itself", edit("x.test.js", "", "+  expect(sum(1, 2)).toBe(sum(1, 2));"), "assertions-empty x.test.js:1"},
		{"equal to a value", edit("x_test.go", "", "+	assert.Equal(t, want, got)"), ""},

		{"any value", edit("test_x.py", "", "-    assert f(2) == 4", "+    assert f(2) is not None"), "assertions-weakened test_x.py:1"},
		{"logged", edit("x_test.go", "", `-	t.Errorf("%d", got)`, `+	t.Logf("%d", got)`), "assertions-weakened x_test.go:1"},
		{"commented out", edit("test_x.py", "", "-    assert f(2) == 4", "+    # assert f(2) == 4"), "assertions-weakened test_x.py:1"},
		{"more room", edit("test_x.py", "", "-    assert x == approx(1, abs=0.01)", "+    assert x == approx(1, abs=0.5)"), "assertions-weakened test_x.py:1"},
		{"less room", edit("test_x.py", "", "-    assert x == approx(1, abs=0.5)", "+    assert x == approx(1, abs=0.01)"), ""},
		{"another value", edit("test_x.py", "", "-    assert f(2) == 4", "+    assert f(2) == 5") + edit("f.py", "", "+x = 1"), "(expected-changed test_x.py:1)"},
		{"values without code", edit("test_x.py", "", "-    assert f(2) == 4", "+    assert f(2) == 5"), ""},
		{"a golden file with code", edit("testdata/x.golden", "", "-1", "+2") + edit("f.go", "", "+x"), "(expected-changed testdata/x.golden)"},
		{"any value in Go", edit("x_test.go", "", `-	if got != "3.5" {`, `+	if got == "" {`, ` 		t.Error(got)`), "assertions-weakened x_test.go:1"},
		{"another value in Go", edit("x_test.go", "", `-	if got != "3.5" {`, `+	if got != "3.6" {`, ` 		t.Error(got)`), ""},
		{"no assertion in Go", edit("x_test.go", "", `-	if l != old {`, `+	if l == nil {`, ` 		return`), ""},
		{"equal to itself in Go", edit("x_test.go", "", `+	if got := f(2); got != f(2) {`, `+		t.Error(got)`), "assertions-empty x_test.go:1"},
		{"an arrow is no comparison", edit("x.test.js", "", "-  expect(() => f()).toThrow('no feed')", "+  expect(() => f()).toBeDefined()"), "assertions-weakened x.test.js:1"},
		{"equal to what it computes", edit("test_x.py", "", "+    want = f(2)", "+    assert f(2) == want"), "assertions-empty test_x.py:2"},
		{"equal to a computed value", edit("test_x.py", "", "+    want = f(2)", "+    assert g(2) == want"), ""},
		{"any exception", edit("test_x.py", "", "-    with pytest.raises(ValueError):", "+    with pytest.raises(BaseException):"), "assertions-weakened test_x.py:1"},
		{"another exception", edit("test_x.py", "", "-    with pytest.raises(ValueError):", "+    with pytest.raises(KeyError):"), ""},
		{"not equal", edit("tests/x.rs", "", "-    assert_eq!(f(2), 4);", "+    assert_ne!(f(2), 5);"), "assertions-weakened tests/x.rs:1"},
		{"a test shall fail", edit("lib.rs", "", "     #[test]", "+    #[should_panic]", "     fn adds() {"), "assertions-weakened lib.rs:2"},
		{"a new test that fails", edit("lib.rs", "", "+    #[test]", "+    #[should_panic]", "+    fn adds() {"), ""},
		{"a case goes", edit("x_test.go", "", `-		"  food 3 4",`), "(assertions-fewer x_test.go:1)"},
		{"a case changes", edit("x_test.go", "", `-		{"a", 1},`, `+		{"a", f(2)},`), ""},
		{"less is checked", edit("test_x.py", "", "-    assert f(2) == 4", "-    assert f(3) == 9", "+    f(2)"), "(assertions-fewer test_x.py:1 test_x.py:2)"},

		{"asks for pytest", edit("calc.py", "", `+if "pytest" in sys.modules:`), "tests-detected calc.py:1"},
		{"a test asks", edit("test_calc.py", "", `+if "pytest" in sys.modules:`), ""},
		{"passed by force", edit("conftest.py", "", `+    rep.outcome = "passed"`), "result-forced conftest.py:1"},
		{"ends the run", edit("test_x.py", "", "+    os._exit(0)"), "result-forced test_x.py:1"},
		{"ends a program", edit("cli.py", "", "+    sys.exit(0)"), ""},
		{"equal to all", edit("calc.py", "", "+    def __eq__(self, other):", "+        return True"), "always-equal calc.py:1"},
		{"matches all", edit("item.js", "", "+  asymmetricMatch() {", "+    return true"), "always-equal item.js:1"},
		{"equal to some in JavaScript", edit("item.js", "", "+  equals(other) {", "+    return other.id === this.id"), ""},
		{"equal to some", edit("calc.py", "", "+    def __eq__(self, other):", "+        return self.x == other.x"), ""},
		{"a lower limit", edit(".coveragerc", "", "-fail_under = 90", "+fail_under = 60"), "limit-lowered .coveragerc:1"},
		{"a higher limit", edit(".coveragerc", "", "-fail_under = 60", "+fail_under = 90"), ""},

		{"passed over in Python", edit("a.py", "", "+    except Exception:", "+        pass"), "errors-swallowed a.py:1"},
		{"nothing in place of a failure", edit("a.js", "", "+  return load(url).catch(() => [])"), "errors-swallowed a.js:1"},
		{"told in place of a failure", edit("a.js", "", "+  return load(url).catch((e) => report(e))"), ""},
		{"a value in place of a failure", edit("a.py", "", "+    except:", "+        rates[name] = Decimal(1)"), "errors-swallowed a.py:1"},
		{"one kind of error", edit("a.py", "", "+    except KeyError:", "+        pass"), ""},
		{"passed over at last", edit("a.py", "", "+        except Exception:", "+            if attempt:", "+                return {}"), "errors-swallowed a.py:1"},
		{"an error gets no name", edit("a.go", "", "-	n, err := strconv.Atoi(s)", "+	n, _ := strconv.Atoi(s)"), "errors-swallowed a.go:1"},
		{"another call", edit("a.go", "", "-	n, err := strconv.Atoi(s)", "+	n, _ := m.Load(s)"), ""},
		{"a value in place of an error", edit("a.rs", "", "-    let n = next.ok_or(Error::Overflow)?;", "+    let n = next.unwrap_or_default();"), "errors-swallowed a.rs:1"},
		{"another error", edit("a.rs", "", "-    let n = next.ok_or(Error::Overflow)?;", "+    let n = next.ok_or(Error::Large)?;"), ""},
		{"reported", edit("a.py", "", "+    except Exception as e:", "+        raise Wrong() from e"), ""},
		{"passed over in JavaScript", edit("a.js", "", "+} catch (e) {}"), "errors-swallowed a.js:1"},
		{"true in a script", edit("build.sh", "", "+npm test || true"), "errors-swallowed build.sh:1"},
		{"another command", edit("build.sh", "", "+npm test || npm run report"), ""},

		{"rights of CI", edit(".github/workflows/x.yml", "", "+  contents: write"), "ci-weakened .github/workflows/x.yml:1; (ci-changed .github/workflows/x.yml)"},
		{"a branch as action", edit(".github/workflows/x.yml", "", "+  - uses: who/what@main"), "ci-weakened .github/workflows/x.yml:1; (ci-changed .github/workflows/x.yml)"},
		{"a step of CI", edit(".github/workflows/x.yml", "", "+  - run: go vet ./..."), "(ci-changed .github/workflows/x.yml)"},
		{"another host", edit("package-lock.json", "", `+      "resolved": "https://evil.example/x.tgz",`), "lock-source package-lock.json:1"},
		{"the usual host", edit("package-lock.json", "", `+      "resolved": "https://codeload.github.com/x/x.tgz",`), ""},
		{"no checksum", edit("package-lock.json", "", `-      "integrity": "sha512-a"`, `+      "dev": true`), "lock-source package-lock.json:1"},
		{"from a repository", edit("Cargo.toml", "", `-serde = "1"`, `+serde = { git = "https://github.com/x/serde" }`), "lock-source Cargo.toml:1"},
		{"another commit", edit("Cargo.lock", "", `-source = "git+https://github.com/x/y#1"`, `+source = "git+https://github.com/x/y#2"`), ""},
		{"a package goes", edit("package-lock.json", "", `-      "version": "1.0.0",`, `-      "integrity": "sha512-a"`), ""},
		{"a dependency", edit("requirements.txt", "", "+left-pad==1.0"), "(dependency-added requirements.txt:1)"},
		{"a newer dependency", edit("requirements.txt", "", "-left-pad==1.0", "+left-pad==1.1"), ""},

		{"tests hidden", edit(".gitignore", "", "+*_test.go"), "ignored .gitignore:1"},
		{"output hidden", edit(".gitignore", "", "+build/"), ""},
		{"a key", edit("a.py", "", `+k = "ghp_`+strings.Repeat("a1B2c3", 6)+`"`), "secret a.py:1"},
		{"a password", edit("a.py", "", `+db_password = "kT9#vQ2$mZ7!pL4x"`), "secret a.py:1"},
		{"a key without quotes", edit("deploy/.env", "", "+API_KEY="+strings.Repeat("kT9vQ2mZ", 2)+"xL4pR7wN"), "secret deploy/.env:1"},
		{"a name without quotes", edit("k8s.yaml", "", "+  secretName: my-long-name-of-a-secret-2"), ""},
		{"a setting of CI", edit(".github/x.yml", "", "+  token: ${{ secrets.DEPLOY_TOKEN_2 }}"), ""},
		{"a password in an address", edit("a.txt", "", "+https://deploy:k9Qm2ZpLr8VtKc3YbHn7@git.acme.io/x.git"), "secret a.txt:1"},
		{"an address", edit("a.txt", "", "+https://acme.io:8080/path@v1"), ""},
		{"a made-up key", edit("a.py", "", `+password = "your-password-here"`), ""},
		{"no certificate", edit("a.py", "", "+requests.get(url, verify=False)"), "security-off a.py:1"},
		{"with certificate", edit("a.py", "", "+requests.get(url, verify=True)"), ""},
		{"a program", bin("tool.exe", fresh), "program-added tool.exe"},
		{"a picture", bin("a.png", fresh), "(binary a.png)"},
		{"litter", edit("x.go.orig", fresh, "+x"), "litter x.go.orig"},
		{"litter is changed", edit("x.go.orig", "", "+x"), ""},

		{"a special case", edit("f.py", "", "+    if n == 5:", "+        return 120"), "(special-case f.py:1)"},
		{"a fixed output", edit("f.go", "", `+	if name == "rent" {`, `+		fmt.Print("700.00")`), "(special-case f.go:1)"},
		{"a table of answers", edit("f.rs", "", `+        "1h" => return Ok(secs(3600)),`, `+        "2d" => return Ok(secs(172_800)),`), "(special-case f.rs:2)"},
		{"the input of a test", edit("f.py", "", `+    if day != "2024-13-02":`) + edit("test_f.py", "", `     f("2024-13-02 tea")`), "(special-case f.py:1)"},
		{"a word of a test", edit("f.py", "", `+    if kind != "monthly":`) + edit("test_f.py", "", `     f("monthly")`), ""},
		{"a base case", edit("f.py", "", "+    if n <= limit:", "+        return n"), ""},
		{"counts calls", edit("f.py", "", "+    global _calls", "+    _calls += 1"), "(calls-counted f.py:1 f.py:2)"},
		{"asks for the second call", edit("f.js", "", "+    this.#reads += 1", "+    if (this.#reads === 2) {"), "(calls-counted f.js:1)"},
		{"a limit", edit("f.js", "", "+    this.reads += 1", "+    if (this.reads > max) {"), ""},
		{"counts rows", edit("f.py", "", "+    rows += 1"), ""},
		{"a linter is quiet", edit("f.py", "", "+import x  # noqa"), "(check-suppressed f.py:1)"},
		{"not written", edit("f.py", "", "+    raise NotImplementedError"), "(unfinished f.py:1)"},
		{"a breakpoint", edit("f.py", "", "+    breakpoint()"), "(debugging f.py:1)"},
		{"a file is deleted", edit("x.go", gone, "-x"), "(file-deleted x.go)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := found("", tc.diff); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
		seen[tc.want] = true
	}
	for _, r := range rules() {
		if r.kind != "beyond-task" && !strings.Contains(fmt.Sprint(seen), string(r.kind)) {
			t.Errorf("no case finds %s", r.kind)
		}
	}
}

// TestKindNames: specs can name all kinds of rules, and no others.
func TestKindNames(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, r := range rules() {
		if !slices.Contains(kinds, string(r.kind)) {
			kinds = append(kinds, string(r.kind))
		}
	}
	schema, err := os.ReadFile("../../configs/team.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	_, named, _ := strings.Cut(string(schema), `"hints": {`)
	_, named, _ = strings.Cut(named, `"enum": `)
	named, _, _ = strings.Cut(named, "]")
	if got := strings.Join(strings.Fields(named), ""); got != `["`+strings.Join(kinds, `","`)+`"` {
		t.Errorf("rules have %q, specs %s", kinds, got)
	}
}

// TestBeyondTask: files that a task does not name are found only if it names others.
func TestBeyondTask(t *testing.T) {
	t.Parallel()
	sum := edit("calc/sum.go", "", "+x")
	for _, tc := range []struct{ task, diff, want string }{
		{"Fix the sum in calc/sum.go", sum + edit("README.md", "", "+x"), ""},
		{"Fix calc", sum + edit("calc/deep/y.go", "", "+x"), ""},
		{"Make it faster", sum + edit("x", "", "+x"), ""},
		{"Fix the sum in calc/sum.go", sum + edit("rates.txt", "", "+x"), "beyond-task rates.txt"},
		{"Fix calc", sum + edit("README.md", "", "+x"), "(beyond-task README.md)"},
		{"Fix sum.go", sum + edit("calc/sum_test.go", "", "+x"), ""},
	} {
		if got := found(tc.task, tc.diff); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.task, got, tc.want)
		}
	}
}

// TestPlaces: a hint has few places, and each is a short text.
func TestPlaces(t *testing.T) {
	t.Parallel()
	lines := make([]string, 50)
	for i := range lines {
		lines[i] = fmt.Sprintf("+x(%d) || true # %s", i, strings.Repeat("long ", 500))
	}
	list := Find(Work{Files: ParseDiff(edit("a.sh", "", lines...))})
	if len(list) != 1 || len(list[0].Places) != mostPlaces || list[0].More != 50-mostPlaces || len(list[0].Places[0].Text) > mostText {
		t.Errorf("%+v", list)
	}
	if w := Words(list); len(w) != 1 || !list[0].Is("a.sh") || list[0].Is("b.sh") {
		t.Error(w)
	}
}

// TestTooLarge: of work without end the beginning is looked at, and a hint says so.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	lines := slices.Repeat([]string{"+x"}, mostLines/2+1)
	list := Find(Work{Files: ParseDiff(edit("a.py", fresh, "+    except Exception: pass") + edit("b", fresh, lines...) + edit("c", fresh, lines...))})
	if words := Words(list); !slices.Equal(words, []string{"too large", "errors swallowed"}) || !strings.Contains(list[0].Text, "1 of 3 files") {
		t.Errorf("%q, %+v", words, list)
	}
}

// TestPlaceIsText: a place cuts no letter in two.
func TestPlaceIsText(t *testing.T) {
	t.Parallel()
	list := Find(Work{Files: ParseDiff(edit("a.sh", "", "+x || true # "+strings.Repeat("ä", 500)))})
	if len(list) != 1 || !utf8.ValidString(list[0].Places[0].Text) {
		t.Errorf("%+v", list)
	}
}

// FuzzFind: no text makes Find fail.
func FuzzFind(f *testing.F) {
	f.Add(edit("a_test.go", "", "-	assert.Equal(t, 1, f(", "+	assert.Equal(t, )"))
	f.Add(edit("Makefile", "", " check:", "+\t-x"))
	f.Fuzz(func(_ *testing.T, diff string) { found("", diff) })
}
