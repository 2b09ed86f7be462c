package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks/proc"
)

// set sets a variable of the program, replacing an earlier value.
func (o *offer) set(name, value string) {
	o.env = append(o.env, name+"="+value)
}

// value returns the current value of a variable of the program.
func (o *offer) value(name string) string {
	return proc.Getenv(o.env, name)
}

// object is a JSON object.
type object = map[string]any

// patchJSON merges fields into the JSON object in a file of a folder, which it creates if needed.
// Nested objects are merged; other values are replaced. Only the user can read the
// file, because it may hold the key of a model server.
func patchJSON(dir, file string, fields object) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all := object{}
	data, err := root.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
		}
	}
	merge(all, fields)
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return writePrivate(dir, file, data)
}

// patchFile adds fields, and more that wins, to a file of settings, which a variable names.
func (o *offer) patchFile(variable, file string, more, fields object) error {
	merge(fields, more)
	o.set(variable, filepath.Join(o.dir, file))
	return patchJSON(o.dir, file, fields)
}

// merge merges fields into an object.
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

// writePrivate writes a file of a folder that only the user can read, and creates the folders between
// them. Programs of the member write in some of these, so links are not followed out of it.
func writePrivate(dir, file string, data []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return root.WriteFile(file, data, 0o600)
}

// packageOf returns the npm package of a program in PATH: npm installs a link into the
// package. Both results are empty for other programs.
func packageOf(path string) (name, version string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", ""
	}
	const deepest = 4 // programs are in bin/ or dist/ of their package, or slightly deeper
	dir := filepath.Dir(real)
	for range deepest {
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		var manifest struct{ Name, Version string }
		// A package.json without a name only sets the module type of its folder.
		if err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name != "" {
			return manifest.Name, manifest.Version
		}
		dir = filepath.Dir(dir)
	}
	return "", ""
}
