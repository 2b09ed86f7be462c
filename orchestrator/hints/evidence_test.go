package hints

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEvidence: what tests do not notice is a hint, with the place. A part that they notice is none, nor is what nobody tests.
func TestEvidence(t *testing.T) {
	t.Parallel()
	const code = `diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,6 +1,7 @@
 def total(rows):
-    return sum(rows)
+    paid = [r for r in rows if r > 10]
+    return sum(paid)
 
 def other():
-    return 3
+    return 4
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+def f():
+    log("x")
`
	const changed = `diff --git a/test_calc.py b/test_calc.py
--- a/test_calc.py
+++ b/test_calc.py
@@ -1,2 +1,2 @@
 def test_total():
-    assert total([1]) == 1
+    assert total([11]) == 11
`
	const docs = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# a\n+# b\n"
	for name, tc := range map[string]struct {
		diff   string
		passes string // what the tests agree to
		want   string
	}{
		"all is tested":      {code, "", ""},
		"nothing is tested":  {code, "nothing but the tests", "untested calc.py:0 new.py:0"},
		"idle tests":         {changed + code, "the tests as they were, nothing but the tests", "tests-idle! test_calc.py:0 calc.py:0 new.py:0"},
		"older tests":        {changed + code, "", "tests-before test_calc.py:0"},
		"tests that fail":    {changed + code, "FAILS", "tests-fail! test_calc.py:0 calc.py:0 new.py:0"},
		"no time":            {changed + code, "LATE", "not-tried"},
		"a file":             {code, "without new.py", "untested new.py:1"},
		"a group":            {code, "without calc.py:6", "untested calc.py:6"},
		"a comparison":       {code, "calc.py:2:     paid = [r for r in rows if r >= 10]", "unpinned calc.py:2"},
		"a number":           {code, "calc.py:2:     paid = [r for r in rows if r > 110]", "unpinned calc.py:2"},
		"a line as it was":   {code, "calc.py:3:     return sum(rows)", "untested calc.py:3"},
		"a line":             {code, "new.py:2: ", "untested new.py:2"},
		"documents are none": {docs, "nothing but the tests", ""},
		"nor are comments":   {strings.ReplaceAll(docs, "README.md", "a.py"), "nothing but the tests", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := map[string]bool{}
			list, err := Evidence(ParseDiff(tc.diff), func(name string, edits []Edit) (Ran, error) {
				if tried[name] {
					t.Errorf("%s is tried twice", name)
				}
				tried[name] = true
				switch {
				case tc.passes == "LATE":
					return Untried, nil
				case name == "the work" && tc.passes != "FAILS", slices.Contains(strings.Split(tc.passes, ", "), name):
					return Passed, nil
				}
				return Failed, nil
			})
			var got []string
			for _, h := range list {
				got = append(got, string(h.Kind)+strings.Repeat("!", map[bool]int{true: 1}[h.Mark]))
				for _, p := range h.Places {
					got = append(got, fmt.Sprintf("%s:%d", p.File, p.Line))
				}
			}
			if strings.Join(got, " ") != tc.want || err != nil {
				t.Errorf("%q, want %q, tried %v, %v", got, tc.want, tried, err)
			}
		})
	}
	list, err := Evidence(ParseDiff(code), func(name string, _ []Edit) (Ran, error) {
		return map[string]Ran{"the work": Passed, "nothing but the tests": Failed, "without new.py": Passed}[name], nil
	})
	if len(list) != 1 || !strings.Contains(list[0].Text, "no time for") || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	stop := errors.New("stop")
	if list, err := Evidence(ParseDiff(code), func(string, []Edit) (Ran, error) { return Untried, stop }); len(list) > 0 || !errors.Is(err, stop) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestUndo: to take the changes of a file back gives the old one, with every kind of change in it.
func TestUndo(t *testing.T) {
	t.Parallel()
	const now, old = "a\nB\nB2\nc\nd\nf\ng\n", "a\nb\nc\nd\ne\ng\nh\n"
	const diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n a\n-b\n+B\n+B2\n c\n d\n-e\n+f\n g\n-h\n"
	text := now
	for _, e := range undo(ParseDiff(diff)...) {
		text = e.Apply(text)
	}
	if text != old {
		t.Errorf("%q", text)
	}
	gone := undo(ParseDiff("diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")...)
	if len(gone) != 1 || !gone[0].Made || gone[0].Apply("") != "a\nb\n" {
		t.Errorf("%+v", gone)
	}
}
