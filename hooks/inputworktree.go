package hooks

// WorktreeCreateInput is the payload of WorktreeCreate.
type WorktreeCreateInput struct {
	Name string `json:"name"` // of the working copy that is needed: the member's
}

// WorktreeRemoveInput is the payload of WorktreeRemove.
type WorktreeRemoveInput struct {
	WorktreePath string `json:"worktree_path"` // absolute
}

// Event returns WorktreeCreate.
func (WorktreeCreateInput) Event() Event { return WorktreeCreate }

// Event returns WorktreeRemove.
func (WorktreeRemoveInput) Event() Event { return WorktreeRemove }
