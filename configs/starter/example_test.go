package starter_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/starter"
)

// Make returns a spec that runs at once, and the files that it needs.
func ExampleMake() {
	dir, err := os.MkdirTemp("", "team")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	spec, files, err := starter.Make(dir, starter.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Split(string(spec), "\n")[0])
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Println(name)
	}
	// Output:
	// # A covey team. It runs as it is, offline: `covey up`.
	// scripts/lead.yaml
	// scripts/worker.yaml
}
