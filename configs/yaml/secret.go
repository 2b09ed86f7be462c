package yaml

import (
	"errors"
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
	data, err := texts.ReadFile(path, maxSecret)
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case errors.Is(err, texts.ErrTooLarge):
		return "", "is larger than 64 KiB, too large for a variable; name another one"
	case err != nil:
		return "", "cannot be read (" + texts.Cause(err) + "); change its permissions"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", "is not UTF-8 text without NUL, as a variable must be; name another one"
	case text == "":
		return "", "is empty; write the value into it"
	}
	return text, ""
}
