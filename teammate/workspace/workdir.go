package workspace

import "sync"

// Workdir is where a member works: the root that its file rules refer to, and its current
// directory, which a `cd` in its shell changes. It is safe for concurrent use.
type Workdir struct {
	root string

	mu  sync.Mutex
	dir string
}

// NewWorkdir returns a Workdir at root, an absolute path.
func NewWorkdir(root string) *Workdir { return &Workdir{root: root, dir: root} }

// Root returns the workspace of the member; it never changes.
func (w *Workdir) Root() string { return w.root }

// Dir returns the member's current directory.
func (w *Workdir) Dir() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dir
}

// Move changes the member's current directory to dir, an absolute path.
func (w *Workdir) Move(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dir = dir
}
