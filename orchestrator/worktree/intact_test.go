package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestRehash: ids are computed for both formats of repositories, what is not there is passed over, and output that
// ends early is an error.
func TestRehash(t *testing.T) {
	t.Parallel()
	const (
		blob   = "ce013625030ba8dba906f756967f9e9ca394464a blob 6\nhello\n\n"
		longer = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4 blob 6\nhello\n\n"
	)
	for out, want := range map[string]error{
		"": nil,
		blob + longer + "x:y missing\na b missing\n": nil,
		strings.Replace(blob, "hello", "jello", 1):   ErrForged,
		strings.Replace(longer, "blob", "tree", 1):   ErrForged,
		blob[:len(blob)-4]:                           io.EOF,
	} {
		err := rehash(bytes.NewBufferString(out))
		if !errors.Is(err, want) {
			t.Errorf("%q: %v", out, err)
		}
		if want != nil && strings.Count(fmt.Sprint(err), "\n") > 0 {
			t.Errorf("more than a line: %v", err)
		}
	}
}
