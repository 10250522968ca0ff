// How long each journal was when its gateway was closed in order. Lines that are missing at the end of a journal leave no
// trace in it; against its seal they show. A gateway that was killed leaves no seals: what its sessions captured last is
// then as it may be, and they say so.

package capture

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"molt/internal/atomicfile"
	"molt/internal/chained"
)

// sealed is a journal in the file of seals.
type sealed struct {
	chained.Seal
	Tail string `json:"tail,omitzero"` // what was wrong already
}

// sealsFile holds the seals of a folder, by session, while no gateway has it.
const sealsFile = "closed.json"

// unverified is the Tail of a session whose gateway was not closed in order.
const unverified = "unverified"

// seal writes the seals of sessions.
func (g *Gateway) seal(sessions map[string]*Session) error {
	seals := map[string]sealed{}
	for _, s := range sessions {
		seals[s.ID] = sealed{s.journal.Seal(), s.tail}
	}
	data, err := json.Marshal(seals, json.Deterministic(true))
	if err == nil {
		err = atomicfile.Write(filepath.Join(g.config.Folder, sealsFile), data)
	}
	if err != nil {
		return fmt.Errorf("capture: sealing the journals: %w", err)
	}
	return nil
}

// unseal takes the seals out of the folder; nil where there are none.
func (g *Gateway) unseal() (seals map[string]sealed, err error) {
	path := filepath.Join(g.config.Folder, sealsFile)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &seals); err != nil {
		g.note("%s: it is damaged: the ends of the journals are not verified", path)
		seals = nil
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return seals, atomicfile.SyncDir(g.config.Folder)
}

// check compares a restored session with its seal. One that lost lines goes on as it was before them, and says so.
func (g *Gateway) check(s *Session, seals map[string]sealed) error {
	then, ok := seals[s.ID]
	delete(seals, s.ID)
	now := s.journal.Seal()
	switch s.tail = then.Tail; {
	case !ok:
		s.tail = unverified
	case now.Lines < then.Lines:
		s.tail = fmt.Sprintf("%d of %d lines are missing", then.Lines-now.Lines, then.Lines)
		g.note("%s: %s at its end: the session is what it was before them", s.journal.Path(), s.tail)
	case now != then.Seal:
		return fmt.Errorf("%w: it is another than when the server ended", chained.ErrDamaged)
	}
	return nil
}

// reckon says what is known of journals that are not there, and of those without a seal.
func (g *Gateway) reckon(missing map[string]sealed) {
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		g.note("%s: the journal is missing", filepath.Join(g.config.Folder, id+extension))
	}
	unsealed := 0
	for _, s := range g.sessions {
		unsealed += int(one(s.tail == unverified))
	}
	if unsealed > 0 {
		g.note("%s: a server was not ended in order: what %d of its sessions captured behind the last line of their journals is not known", g.config.Folder, unsealed)
	}
}
