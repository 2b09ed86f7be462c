package yaml

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

// maxSecret is how long a value from a file may be, in bytes. A longer file is not a secret,
// and systems refuse long environments.
const maxSecret = 64 << 10

// readSecret reads the value of a variable from the file that the spec names for it. fault says why
// the file holds none.
func readSecret(path string) (value, fault string) {
	f, err := os.Open(path)
	if err != nil {
		return "", "cannot be read (" + texts.Cause(err) + "); change its permissions"
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil:
		return "", "cannot be read (" + texts.Cause(err) + ")"
	case len(data) > maxSecret:
		return "", "is larger than 64 KiB, too large for a variable; name another one"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", "is not UTF-8 text without NUL, as a variable must be; name another one"
	case text == "":
		return "", "is empty; write the value into it"
	}
	return text, ""
}
