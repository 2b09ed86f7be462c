package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ownFolders are empty at the start of each program of level 2, and its own. One for terminals keeps
// it from those of the operator.
var ownFolders = []string{"/dev/shm", "/dev/pts", "/tmp", "/var/tmp"}

// A root is put together here, out of trees that were opened before, and then takes the place of the
// real one. What is here now is not seen meanwhile.
const workshop = "/tmp"

// tree is a part of a new root.
type tree struct {
	path string
	fd   int    // a detached mount; -1 for a link
	link string // where a link leads
}

// makeRoot gives this process a file system of what the policy grants, and nothing else.
func (o orders) makeRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for i, path := range o.Policy.Discard {
		if err := overlay(path, filepath.Join(o.Scratch, fmt.Sprint(i))); err != nil {
			return fmt.Errorf("put a layer over %s: %w", path, err)
		}
	}
	trees, err := o.trees()
	if err != nil {
		return err
	}
	blank, err := blanks()
	if err != nil {
		return err
	}
	if err := unix.Mount("covey", workshop, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	for _, t := range trees {
		if err := t.place(); err != nil {
			return fmt.Errorf("place %s in the new root: %w", t.path, err)
		}
	}
	if err := unix.Chdir(workshop); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, ".", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil { // the old root lies above the new one
		return fmt.Errorf("leave the old root: %w", err)
	}
	return o.mask(blank)
}

// trees opens what the new root has, parents first.
func (o orders) trees() (all []tree, err error) {
	links := map[string]string{}
	ways := map[string]way{}
	for _, grant := range []struct {
		paths []string
		way   way
	}{{o.Policy.Read, fixed}, {o.Policy.ReadOnly, fixed}, {o.Policy.Write, open}, {o.Policy.Discard, open}, {[]string{o.Policy.Temp}, open}, {ownFolders, own}} {
		for _, path := range grant.paths {
			if path == "" {
				continue
			}
			real := follow(path, links)
			if _, err := os.Lstat(real); err == nil && (grant.way != own || ways[real] != open || strings.HasPrefix(real, "/dev/")) {
				ways[real] = grant.way
			}
		}
	}
	for _, path := range o.Policy.ReadOnly {
		if real := follow(path, links); ways[real] != 0 {
			ways[real] = held
		}
	}
	pin(ways, o.Policy, func(path string) string { return follow(path, links) })
	delete(ways, "/dev/ptmx") // it works only beside its folder
	for path, w := range ways {
		if w != own && w != held && w != pinned && covered(path, w, ways) {
			continue
		}
		from := path
		if w == own && o.Policy.Temp != "" && (path == "/tmp" || path == "/var/tmp") {
			from, w = o.Policy.Temp, open
		}
		fd, err := w.open(from)
		if err != nil {
			return nil, fmt.Errorf("grant %s: %w", path, err)
		}
		all = append(all, tree{path: path, fd: fd})
	}
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		links["/dev/"+name] = fmt.Sprintf("/proc/self/fd/%d", slices.Index([]string{"stdin", "stdout", "stderr"}, name))
	}
	links["/dev/fd"] = "/proc/self/fd"
	links["/dev/ptmx"] = "pts/ptmx"
	for path, to := range links {
		all = append(all, tree{path: path, fd: -1, link: to})
	}
	slices.SortFunc(all, func(a, b tree) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// way is how a tree is seen in a new root.
type way int

const (
	fixed  way = iota + 1 // read-only, unless it lies in an open tree
	held                  // read-only wherever it lies
	open                  // writable
	own                   // empty, and writable
	pinned                // like open, and cannot be moved
)

// pin keeps the folders above what may not be changed or read where they are: a program that moves one of
// them could put another in its place, or read the file below its new name.
func pin(ways map[string]way, p Policy, real func(string) string) {
	open := func(dir string) bool { return ways[dir] == open || ways[dir] == pinned }
	for _, path := range slices.Concat(p.ReadOnly, p.Deny) {
		if !filepath.IsAbs(path) {
			continue // a name is looked for again when the next program starts
		}
		var above []string
		for dir := filepath.Dir(real(path)); dir != "/"; dir = filepath.Dir(dir) {
			above = append(above, dir)
			if !open(dir) {
				continue
			}
			for _, dir := range above {
				if _, err := os.Lstat(dir); err == nil {
					ways[dir] = pinned
				}
			}
		}
	}
}

// open opens a tree as a detached mount.
func (w way) open(path string) (int, error) {
	switch {
	case path == "/dev/pts":
		return newMount("devpts", "ptmxmode", "0666")
	case w == own:
		return newMount("tmpfs", "mode", "1777")
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil || w == open || w == pinned {
		return fd, err
	}
	return fd, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// newMount opens a new, detached file system of a kind with an option.
func newMount(kind, option, value string) (int, error) {
	config, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(config)
	err = errors.Join(unix.FsconfigSetString(config, "source", "covey"), unix.FsconfigSetString(config, option, value),
		unix.FsconfigCreate(config))
	if err != nil {
		return -1, err
	}
	attr := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if kind == "devpts" {
		attr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	}
	return unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, attr)
}

// covered reports whether a path is already seen, and in its own way, as part of the nearest tree
// above it.
func covered(path string, w way, ways map[string]way) bool {
	for dir := path; dir != "/"; {
		dir = filepath.Dir(dir)
		if above := ways[dir]; above != 0 {
			if above == pinned {
				above = open
			}
			return above == w || above == open && w == fixed
		}
	}
	return false
}

// follow returns the real path of a path, as far as there is one, and notes the links on the way.
func follow(path string, links map[string]string) string {
	const most = 255 // links, of which some may lead in a circle
	path = filepath.Clean(path)
	for range most {
		at, end := "", len(path)
		for i := 1; i <= end; i++ {
			if i < end && path[i] != '/' {
				continue
			}
			if to, err := os.Readlink(path[:i]); err == nil {
				links[path[:i]], at = to, path[:i]
				if !filepath.IsAbs(to) {
					to = filepath.Join(filepath.Dir(at), to)
				}
				path = filepath.Join(to, path[i:])
				break
			}
		}
		if at == "" {
			return path
		}
	}
	return path
}

// place puts a tree into the new root.
func (t tree) place() error {
	at := filepath.Join(workshop, t.path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if t.link != "" {
		if err := os.Symlink(t.link, at); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	defer unix.Close(t.fd)
	var st unix.Stat_t
	if err := unix.Fstat(t.fd, &st); err != nil {
		return err
	}
	var err error
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = unix.Mkdir(at, 0o755)
	} else {
		err = unix.Mknod(at, unix.S_IFREG|0o644, 0)
	}
	if err != nil && err != unix.EEXIST {
		return err
	}
	return unix.MoveMount(t.fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// overlay puts a layer over a folder that takes all changes. The layer lies in a new folder, or in
// memory if the file system of that cannot hold layers.
func overlay(folder, layer string) error {
	escape := strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`)
	mount := func() error {
		for _, name := range []string{"upper", "work"} {
			if err := os.MkdirAll(filepath.Join(layer, name), 0o700); err != nil {
				return err
			}
		}
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		// The folder itself looks as its upper layer does.
		if err := os.Chmod(filepath.Join(layer, "upper"), info.Mode()); err != nil {
			return err
		}
		return unix.Mount("covey", folder, "overlay", unix.MS_NOSUID|unix.MS_NODEV,
			"userxattr,lowerdir="+escape.Replace(folder)+",upperdir="+escape.Replace(layer)+"/upper,workdir="+escape.Replace(layer)+"/work")
	}
	first := mount()
	if first == nil {
		return nil
	}
	if err := unix.Mount("covey", layer, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return err
	}
	if err := mount(); err != nil {
		return errors.Join(first, err)
	}
	return nil
}

// blanks opens a file system with an empty file and an empty folder, which nobody may read.
func blanks() (int, error) {
	fd, err := newMount("tmpfs", "mode", "0700")
	if err == nil {
		err = errors.Join(unix.Mkdirat(fd, "folder", 0), unix.Mknodat(fd, "file", unix.S_IFREG, 0))
	}
	if err == nil {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		return -1, fmt.Errorf("make what hides files: %w", err)
	}
	return fd, nil
}

// mask hides what the policy denies.
func (o orders) mask(blank int) error {
	defer unix.Close(blank)
	for _, path := range o.denied() {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // it is not in this root
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		kind := "file"
		if info.IsDir() {
			kind = "folder"
		}
		fd, err := unix.OpenTree(blank, kind, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			err = unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// denied returns the paths that the policy denies, in the new root.
func (o orders) denied() (paths []string) {
	var names []string
	for _, d := range o.Policy.Deny {
		if filepath.IsAbs(d) {
			paths = append(paths, d)
		} else {
			names = append(names, d)
		}
	}
	if len(names) == 0 {
		return paths
	}
	for _, root := range o.Policy.Search {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // nobody can read it
			}
			if d.IsDir() && d.Name() == ".git" {
				return fs.SkipDir
			}
			if slices.ContainsFunc(names, func(n string) bool { ok, _ := filepath.Match(n, d.Name()); return ok }) {
				paths = append(paths, path)
			}
			return nil
		})
	}
	return paths
}
