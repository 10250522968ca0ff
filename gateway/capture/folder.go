// The folder of the journals belongs to one gateway at a time.

package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrHeld says that another gateway, of this process or another, has the folder.
var ErrHeld = errors.New("another server keeps its sessions there: end it, or choose another folder")

// lockFile is locked while a gateway is open. It stays.
const lockFile = ".lock"

// acquire makes the folder and locks it.
func (g *Gateway) acquire() error {
	if err := os.MkdirAll(g.config.Folder, 0o700); err != nil {
		return fmt.Errorf("capture: making the folder of sessions: %w", err)
	}
	lock := flock.New(filepath.Join(g.config.Folder, lockFile), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("capture: locking the folder of sessions: %w", err), lock.Close())
	case !held:
		return errors.Join(fmt.Errorf("capture: folder %s: %w", g.config.Folder, ErrHeld), lock.Close())
	}
	g.lock = lock
	return nil
}
