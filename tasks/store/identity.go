package store

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Identity describes to which team a store belongs.
type Identity struct {
	Team      string `json:"team,omitempty"`
	Workspace string `json:"workspace,omitempty"` // absolute path
}

// keyIdentity is the identity's key in bucketMeta.
const keyIdentity = "identity"

// identityRecord is an Identity as stored. The ID distinguishes two stores of one
// team.
type identityRecord struct {
	ID string `json:"id"`
	Identity
}

// identify compares the store's identity with the expected one. A store whose
// creator gave no identity gets the expected one. One that is shared with other machines, where
// the workspace has other paths, gets none.
func identify(db *bolt.DB, want Identity, shared bool) (stored []byte, err error) {
	var have identityRecord
	err = db.View(func(tx *bolt.Tx) error {
		meta := bucketOf(tx, bucketMeta)
		data := meta.Get([]byte(keyIdentity))
		if data == nil {
			return nil
		}
		stored = bytes.Clone(meta.bolt.Get([]byte(keyIdentity)))
		if err := json.Unmarshal(data, &have); err != nil {
			return fmt.Errorf("%w: its identity: %v", ErrCorrupt, err)
		}
		return nil
	})
	none := Identity{}
	switch {
	case err != nil:
		return nil, err
	case !shared && want != none && have.Identity != none && have.Identity != want:
		return nil, fmt.Errorf("%w: it belongs to team %s of %s, not to team %s of %s; put this team's own file there",
			ErrForeign, have.Team, have.Workspace, want.Team, want.Workspace)
	case shared:
		want = none
	case want == none && have.ID != "":
		want = have.Identity
	}
	if db.IsReadOnly() || have.ID != "" && have.Identity == want {
		return stored, nil
	}
	have.ID = cmp.Or(have.ID, rand.Text())
	have.Identity = want
	data, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	stored = seal(bucketMeta, []byte(keyIdentity), data)
	return stored, db.Update(func(tx *bolt.Tx) error {
		if err := tx.Bucket([]byte(bucketMeta)).Put([]byte(keyIdentity), stored); err != nil {
			return fmt.Errorf("store the identity: %w", err)
		}
		return storeDigest(tx)
	})
}
