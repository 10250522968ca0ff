// The folder of the journals belongs to one gateway at a time. Sessions that were open come back from it.

package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"molt/internal/chained"
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

// restore reads the journals of the folder. One that cannot be read never stops the others: it stays in the folder, a damaged
// one under a name that is not looked at again. Expired sessions are deleted.
func (g *Gateway) restore() error {
	seals, err := g.unseal()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(g.config.Folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(g.config.Folder, entry.Name())
		switch {
		case !strings.HasSuffix(path, extension):
			continue
		case !entry.Type().IsRegular():
			g.note("%s: it is no regular file, and is left alone", path)
			continue
		}
		s, err := g.read(path)
		if err == nil {
			err = g.check(s, seals)
		}
		delete(seals, strings.TrimSuffix(entry.Name(), extension))
		switch {
		case errors.Is(err, chained.ErrDamaged):
			g.setAside(path, err)
		case err != nil:
			g.note("%s: the session is not restored: %v", path, err)
		case s.expired(time.Now()):
			if err := s.put(true); err != nil {
				g.note("%s: the session has expired, and its journal stays: %v", path, err)
			}
		default:
			g.sessions[s.Key] = s
			g.kept.Add(int64(s.kept))
		}
	}
	g.reckon(seals)
	return nil
}

// setAside keeps a damaged journal under a name that is not looked at again.
func (g *Gateway) setAside(path string, why error) {
	to, err := chained.SetAside(path)
	if err != nil {
		g.note("%s: %v; it cannot be set aside: %v", path, why, err)
		return
	}
	g.note("%s: %v; the session is not restored, and its journal is kept as %s", path, why, to)
}

func (g *Gateway) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// Notes say what New met in the folder and went on without.
func (g *Gateway) Notes() []string { return g.notes }
