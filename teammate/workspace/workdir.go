package workspace

import "sync"

// Workdir is where a member works: the root that its file rules refer to, and
// the directory it is in now, which a `cd` in its shell moves. It is safe for
// concurrent use.
type Workdir struct {
	root string

	mu  sync.Mutex
	dir string
}

// NewWorkdir returns a Workdir at root, an absolute path.
func NewWorkdir(root string) *Workdir { return &Workdir{root: root, dir: root} }

// Root is the workspace of the member; it never changes.
func (w *Workdir) Root() string { return w.root }

// Dir is the directory the member is in now.
func (w *Workdir) Dir() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dir
}

// Move makes dir, an absolute path, the directory the member is in.
func (w *Workdir) Move(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dir = dir
}
