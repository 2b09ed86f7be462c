package hints

import (
	"fmt"
	"strings"
	"testing"
)

// outline says in short what was read of a diff.
func outline(files []FileDiff) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %q", f.What, f.Name)
		if f.Old != "" {
			fmt.Fprintf(&b, " from %q", f.Old)
		}
		fmt.Fprintf(&b, " +%d -%d", f.Added, f.Removed)
		if f.Binary {
			b.WriteString(" binary")
		}
		if f.Modes != "" {
			b.WriteString(" " + f.Modes)
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, " @%d,%d[%s]", h.Old, h.New, h.Section)
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "|%c%d,%d:%s", l.Kind, l.Old, l.New, l.Text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestParseDiff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ diff, want string }{
		"nothing": {"", ""},
		"a line is changed": {
			"diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -3,3 +3,4 @@ func X() {\n a\n-b\n+c\n+d\n e\n",
			`changed "x.go" +2 -1 @3,3[func X() {]| 3,3:a|-4,0:b|+0,4:c|+0,5:d| 5,6:e` + "\n"},
		"lines that look like headers": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-@@ -1 +1 @@\n+++ b/y\n+diff --git a/q b/q\n",
			`changed "x" +2 -2 @1,1[]|-1,0:-- a/y|-2,0:@@ -1 +1 @@|+0,1:++ b/y|+0,2:diff --git a/q b/q` + "\n"},
		"a new file, and one that is gone": {
			"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n" +
				"diff --git a/g b/g\ndeleted file mode 100755\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
			`new "n" +1 -0 @0,1[]|+0,1:x` + "\n" + `deleted "g" +0 -1 @1,0[]|-1,0:x` + "\n"},
		"a file is renamed": {
			"diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n",
			`renamed "new" from "old name" +0 -0` + "\n"},
		"a mode": {
			"diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n",
			`changed "a b c" +0 -0 100644 → 100755` + "\n"},
		"binary": {
			"diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n",
			`changed "p.png" +0 -0 binary` + "\n"},
		"no newline at the end": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
			`changed "x" +1 -1 @1,1[]|-1,0:a|\0,0:No newline at end of file|+0,1:b|\0,0:No newline at end of file` + "\n"},
		"names in quotes": {
			"diff --git \"a/\\303\\244 \\\"q\\\".go\" \"b/\\303\\244 \\\"q\\\".go\"\n--- \"a/\\303\\244 \\\"q\\\".go\"\n" +
				"+++ \"b/\\303\\244 \\\"q\\\".go\"\n@@ -1 +1 @@\n-a\n+b\n",
			`changed "ä \"q\".go" +1 -1 @1,1[]|-1,0:a|+0,1:b` + "\n"},
		"a name that is not UTF-8": {
			"diff --git \"a/\\377\" \"b/\\377\"\nnew file mode 100644\n",
			`new "\xff" +0 -0` + "\n"},
		"a name with a space at its end": {
			"diff --git a/x  b/x \n--- a/x \t\n+++ b/x \t\n@@ -1 +1 @@\n-a\n+b\n",
			`changed "x " +1 -1 @1,1[]|-1,0:a|+0,1:b` + "\n"},
		"it is cut": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n",
			`changed "x" +0 -1 @1,1[]| 1,1:a|-2,0:b` + "\n"},
		"another file follows too early": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\ndiff --git a/y b/y\nnew file mode 100644\n",
			`changed "x" +0 -0 @1,1[]| 1,1:a` + "\n" + `new "y" +0 -0` + "\n"},
		"numbers that are none": {
			"diff --git a/x b/x\n@@ -1,99999999999999999999 +1 @@\n a\n@@ -x +1 @@\n@@ +1 -1 @@\n@@\n@@ \n",
			`changed "x" +0 -0` + "\n"},
		"not a diff": {"fatal: bad object\n@@ -1 +1 @@\n+x\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := outline(ParseDiff(tc.diff)); got != tc.want {
				t.Errorf("got  %swant %s", got, tc.want)
			}
		})
	}
}

// FuzzParseDiff: no text stops the parser, and the counts are those of the lines.
func FuzzParseDiff(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+\n\\ No newline at end of file\n")
	f.Add("diff --git \"a/\\303\" b/x\nrename from \"\\\nrename to x\n@@ -1,0 +0,0 @@ @@\n")
	f.Add("@@ -0,0 +1 @@\n+x\ndiff --git \nold mode\nnew mode \n@@ -1 +1 @@\nx")
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range ParseDiff(text) {
			added, removed, lines := 0, 0, 0
			for _, h := range file.Hunks {
				for _, l := range h.Lines {
					switch {
					case l.Kind == '+':
						added++
					case l.Kind == '-':
						removed++
					case l.Kind != ' ' && l.Kind != '\\':
						t.Fatalf("a line of kind %q", l.Kind)
					}
				}
				lines += len(h.Lines)
			}
			if added != file.Added || removed != file.Removed || lines < file.Total {
				t.Fatalf("%+v", file)
			}
		}
	})
}
