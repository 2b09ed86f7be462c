package doctor

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// FoundSetup is what fills a fresh working copy with what tests need and git does not track, such as
// node_modules.
type FoundSetup struct {
	Commands []string
	Files    []string // the files by which they were found
	Missing  []string // programs of theirs that are not installed
}

// setupCommand is the command that goes with a file of a project.
type setupCommand struct{ kind, file, command string }

// setupCommands returns the commands, the preferred one of each kind first.
func setupCommands() []setupCommand {
	return []setupCommand{
		{"git", ".gitmodules", "git submodule update --init --recursive"},
		{"node", "pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		{"node", "yarn.lock", "yarn install --frozen-lockfile"},
		{"node", "bun.lock", "bun install --frozen-lockfile"},
		{"node", "bun.lockb", "bun install --frozen-lockfile"},
		{"node", "package-lock.json", "npm ci"},
		{"node", "npm-shrinkwrap.json", "npm ci"},
		{"node", "package.json", "npm install --no-package-lock"},
		{"python", "uv.lock", "uv sync"},
		{"python", "poetry.lock", "poetry install"},
		{"python", "Pipfile.lock", "pipenv sync --dev"},
		{"ruby", "Gemfile.lock", "bundle install"},
		{"php", "composer.lock", "composer install"},
	}
}

// FindSetup returns the commands that a fresh working copy of dir's repository needs before its
// tests can run, by files of the last commit in dir and in the folders above it, where these
// programs look, too. A lock file that git ignores would be missing in the copy.
func FindSetup(ctx context.Context, dir string) (found FoundSetup) {
	repo, head, err := worktree.Git{}.OpenHead(ctx, dir)
	if err != nil || head.Commit == "" {
		return found // there can be no working copies
	}
	folders := []string{path.Clean(repo.Prefix)}
	for last := folders[0]; last != "."; folders = append(folders, last) {
		last = path.Dir(last)
	}
	kinds := map[string]bool{}
	for _, s := range setupCommands() {
		if kinds[s.kind] || !slices.ContainsFunc(folders, func(folder string) bool {
			file := path.Join(folder, s.file)
			if _, err := os.Lstat(filepath.Join(repo.Top, file)); err != nil {
				return false
			}
			data, err := repo.File(ctx, head.Commit, file)
			return err == nil && (s.file != "package.json" || hasDependencies(data))
		}) {
			continue
		}
		kinds[s.kind] = true
		found.Commands, found.Files = append(found.Commands, s.command), append(found.Files, s.file)
		program, _, _ := strings.Cut(s.command, " ")
		if _, err := exec.LookPath(program); err != nil {
			found.Missing = append(found.Missing, program)
		}
	}
	return found
}

// hasDependencies reports whether a package.json names packages to install.
func hasDependencies(manifest []byte) bool {
	var pkg struct{ Dependencies, DevDependencies map[string]any }
	return json.Unmarshal(manifest, &pkg) == nil && len(pkg.Dependencies)+len(pkg.DevDependencies) > 0
}
