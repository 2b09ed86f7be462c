package acp

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// lines reads all lines of a stream.
func lines(from io.Reader, limit int) (all []string, long int, err error) {
	r := newLineReader(from, limit)
	for {
		line, tooLong, err := r.next()
		if tooLong {
			long++
		}
		if err != nil {
			return all, long, err
		}
		all = append(all, string(line))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, tt := range map[string]struct {
		in   string
		want []string
		long int
	}{
		"some":         {"a\nb\r\n\n  \n c \n", []string{"a", "b", "c"}, 0},
		"no newline":   {"a\nb", []string{"a", "b"}, 0},
		"nothing":      {"", nil, 0},
		"at the limit": {long[:1000] + "\n", nil, 1},
		"below it":     {long[:999] + "\nb", []string{long[:999], "b"}, 0},
		"too long":     {"a\n" + long + "\nb\n", []string{"a", "b"}, 1},
		"long at end":  {"a\n" + long, []string{"a"}, 1},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, n, err := lines(r, 1000)
			if !slices.Equal(got, tt.want) || n != tt.long || !errors.Is(err, io.EOF) {
				t.Errorf("%s: %d lines, %d too long, error %v", name, len(got), n, err)
			}
		}
	}
	if got, _, _ := lines(strings.NewReader(long+"\n"+long), maxLine); len(got) != 2 || got[0] != long {
		t.Error("lines longer than the buffer are not read whole")
	}
	broken := errors.New("broken")
	if got, _, err := lines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 99); len(got) != 2 || !errors.Is(err, broken) {
		t.Errorf("%q, error %v", got, err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"id\":1}\n\n\r\nx"), 4)
	f.Add([]byte(strings.Repeat("a", 100)), 10)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(limit%1000, 1)
		got, long, err := lines(iotest.HalfReader(bytes.NewReader(data)), limit)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var want []string
		over := 0
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			switch whole := bytes.TrimSpace(line); {
			case len(line) > limit:
				over++
			case len(whole) > 0:
				want = append(want, string(whole))
			}
		}
		if !slices.Equal(got, want) || (long > 0) != (over > 0) {
			t.Fatalf("%q, %d too long; want %q, %d", got, long, want, over)
		}
		for _, line := range got {
			if m, ok := decode([]byte(line)); ok && m.Error != nil {
				_ = readError(m.Error).Error()
			}
		}
	})
}

func TestReadError(t *testing.T) {
	for raw, want := range map[string]string{
		`{"code":-32603,"message":"Internal error","data":{"details":"boom"}}`: "Internal error: boom",
		`{"code":"x","message":"a","data":"a"}`:                                "a",
		`{"message":7,"data":{"x":1}}`:                                         `7: {"x":1}`,
		`"boo"`:                                                                `"boo"`,
		`{}`:                                                                   "error without a message",
		`{"message":"m","data":null}`:                                          "m",
	} {
		if got := readError([]byte(raw)).Error(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
