package rules

import "testing"

// BenchmarkRule is what one permission rule costs for a line as agents write them.
func BenchmarkRule(b *testing.B) {
	r := mustRule(b, "Bash(git push * --force*)")
	c := bashCall("cd services/api && go test ./... 2>&1 | tail -20")
	b.ReportAllocs()
	for b.Loop() {
		if r.Forbids(c) || r.Permits(c) {
			b.Fatal("it is about something else")
		}
	}
}
