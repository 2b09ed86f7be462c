package bus

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// KeyPath returns the path of the key of a socket.
func KeyPath(socket string) string { return socket + ".key" }

// writeKey makes the key of a socket. A file from before is removed and not written to, because
// others may have it open.
func writeKey(socket string) (key string, err error) {
	if err := os.Remove(KeyPath(socket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(KeyPath(socket), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	key = rand.Text()
	_, err = f.WriteString(key + "\n")
	return key, errors.Join(err, f.Close())
}

// challenge returns an error unless the caller at the other end knows the key. The key itself is
// never sent, so that a process that serves a socket in the team's place does not learn it.
func challenge(c net.Conn, key string) error {
	text := rand.Text()
	if err := sayHello(c, hello{Format: helloFormat, Challenge: text}); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return err
	}
	// The caller sends nothing after this line until it is answered.
	line, err := bufio.NewReaderSize(c, maxHello).ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("you did not prove that you know the key of the socket: %w", err)
	}
	if !hmac.Equal(line[:len(line)-1], proof(key, text)) {
		return errors.New("your key is not that of the socket; each run of the team has its own")
	}
	return c.SetReadDeadline(time.Time{})
}

// proveKey proves to the listener at a socket that we know its key.
func proveKey(c net.Conn, socket, challenge string) error {
	key, err := os.ReadFile(KeyPath(socket))
	if err != nil {
		return fmt.Errorf("%w: it asks for the key of its socket: %w", ErrRefused, err)
	}
	if _, err := c.Write(append(proof(strings.TrimSpace(string(key)), challenge), '\n')); err != nil {
		return fmt.Errorf("control socket: %w: %w", ErrHungUp, err)
	}
	return nil
}

// proof returns what only those can answer to a challenge who know the key.
func proof(key, challenge string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(challenge)) // never fails
	return hex.AppendEncode(nil, mac.Sum(nil))
}
