package receipts

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
)

// envelope is a DSSE envelope (https://github.com/secure-systems-lab/dsse). encoding/json has its base64.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

// signature is one signature of an envelope.
type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// signed returns what a signature is made of: DSSE's pre-authentication encoding.
func signed(kind string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(kind), kind, len(payload)), payload...)
}

// Sign returns a payload in a signed envelope.
func Sign(payload []byte, key ed25519.PrivateKey) ([]byte, error) {
	return json.Marshal(envelope{PayloadType: payloadType, Payload: payload, Signatures: []signature{{
		KeyID: KeyID(key.Public().(ed25519.PublicKey)), Sig: ed25519.Sign(key, signed(payloadType, payload)),
	}}})
}

// Open returns the merge that a receipt describes, and the id of the key that signed it. The error wraps
// ErrDamaged, ErrUnknownKey or ErrAltered; of an unknown key, what the receipt claims is returned, too.
func Open(receipt []byte, keys []ed25519.PublicKey) (m Merge, keyID string, err error) {
	var e envelope
	switch err := json.Unmarshal(receipt, &e); {
	case err != nil:
		return m, "", fmt.Errorf("%w: it is no envelope: %w", ErrDamaged, err)
	case e.PayloadType != payloadType:
		return m, "", fmt.Errorf("%w: it holds no signed statement, but a payload of type %q", ErrDamaged, e.PayloadType)
	case len(e.Signatures) == 0:
		return m, "", fmt.Errorf("%w: nobody has signed it", ErrDamaged)
	}
	for _, s := range e.Signatures {
		for _, key := range keys {
			if s.KeyID != KeyID(key) {
				continue
			}
			if !ed25519.Verify(key, signed(e.PayloadType, e.Payload), s.Sig) {
				return m, s.KeyID, ErrAltered
			}
			m, err := parse(e.Payload)
			return m, s.KeyID, err
		}
	}
	m, err = parse(e.Payload)
	if err != nil {
		return m, e.Signatures[0].KeyID, err
	}
	return m, e.Signatures[0].KeyID, ErrUnknownKey
}
