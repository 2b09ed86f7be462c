// Command release makes the files of a release of covey from a clone: an archive with a
// list of its modules (SBOM) for each system, Debian packages, a Homebrew formula, the
// install script, and the sums of all of them.
//
//	go run ./cmd/release [-only OS/ARCH] DIR
//
// It publishes nothing and needs no network if the module cache is filled. A release has
// the version of its commit's tag, and the same commit gives the same bytes in any folder,
// with the same version of Go: the times in the archives are those of the commit.
//
// It is a program of our own because what it does is little. GoReleaser 2.15 needs 376
// modules, five times those of covey, and other programs for the SBOM and the terms of
// modules. A shell script would depend on the tar, gzip, zip and dpkg-deb of its machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// main calls run with the streams of the process. Tests call run.
func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stderr))
}

// run parses the arguments, makes the release of the clone in the current folder, and
// returns the exit code. A mistake in the arguments gives 2, as with covey.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run ./cmd/release [-only OS/ARCH] DIR")
		flags.PrintDefaults()
	}
	only := flags.String("only", "", "make the archive of one `OS/ARCH`, such as linux/amd64, and no formula")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return 2
	}
	chosen := targets()
	if *only != "" {
		chosen = slices.DeleteFunc(chosen, func(t target) bool { return t.String() != *only })
		if len(chosen) == 0 {
			fmt.Fprintf(stderr, "there is no release for %q; there is one for %v\n", *only, targets())
			return 2
		}
	}
	r := &release{source: ".", out: flags.Arg(0), log: stderr}
	if err := r.make(ctx, chosen); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// emptyFolder creates a folder, and fails if it has content: files of another version
// beside those of a release would be published with it.
func emptyFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make the folder of the release: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into the folder of the release: %w", err)
	}
	if len(entries) > 0 {
		return errors.New(path + " is not empty; name a new folder, or delete what is in it")
	}
	return nil
}
