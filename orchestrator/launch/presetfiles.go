package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
)

// set gives the program a variable, over what was set before.
func (o *offer) set(name, value string) {
	o.env = append(o.env, configs.EnvVar{Name: name, Value: value})
}

// value is a variable as the program will see it, so far.
func (o *offer) value(name string) string {
	for i := len(o.env) - 1; i >= 0; i-- {
		if o.env[i].Name == name {
			return o.env[i].Value
		}
	}
	return ""
}

// object is a JSON object as Go writes it down.
type object = map[string]any

// patchJSON puts fields into the JSON object in a file, which is made if it is
// not there. Objects are merged, everything else is replaced. Only the user may
// read it: the key of a model server may be in it.
func patchJSON(path string, fields object) error {
	all := object{}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	merge(all, fields)
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return writePrivate(path, data)
}

// merge puts fields into an object.
func merge(into, fields object) {
	for name, value := range fields {
		inner, ok := value.(object)
		old, both := into[name].(object)
		if ok && both {
			merge(old, inner)
			continue
		}
		into[name] = value
	}
}

// patchVariable is patchJSON for an object in a variable.
func (o *offer) patchVariable(name string, fields object) error {
	all := object{}
	if before := o.value(name); before != "" {
		if err := json.Unmarshal([]byte(before), &all); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	merge(all, fields)
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	o.set(name, string(data))
	return nil
}

// writePrivate writes a file that only the user may read, and its folder.
func writePrivate(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// packageOf reads the npm package that a program in PATH belongs to: what npm
// puts there is a link into the package. Both are empty for other programs.
func packageOf(path string) (name, version string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", ""
	}
	const deepest = 4 // a program lies in bin/ or dist/ of its package, or a little deeper
	dir := filepath.Dir(real)
	for range deepest {
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		var manifest struct{ Name, Version string }
		// A package.json without a name only says how the files beside it are read.
		if err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name != "" {
			return manifest.Name, manifest.Version
		}
		dir = filepath.Dir(dir)
	}
	return "", ""
}
