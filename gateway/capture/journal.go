// The journal of a session: one line for each change of its forest. Reading it back makes the same forest.
//
// A turn is on disk, with everything before it, when its client is told that it ended; what comes behind the last turn may be
// lost with the machine's power, not with the process. Lines that are changed, missing, doubled or moved are found, also
// between whole journals; lines that are missing at the end show against the seal of the journal (seal.go).

package capture

import (
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"path/filepath"

	"molt/chat"
	"molt/gateway/forest"
	"molt/internal/chained"
	"molt/traj"
)

// record is one change. One field is set.
type record struct {
	Open      *opened     `json:"open,omitzero"`
	Enter     *entered    `json:"enter,omitzero"`
	Turn      *kept       `json:"turn,omitzero"`
	Cut       *forest.Cut `json:"cut,omitzero"`
	Delivered *int32      `json:"delivered,omitzero"`
}

// entered is a conversation behind a point.
type entered struct {
	From  int32      `json:"from"`
	Tools string     `json:"tools,omitzero"`
	Items []recorded `json:"items,omitzero"`
}

// recorded is an item.
type recorded struct {
	Message chat.Message `json:"message"`
	Handles []string     `json:"handles,omitzero"`
	Tokens  int          `json:"tokens,omitzero"` // of a checkpoint
}

// kept is a turn.
type kept struct {
	Name        string         `json:"name"`
	At          int32          `json:"at"`
	Parent      int32          `json:"parent"`
	Message     chat.Message   `json:"message"`
	Observation []int32        `json:"observation"`
	Images      []traj.Image   `json:"images,omitzero"`
	Sampled     []int32        `json:"sampled"`
	Logp        []float32      `json:"logp"`
	Version     []traj.Version `json:"version"`
	Temperature float32        `json:"temperature"`
	Finish      traj.Finish    `json:"finish"`
	Stop        string         `json:"stop,omitzero"`
	Cached      int            `json:"cached,omitzero"`
	Asked       string         `json:"asked"`
	Reason      chat.Reason    `json:"reason,omitzero"`
	Spliced     []int32        `json:"spliced,omitzero"`
	Checkpoints []recorded     `json:"checkpoints,omitzero"`
	Agent       forest.Agent   `json:"agent,omitzero"`
	Tools       bool           `json:"tools,omitzero"`
	Raw         bool           `json:"raw,omitzero"`
	Forced      string         `json:"forced,omitzero"`
	Untrained   string         `json:"untrained,omitzero"`
	Stored      bool           `json:"stored,omitzero"`
	Request     int64          `json:"request"`
}

func keep(t *forest.Turn) *kept {
	k := &kept{
		Name: t.Name, At: t.At, Parent: t.Parent, Message: t.Item.Message, Observation: t.Observation, Images: t.Images, Sampled: t.Sampled, Logp: t.Logp,
		Version: t.Version, Temperature: t.Temperature, Finish: t.Finish, Stop: t.Stop, Cached: t.Cached, Asked: t.Asked, Reason: t.Reason,
		Spliced: t.Spliced, Agent: t.Agent, Tools: t.Tools, Raw: t.Raw, Forced: t.Forced, Untrained: t.Untrained, Stored: t.Stored, Request: t.Request,
	}
	for _, c := range t.Checkpoints {
		k.Checkpoints = append(k.Checkpoints, recorded{Message: c.Item.Message, Tokens: c.Tokens})
	}
	return k
}

func (k *kept) turn() forest.Turn {
	t := forest.Turn{
		Name: k.Name, At: k.At, Parent: k.Parent, Item: chat.NewItem(k.Message), Observation: k.Observation, Images: k.Images, Sampled: k.Sampled, Logp: k.Logp,
		Version: k.Version, Temperature: k.Temperature, Finish: k.Finish, Stop: k.Stop, Cached: k.Cached, Asked: k.Asked, Reason: k.Reason,
		Spliced: k.Spliced, Agent: k.Agent, Tools: k.Tools, Raw: k.Raw, Forced: k.Forced, Untrained: k.Untrained, Stored: k.Stored, Request: k.Request,
	}
	for _, c := range k.Checkpoints {
		t.Checkpoints = append(t.Checkpoints, forest.Checkpoint{Tokens: c.Tokens, Item: chat.NewItem(c.Message)})
	}
	return t
}

const extension = ".session"

func (g *Gateway) journal(o opened) (*chained.File, error) {
	j, err := chained.Create(filepath.Join(g.config.Folder, o.ID+extension))
	if err == nil {
		if j.Write(record{Open: &o}, true); j.Err() != nil {
			err = j.Remove()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("capture: opening a session: %w", err)
	}
	return j, nil
}

// noteEnter writes that a conversation was entered.
func (s *Session) noteEnter(from int32, tools chat.Key, items []*chat.Item) {
	if s.journal == nil {
		return
	}
	e := &entered{From: from}
	if from < 0 {
		e.Tools = hex.EncodeToString(tools[:])
	}
	for _, item := range items {
		e.Items = append(e.Items, recorded{Message: item.Message, Handles: item.Handles})
	}
	s.journal.Write(record{Enter: e}, false)
}

// read restores a session. A last line that was not finished is cut off. A member that is not known, such as one of another
// version, may say that a turn does not train: so none is passed over.
func (g *Gateway) read(path string) (*Session, error) {
	var s *Session
	file, cut, err := chained.Open(path, func(body []byte) error {
		var r record
		err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true))
		if err == nil {
			s, err = g.apply(s, r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.ID+extension != filepath.Base(path) {
		return nil, fmt.Errorf("%w: it is the journal of session %.40q", chained.ErrDamaged, s.ID)
	}
	if cut > 0 {
		g.note("%s: its last line was not finished, and is dropped: %d bytes", path, cut)
	}
	s.journal = file
	return s, nil
}

// apply makes a recorded change again.
func (g *Gateway) apply(s *Session, r record) (*Session, error) {
	switch {
	case r.Open != nil && s != nil:
		return nil, errors.New("the session is opened twice")
	case r.Open != nil:
		return g.session(*r.Open), nil
	case s == nil:
		return nil, errors.New("the session is not opened")
	}
	return s, s.redo(r)
}

func (s *Session) redo(r record) error {
	turns := int32(s.forest.Turns())
	switch {
	case r.Enter != nil:
		return s.reenter(r.Enter)
	case r.Turn != nil:
		t := r.Turn.turn()
		if t.At < 0 || t.At >= s.forest.Points() || t.Parent < -1 || t.Parent >= turns ||
			len(t.Logp) != len(t.Sampled) || len(t.Version) != len(t.Sampled) || traj.ValidateImages(t.Images, len(t.Observation)) != nil {
			return fmt.Errorf("turn %d does not fit", turns)
		}
		s.forest.Follow(t.Parent)
		s.forest.Commit(t, s.handles(&t)...)
		s.used += len(t.Observation) + len(t.Sampled)
		s.kept += turnSize(&t)
		s.request = max(s.request, t.Request+1)
	case r.Cut != nil:
		if r.Cut.Turn < 0 || r.Cut.Turn >= turns || r.Cut.Checkpoint < 0 || r.Cut.Checkpoint >= len(s.forest.Turn(r.Cut.Turn).Checkpoints) {
			return fmt.Errorf("cut of turn %d does not fit", r.Cut.Turn)
		}
		before := len(s.forest.Turn(r.Cut.Turn).Sampled)
		s.forest.Cut(*r.Cut)
		s.used -= before - len(s.forest.Turn(r.Cut.Turn).Sampled)
	case r.Delivered != nil:
		if *r.Delivered < 0 || *r.Delivered >= turns {
			return fmt.Errorf("delivery of turn %d does not fit", *r.Delivered)
		}
		s.forest.Deliver(*r.Delivered, forest.Delivered)
	}
	return nil
}

func (s *Session) reenter(e *entered) error {
	var tools chat.Key
	if e.From >= s.forest.Points() {
		return fmt.Errorf("point %d does not exist", e.From)
	}
	if e.From < 0 {
		key, err := hex.DecodeString(e.Tools)
		if err != nil || len(key) != len(tools) {
			return fmt.Errorf("tools %.40q are no key", e.Tools)
		}
		copy(tools[:], key)
	}
	var items []*chat.Item
	for _, r := range e.Items {
		if err := s.reshow(r.Message); err != nil {
			return err
		}
		items = append(items, chat.NewItem(r.Message, r.Handles...))
	}
	s.forest.Enter(e.From, tools, items)
	s.kept += size(items)
	return nil
}
