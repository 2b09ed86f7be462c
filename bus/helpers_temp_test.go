package bus

import (
	"os"
	"testing"
)

// privateTemp is a new folder of mode 0700 with a short path.
func privateTemp(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}
