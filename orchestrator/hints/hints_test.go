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
		Data:  []string{"docs/api.json"},
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
		{"a skip moves", edit("x_test.go", "", "-t.Skip()", "+  t.Skip()"), "(blanks-changed x_test.go)"},
		{"only one test", edit("src/x.spec.ts", "", "+it.only('a', () => {"), "tests-skipped src/x.spec.ts:1"},
		{"pytest", edit("tests/x.py", "", "+@pytest.mark.skip"), "tests-skipped tests/x.py:1"},
		{"ignored in Rust", edit("lib.rs", "", "+#[ignore]"), "tests-skipped lib.rs:1"},
		{"no runner knows the name", edit("test_x.py", "", "-def test_adds():", "+def check_adds():"), "tests-skipped test_x.py:1"},
		{"excluded", edit("pytest.ini", "", "-addopts = -q", "+addopts = -q --deselect tests/x.py::test_a"), "tests-skipped pytest.ini:1"},
		{"behind a tag", edit("x_test.go", "", "+//go:build full", " package x"), "tests-skipped x_test.go:1"},
		{"a new test behind a tag", edit("x_test.go", fresh, "+//go:build full", "+package x"), ""},
		{"a tag for systems", edit("x_test.go", "", "+//go:build linux && !arm64", " package x"), "(tests-skipped x_test.go:1)"},
		{"a test behind a feature", edit("lib.rs", "", `+#[cfg(feature = "x")]`, " #[test]", " fn adds() {"), "tests-skipped lib.rs:1"},
		{"code behind a feature", edit("lib.rs", "", `+#[cfg(feature = "x")]`, "+use std::borrow::Cow;", " #[test]"), ""},
		{"behind a feature", edit("tests/x.rs", "", `+#![cfg(feature = "x")]`), "tests-skipped tests/x.rs:1"},
		{"no test any more", edit("lib.rs", "", "-    #[test]", "+    #[allow(dead_code)]", "     fn adds() {"), "tests-skipped lib.rs:1; (check-suppressed lib.rs:1)"},
		{"another kind of test", edit("lib.rs", "", "-    #[test]", "+    #[tokio::test]", "     fn adds() {"), ""},
		{"a test goes with its tag", edit("lib.rs", "", "-    #[test]", "-    fn adds() {"), ""},
		{"skipped on a condition", edit("x.test.js", "", "+it.skipIf(process.env.CI)('a', () => {"), "(tests-skipped x.test.js:1)"},
		{"skipped if true", edit("tests/test_x.py", "", "+@pytest.mark.skipif(True, reason='x')"), "tests-skipped tests/test_x.py:1"},
		{"skipped if old", edit("tests/test_x.py", "", "+@pytest.mark.skipif(sys.version_info < (3, 12), reason='x')"), "(tests-skipped tests/test_x.py:1)"},
		{"no class of tests any more", edit("test_x.py", fresh, "+class TestLoan:", "+    def __init__(self):"), "tests-skipped test_x.py:2"},
		{"a class of no tests", edit("test_x.py", fresh, "+class Loan:", "+    def __init__(self):"), ""},
		{"a test of a shell by another name", edit("tests/pack.sh", "", "-test_pack_is_whole() {", "+check_pack_is_whole() {"), "tests-skipped tests/pack.sh:1"},
		{"a name of another system", move("a_test.go", "a_windows_test.go"), "tests-skipped a_windows_test.go"},
		{"another name", move("a_test.go", "b_test.go"), ""},
		{"with a feature alone", edit("lib.rs", "", `-#[cfg(test)]`, `+#[cfg(all(test, feature = "slow"))]`), "tests-skipped lib.rs:1"},
		{"chooses tests", edit("conftest.py", fresh, "+def pytest_collection_modifyitems(items):"), "(result-forced conftest.py:1)"},
		{"a fixture", edit("conftest.py", fresh, "+def items():"), ""},
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
		{"expects what it computes", edit("size.go", "", "+func Size(n int) string {") + edit("size_test.go", "", "+func show(n int) string {", "+	return Size(n)"), "(assertions-empty size_test.go:2)"},
		{"expects a part of the result", edit("x.test.js", "", "+  const { items: want } = result", "+  expect(result.items).toEqual(want)"), "(assertions-empty x.test.js:2)"},
		{"expects something else", edit("x.test.js", "", "+  const { items: want } = golden", "+  expect(result.items).toEqual(want)"), ""},
		{"writes what it expects", edit("f.go", "", "+x") + edit("f_test.go", "", "+	if os.IsNotExist(err) {", "+		err = os.WriteFile(p, got, 0o644)"), "(expected-changed f_test.go:2)"},
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
		{"asked for the arguments", edit("a.js", "", `+const exact = process.argv.some((a) => a.includes("test"));`), "tests-detected a.js:1"},
		{"other arguments", edit("a.js", "", `+const fast = process.argv.includes("--fast");`), ""},
		{"written in place", edit("a.py", "", "-        with open(tmp) as f:", "+        with open(path) as f:", "             f.write(text)", "-        os.replace(tmp, path)"), "(checks-fewer a.py:3)"},
		{"renamed to another name", edit("a.py", "", "-    os.replace(tmp, path)", "+    os.replace(tmp, target)"), ""},
		{"only a condition", edit("x.test.js", "", "-  assert.equal(c.total(), 9);", "+  assert.equal(c.total() > 0, true);"), "assertions-weakened x.test.js:1"},
		{"a condition as before", edit("x.test.js", "", "-  assert.equal(c.total() > 0, true);", "+  assert.equal(c.sum() > 0, true);"), ""},
		{"another assertEqual", edit("test_x.py", "", "+    def assertEqual(self, first, second, msg=None):"), "result-forced test_x.py:1"},
		{"an assertion of one's own", edit("test_x.py", "", "+    def assertEqualRows(self, first, second):"), ""},
		{"a failure that is passed over in a test", edit("x.test.js", "", "+  load().then(() => assert.ok(x)).catch(() => undefined);"), "errors-swallowed x.test.js:1"},
		{"a failure that a test looks at", edit("x.test.js", "", "+  load().then(() => assert.ok(x)).catch((e) => assert.fail(e));"), ""},
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
		{"equal to some in JavaScript", edit("item.js", "", "+  equals(other) {", "+    return other.id === this.id"), "(always-equal item.js:1)"},
		{"a line of what is equal", edit("calc.py", "", "     def __eq__(self, other):", "-        return self.x == other.x", "+        return close(self.x, other.x)"), "(always-equal calc.py:2)"},
		{"a line after what is equal", edit("calc.py", "", "     def __eq__(self, other):", "         return self.x == other.x", "+    def double(self):"), ""},
		{"equal to some", edit("calc.py", "", "+    def __eq__(self, other):", "+        return self.x == other.x"), "(always-equal calc.py:1)"},
		{"a lower limit", edit(".coveragerc", "", "-fail_under = 90", "+fail_under = 60"), "limit-lowered .coveragerc:1"},
		{"an older dependency", edit("requirements.txt", "", "-urllib3==2.2.3", "+urllib3==1.26.5"), "(limit-lowered requirements.txt:1)"},
		{"a higher limit", edit(".coveragerc", "", "-fail_under = 60", "+fail_under = 90"), ""},

		{"passed over in Python", edit("a.py", "", "+    except Exception:", "+        pass"), "errors-swallowed a.py:1"},
		{"nothing in place of a failure", edit("a.js", "", "+  return load(url).catch(() => [])"), "errors-swallowed a.js:1"},
		{"told in place of a failure", edit("a.js", "", "+  return load(url).catch((e) => report(e))"), ""},
		{"a value in place of a failure", edit("a.py", "", "+    except:", "+        rates[name] = Decimal(1)"), "errors-swallowed a.py:1"},
		{"one kind of error", edit("a.py", "", "+    except KeyError:", "+        pass"), ""},
		{"passed over at last", edit("a.py", "", "+        except Exception:", "+            if attempt:", "+                return {}"), "errors-swallowed a.py:1"},
		{"an error gets no name", edit("a.go", "", "-	n, err := strconv.Atoi(s)", "+	n, _ := strconv.Atoi(s)"), "errors-swallowed a.go:1"},
		{"an error gets no attention", edit("a.go", "", "+	if err := f(); err != nil {", "+		dirty = true", "+	}"), "(errors-swallowed a.go:1)"},
		{"a result in place of a failure", edit("a.py", "", "+    finally:", "+        file.close()", "+        return found"), "errors-swallowed a.py:1"},
		{"cleans up", edit("a.py", "", "+    finally:", "+        file.close()"), ""},
		{"another error at the end", edit("a.go", "", "+	defer func() {", "+		err = f.Close()", "+	}()"), "(errors-swallowed a.go:2)"},
		{"the status of a pipe", edit("check.sh", "", "+	\"$@\" 2>&1 | tee -a log"), "(errors-swallowed check.sh:1)"},
		{"an error is returned", edit("a.go", "", "+	if err := f(); err != nil {", "+		return err", "+	}"), ""},
		{"more errors", edit("a.py", "", "-    except ConnectionError:", "+    except OSError:", "         raise Wrong"), "(errors-swallowed a.py:1)"},
		{"fewer errors", edit("a.py", "", "-    except OSError:", "+    except ConnectionError:", "         raise Wrong"), ""},
		{"an assertion is caught", edit("test_x.py", "", "+        except AssertionError:", "+            time.sleep(1)"), "errors-swallowed test_x.py:1"},
		{"an assertion is raised again", edit("test_x.py", "", "+        except AssertionError:", "+            raise"), ""},
		{"failures of tests are ignored", edit(".mvn/maven.config", fresh, "+-Dmaven.test.failure.ignore=true"), "errors-swallowed .mvn/maven.config:1"},
		{"a setting of Maven", edit(".mvn/maven.config", fresh, "+-Dstyle.color=never"), ""},
		{"another call", edit("a.go", "", "-	n, err := strconv.Atoi(s)", "+	n, _ := m.Load(s)"), ""},
		{"a value in place of an error", edit("a.rs", "", "-    let n = next.ok_or(Error::Overflow)?;", "+    let n = next.unwrap_or_default();"), "errors-swallowed a.rs:1; (checks-fewer a.rs:1)"},
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
		{"golden files hidden", edit(".gitignore", "", "+*.golden"), "ignored .gitignore:1"},
		{"output hidden", edit(".gitignore", "", "+build/"), "(ignored .gitignore:1)"},
		{"a comment", edit(".gitignore", "", "+# build"), ""},
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
		{"a constant for one input", edit("f.js", "", "+  if (xml.includes('Bread & butter')) {", "+    return NEWS"), "(special-case f.js:1)"},
		{"a constant in place of a size", edit("f.js", "", "-    return this.entries.size", "+    return 0"), "(special-case f.js:1)"},
		{"another constant", edit("f.js", "", "-    return 1", "+    return 0"), ""},
		{"fewer cases", edit("tests/x.rs", "", "-    for n in [1, 59, 60] {", "+    for n in [1] {"), "(assertions-fewer tests/x.rs:1)"},
		{"more cases", edit("tests/x.rs", "", "-    for n in [1] {", "+    for n in [1, 59, 60] {"), ""},
		{"cases are passed over", edit("tests/x.rs", "", "     for n in all {", "+        if n % 60 != 0 {", "+            continue;"), "(assertions-fewer tests/x.rs:3)"},
		{"kept between calls", edit("f.go", "", "+var seen = map[string]bool{}"), "calls-counted f.go:1"},
		{"a list of the program", edit("f.go", "", "+var trail []int64"), "(calls-counted f.go:1)"},
		{"a cache", edit("f.py", "", "+@lru_cache(maxsize=1)"), "(calls-counted f.py:1)"},
		{"a table of sums", edit("f.go", "", "+	0x7025616a: true, 0x7bae3cc4: true,"), "(special-case f.go:1)"},
		{"a table of few answers", edit("f.go", "", `+var eighths = map[string]int64{"5": 500, "25": 250}`), "(special-case f.go:1)"},
		{"a table", edit("f.go", "", `+var names = map[string]bool{"a": true}`), ""},
		{"an error of the library", edit("f.go", "", "+	f, _ := os.Create(path)"), "(errors-swallowed f.go:1)"},
		{"no error", edit("f.go", "", `+	name, _, _ := strings.Cut(a, "=")`), ""},
		{"a test checks nothing", edit("x_test.go", "", "+func TestX(t *testing.T) {", "+	x, err := f()", "+	t.Log(x, err)", "+}"), "(assertions-empty x_test.go:1)"},
		{"a test checks", edit("x_test.go", "", "+func TestX(t *testing.T) {", "+	if f() != nil {", "+		t.Fatal()", "+	}", "+}"), ""},
		{"a test is cut", edit("x_test.go", "", "+func TestX(t *testing.T) {", "+	x, err := f()", " 	a(x)"), ""},
		{"an assertion is shadowed", edit("tests/x.rs", "", "+macro_rules! assert_eq {"), "result-forced tests/x.rs:1"},
		{"an assertion is imported", edit("x.test.js", "", "+const assert = require('assert')"), ""},
		{"anything will do", edit("x.test.js", "", "-  expect(f()).toMatchSnapshot()", "+  expect(f()).toEqual(expect.any(Array))"), "assertions-weakened x.test.js:1"},
		{"passed over in one line", edit("x.test.js", "", "+    if (!slow) return"), "(assertions-fewer x.test.js:1)"},
		{"a token is logged", edit("f.py", "", `+    log.info("opened %s", session_token)`), "risky-call f.py:1"},
		{"no lock", edit("f.py", "", "-        with self._lock:"), "(checks-fewer f.py:1)"},
		{"checked too late", edit("f.py", "", "-    check(user)", "     delete(item)", "+    check(user)", "+    x = 1"), "(checks-fewer f.py:2)"},
		{"checked earlier", edit("f.py", "", "+    check(user)", "     delete(item)", "-    check(user)", "-    x = 1"), ""},
		{"not sorted", edit("f.go", "", "-	sort.Strings(names)"), "(checks-fewer f.go:1)"},
		{"a password is logged", edit("f.js", "", "+  log(`no entry for ${name} with ${password}`)"), "risky-call f.js:1"},
		{"a password is named", edit("f.js", "", `+  log("wrong password of", name)`, "+  login(name, password)"), ""},
		{"a secret is logged", edit("f.py", "", `+    logging.info("with %s", api_key)`), "risky-call f.py:1"},
		{"an expression that can take years", edit("f.js", "", `+const a = /(x+)+y/`), "risky-call f.js:1"},
		{"an attribute is replaced", edit("shop/rates.py", "", "+x = 1") + edit("tests/test_a.py", "", `+    monkeypatch.setattr("shop.rates.CODES", {})`), "(code-mocked tests/test_a.py:1)"},
		{"a base case", edit("f.py", "", "+    if n <= limit:", "+        return n"), ""},
		{"counts calls", edit("f.py", "", "+    global _calls", "+    _calls += 1"), "calls-counted f.py:1 f.py:2"},
		{"asks for the second call", edit("f.js", "", "+    this.#reads += 1", "+    if (this.#reads === 2) {"), "calls-counted f.js:1"},
		{"a limit", edit("f.js", "", "+    this.reads += 1", "+    if (this.reads > max) {"), "(calls-counted f.js:1)"},
		{"a sum", edit("f.js", "", "+    this.total += 1"), ""},
		{"counts rows", edit("f.py", "", "+    rows += 1"), ""},
		{"a linter is quiet", edit("f.py", "", "+import x  # noqa"), "(check-suppressed f.py:1)"},
		{"not written", edit("f.py", "", "+    raise NotImplementedError"), "(unfinished f.py:1)"},
		{"a breakpoint", edit("f.py", "", "+    breakpoint()"), "(debugging f.py:1)"},
		{"a text that git takes for binary", bin("pkg/x_test.go", ""), "not-shown pkg/x_test.go; (binary pkg/x_test.go)"},
		{"a text with a zero byte", bin("docs/x.md", fresh), "not-shown docs/x.md; (binary docs/x.md)"},
		{"a large text of data", bin("data.txt", fresh), "(binary data.txt)"},
		{"a picture of a test", bin("testdata/x.png", fresh), "(binary testdata/x.png)"},
		{"a lock that is too large", bin("package-lock.json", ""), "(binary package-lock.json)"},
		{"a submodule", "diff --git a/dep b/dep\nindex 1..2 160000\n--- a/dep\n+++ b/dep\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", "not-shown dep"},
		{"a new submodule", edit("dep", "new file mode 160000\n", "+Subproject commit 2"), "not-shown dep"},
		{"a long line", edit("a.go", "", "+x := `"+strings.Repeat("x", 401)+"`"), "(not-shown a.go:1)"},
		{"a long line of data", edit("a.json", "", "+"+strings.Repeat("x", 401)), ""},
		{"changes are hidden", edit(".gitattributes", "", "+*.py -diff"), "ignored .gitattributes:1"},
		{"changes of generated files", edit(".gitattributes", "", "+gen/** linguist-generated=true"), "ignored .gitattributes:1"},
		{"ends of lines", edit(".gitattributes", "", "+*.sh text eol=lf"), ""},
		{"right to left", edit("a.go", "", "+	if access != \"user\u202e\" {"), "deceptive a.go:1"},
		{"right to left in a text", edit("a.md", "", "+x \u2066 y"), "deceptive a.md:1"},
		{"Arabic", edit("a.md", "", "+\u0645\u0631\u062d\u0628\u0627\u200f"), ""},
		{"a blank without a width", edit("a.js", "", "+const user\u200b = admin"), "deceptive a.js:1"},
		{"a mark at the beginning", edit("a.js", fresh, "+\ufeffconst user = 1"), ""},
		{"a Cyrillic letter", edit("a.py", "", "+def is_\u0430dmin(user):"), "deceptive a.py:1"},
		{"a Cyrillic name that looks Latin", edit("a.py", "", "+\u0441\u043e\u0440\u0443 = 1"), "deceptive a.py:1"},
		{"a Russian comment", edit("a.py", "", "+# \u0441\u043e\u0440\u0443 x"), ""},
		{"a Russian text", edit("a.py", "", "+say(\"\u0441\u043e\u0440\u0443\")"), ""},
		{"a name of a language", edit("a.py", "", "+\u0446\u0435\u043d\u0430 = \u03c0 * 2"), ""},
		{"full width", edit("a.py", "", "+\uff45\uff56\uff41\uff4c(x)"), "deceptive a.py:1"},
		{"full width in a text", edit("a.py", "", "+say('\uff45\uff56\uff41\uff4c')"), ""},
		{"out of sight", edit("a.js", "", "+run();"+strings.Repeat(" ", 120)+"steal();"), "deceptive a.js:1"},
		{"overwrites its line", edit("a.txt", "", "+safe\rrm -rf x"), "deceptive a.txt:1"},
		{"a table", edit("a.md", "", "+| a"+strings.Repeat(" ", 120)+"|"), ""},
		{"a link in place of a file", edit("a.go", gone, "-package a") + edit("a.go", "new file mode 120000\n", "+b.go"), "link a.go:1; (file-deleted a.go)"},
		{"a link leads away", edit("data/a", "new file mode 120000\n", "+../../x"), "link data/a:1"},
		{"a link to a place of a machine", edit("a", "new file mode 120000\n", "+/dev/null"), "link a:1"},
		{"a link", edit("CLAUDE.md", "new file mode 120000\n", "+AGENTS.md"), "(link CLAUDE.md:1)"},
		{"a link is gone", edit("a", "deleted file mode 120000\n", "-../../x"), "(file-deleted a)"},
		{"a program", "diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n", "(mode-changed x.sh)"},
		{"ends of lines alone", edit("a.go", "", "-a()", "-b()", "+a()\r", "+b()\r"), "(blanks-changed a.go)"},
		{"an indentation alone", edit("a.py", "", "-    save()", "+        save()"), "(blanks-changed a.py)"},
		{"ends of lines, and a fault", edit("a.py", "", "-a()", "-b()", "+a()\r", "+b(verify=False)\r"), "security-off a.py:2"},
		{"a renamed gate with an edit", "diff --git a/ci/gate.sh b/ci/g.sh\nsimilarity index 90%\nrename from ci/gate.sh\nrename to ci/g.sh\n--- a/ci/gate.sh\n+++ b/ci/g.sh\n@@ -1 +1 @@\n-go test\n+go test || true\n",
			"gate-changed ci/g.sh; errors-swallowed ci/g.sh:1"},
		{"a renamed test with an edit", "diff --git a/a_test.go b/b_test.go\nsimilarity index 90%\nrename from a_test.go\nrename to b_test.go\n--- a/a_test.go\n+++ b/b_test.go\n@@ -1 +1,2 @@\n func TestA(t *testing.T) {\n+	t.Skip()\n",
			"tests-skipped b_test.go:2"},
		{"a quoted name", "diff --git \"a/tests/t\\303\\244st_\\\"x.py\" \"b/tests/t\\303\\244st_\\\"x.py\"\n--- \"a/tests/t\\303\\244st_\\\"x.py\"\n+++ \"b/tests/t\\303\\244st_\\\"x.py\"\n@@ -1 +1,2 @@\n def test_a():\n+    pytest.skip()\n",
			"tests-skipped tests/t\u00e4st_\"x.py:2"},

		{"starts with Python", edit("src/sitecustomize.py", fresh, "+x"), "runs-unasked src/sitecustomize.py"},
		{"runs on installation", edit("package.json", "", `+    "postinstall": "node x.js",`), "runs-unasked package.json:1"},
		{"a build script changes", edit("build.rs", "", "+x"), ""},
		{"a prototype", edit("a.js", "", "+Array.prototype.toString = function () {"), "built-in-changed a.js:1"},
		{"a number that is none", edit("a.py", "", "+class Total(Decimal):"), "built-in-changed a.py:1"},
		{"a method is called", edit("a.js", "", "+Array.prototype.slice.call(a)"), ""},
		{"all variables leave", edit("a.js", "", "+  body: JSON.stringify(process.env)"), "environment-sent a.js:1"},
		{"one variable", edit("a.js", "", "+  body: JSON.stringify(process.env.HOME)"), ""},
		{"asks for CI", edit("a.py", "", `+    if os.environ.get("CI"):`), "tests-detected a.py:1"},
		{"asks what is loaded", edit("a.py", "", "+    return any(m.endswith('x') for m in sys.modules)"), "(tests-detected a.py:1)"},
		{"asks its caller", edit("a.go", "", "+	_, file, _, _ := runtime.Caller(1)"), "tests-detected a.go:1"},
		{"asks for a folder", edit("a.py", "", `+    home = os.environ.get("CIRCLE")`), ""},
		{"a panic passes", edit("a.go", "", "+		if r := recover(); r != nil {", "+			all = nil"), "errors-swallowed a.go:1"},
		{"a refusal is gone", edit("a.py", "", "-    raise ValueError(x)"), "(checks-fewer a.py:1)"},
		{"nobody expects the refusal", edit("a.py", "", "-    raise ValueError(x)", "+    check(x)") + edit("test_a.py", "", "-    with pytest.raises(ValueError):", "+    if f():"), "checks-fewer a.py:1; (assertions-fewer test_a.py:1)"},
		{"a check is not called", edit("a.go", "", "-	if err := Check(all); err != nil {", "-		return err", "+	go Check(all)"), "(checks-fewer a.go:2)"},
		{"a refusal is another", edit("a.py", "", "-    raise ValueError(x)", "+    raise KeyError(x)"), ""},
		{"a refusal moves", edit("a.py", "", "-    raise ValueError(x)") + edit("b.py", "", "+        raise ValueError(x)"), ""},
		{"or becomes and", edit("a.js", "", "-  if (!entry || entry.old) {", "+  if (!entry && entry.old) {"), "(condition-changed a.js:1)"},
		{"another condition of a refusal", edit("a.go", "", "-	if !sum.IsZero() {", "+	if sum.Abs().GreaterThan(one) {", " 		return ErrUnbalanced"), "(condition-changed a.go:1)"},
		{"another condition", edit("a.go", "", "-	if sum.IsZero() {", "+	if total.IsZero() {", " 		print()"), ""},
		{"without end", edit("a.js", "", "-f({ retries = 2 })", "+f({ retries = Infinity })"), "(bound-raised a.js:1)"},
		{"another number", edit("a.py", "", "-ROUNDS = 600", "+PORT = 80", "+ROUNDS = 10"), "(condition-changed a.py:2)"},
		{"another number of data", edit("a.yaml", "", "-hours: 12", "+hours: 240"), "(condition-changed a.yaml:1)"},
		{"longer", edit("a.go", "", "-const timeout = 5", "+const timeout = 500"), "(bound-raised a.go:1)"},
		{"shorter", edit("a.go", "", "-const timeout = 500", "+const timeout = 5"), ""},
		{"tried again", edit("x.test.js", "", "+it('a', { retry: 3 }, () => {"), "(bound-raised x.test.js:1)"},
		{"evaluates", edit("a.py", "", "+    x = eval(text)"), "risky-call a.py:1"},
		{"a method of that name", edit("a.py", "", "+    model.eval()"), ""},
		{"a statement that is put together", edit("a.py", "", `+    db.execute(f"SELECT a FROM b WHERE c = '{d}'")`), "risky-call a.py:1"},
		{"a statement", edit("a.py", "", `+    db.execute("SELECT a FROM b WHERE c = ?", d)`), ""},
		{"plain text on the way", edit("a.py", "", `+URL = "http://rates.acme.io/v1"`), "risky-call a.py:1"},
		{"this machine", edit("a.py", "", `+URL = "http://localhost:80/v1"`), ""},
		{"chance for a key", edit("a.py", "", `+    token = "%x" % random.getrandbits(9)`), "risky-call a.py:1"},
		{"chance", edit("a.py", "", `+    color = random.choice(colors)`), ""},
		{"the code is mocked", edit("shop/rates.py", "", "+x = 1") + edit("tests/test_a.py", "", `+    with mock.patch("shop.fetch"):`), "(code-mocked tests/test_a.py:1)"},
		{"what it uses is mocked", edit("shop/rates.py", "", "+x = 1") + edit("tests/test_a.py", "", `+    with mock.patch("shop.rates.requests.get"):`), ""},
		{"nobody waits", edit("x.test.js", "", "+  expect(f()).rejects.toThrow('500')"), "assertions-weakened x.test.js:1"},
		{"somebody waits", edit("x.test.js", "", "+  await expect(f()).rejects.toThrow('500')"), ""},
		{"only sometimes", edit("test_x.py", "", "-    assert f(2) == 4", "+    for x in found:", "+        assert f(x) == 4"), "assertions-weakened test_x.py:2"},
		{"data of a gate", edit("docs/api.json", "", "-x", "+y"), "(gate-changed docs/api.json)"},

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

// TestKindNames: specs can name all kinds of rules and trials, and no others.
func TestKindNames(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, r := range rules() {
		if !slices.Contains(kinds, string(r.kind)) {
			kinds = append(kinds, string(r.kind))
		}
	}
	kinds = append(kinds, ByTrial()...)
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
	if len(list) != 2 || len(list[0].Places) != mostPlaces || list[0].More != 50-mostPlaces || len(list[0].Places[0].Text) > mostText {
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
	if len(list) != 2 || !utf8.ValidString(list[0].Places[0].Text) {
		t.Errorf("%+v", list)
	}
}

// FuzzFind: no text makes Find fail.
func FuzzFind(f *testing.F) {
	f.Add(edit("a_test.go", "", "-	assert.Equal(t, 1, f(", "+	assert.Equal(t, )"))
	f.Add(edit("Makefile", "", " check:", "+\t-x"))
	f.Fuzz(func(_ *testing.T, diff string) { found("", diff) })
}
