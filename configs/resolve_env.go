package configs

import (
	"io"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/wording"
)

// maxSecret is how long a value may be that comes from a file, in bytes. What is
// longer is no secret, and systems refuse long environments.
const maxSecret = 64 << 10

// secretSpec is a variable whose value is in a file.
type secretSpec struct {
	at   *yaml.Node
	file schema.Value[string]
}

// fields are what can be said of it.
func (s *secretSpec) fields() []schema.Field {
	return []schema.Field{{Key: "file", Need: true, Part: schema.Text(&s.file),
		Doc: "The file that holds the value, relative to the spec. A line end at its end does not count."}}
}

// secret reads the value of a variable from its file, now: who changes the file
// starts the team again. What stands in it is shown nowhere.
func (r *resolver) secret(name *yaml.Node, s *secretSpec) EnvVar {
	v := EnvVar{Name: name.Text, Text: "file: " + s.file.V}
	if s.file.V == "" {
		return v // refused when it was decoded
	}
	before := len(r.Problems)
	v.File = r.path(s.file, "file")
	if len(r.Problems) > before {
		return v
	}
	fault := ""
	v.Value, fault = readSecret(v.File)
	if fault != "" {
		r.Fail(s.file.At.At, "the file %s %s", yaml.Quote(s.file.V), fault)
	}
	if info, err := os.Stat(v.File); err == nil && runtime.GOOS != "windows" && info.Mode()&0o007 != 0 {
		r.Warn(s.file.At.At, "everybody on this machine may read or change %s; run chmod o= on it", yaml.Quote(s.file.V))
	}
	return v
}

// readSecret reads a value; fault says why it is none.
func readSecret(path string) (value, fault string) {
	f, err := os.Open(path)
	if err != nil {
		return "", "cannot be read (" + wording.Cause(err) + "); change its permissions"
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil:
		return "", "cannot be read (" + wording.Cause(err) + ")"
	case len(data) > maxSecret:
		return "", "is larger than 64 KiB, too large for a variable; name another one"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", "holds what is no text, which no variable can; name another one"
	case text == "":
		return "", "is empty; write the value into it"
	}
	return text, ""
}
