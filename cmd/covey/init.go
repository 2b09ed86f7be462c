package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
)

// initCommand is `covey init`.
func (c *cli) initCommand() *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a spec that runs, as a start",
		Long: `Write a team.yaml with comments, and the scripts that its members play, so that
"covey up" runs at once and offline. The gate is the test command that the
folder seems to have. Files that are there already are not overwritten.`,
		Example: `  covey init
  covey init ../other-project
  covey init --force`,
		Args: argCount(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := c.path(".")
			if len(args) > 0 {
				dir = c.path(args[0])
			}
			wrote, err := writeStarter(dir, force)
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.out.json(map[string][]string{"wrote": wrote})
			}
			for _, path := range wrote {
				c.out.printf("wrote %s\n", plainLine(path))
			}
			c.out.printf("\nNext: covey up%s\n", specArg(filepath.Join(dir, defaultSpec)))
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the files that are there")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// writeStarter writes the starter into dir, all of it or, if a file is in the
// way, nothing. It returns what it wrote. A half-written starter would be worse
// than none: its spec would name scripts that are not there.
func writeStarter(dir string, force bool) (wrote []string, err error) {
	spec, files, err := configs.Starter(dir)
	if err != nil {
		return nil, err
	}
	files = maps.Clone(files)
	files[defaultSpec] = spec
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && !force {
			return nil, fmt.Errorf("%s is there already; --force overwrites it", filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := writeFile(path, files[name]); err != nil {
			return wrote, err
		}
		wrote = append(wrote, path)
	}
	return wrote, nil
}

// specArg is how a command line names a spec; the default needs no name. It is
// for hints that a person can copy.
func specArg(path string) string {
	if filepath.Clean(path) == defaultSpec {
		return ""
	}
	return " " + path
}

// writeFile writes a file and the folder that it stands in. Folders and files
// get the rights that a person's own would have: a starter is there to be
// edited and committed.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
