// All sessions of a run.

package capture

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"molt/chat"
	"molt/chat/grammar"
	"molt/gateway/wire"
)

// Gateway opens sessions and finds them. It is safe for concurrent use.
type Gateway struct {
	config Config
	lock   *flock.Flock // of the folder; nil without one
	folds  bool         // the template takes no system message but the first
	counts counters
	seen   wire.Seen
	roots  roots
	kept   atomic.Int64               // bytes that all sessions keep
	notes  []string                   // what was met while restoring
	piece  func() int                 // most bytes of text that one id stands for; 0 where that is not known
	words  func() *grammar.Vocabulary // made when first wanted; nil where it cannot be

	renderers renderers                  // of requests that set variables
	known     func() map[string]bool     // words of the template
	grammars  grammars                   // of what requests demand
	code      func() func(string) string // spells control tokens for a grammar

	mu       sync.Mutex // guards what follows
	sessions map[string]*Session
	closed   bool
}

// New checks that the parts fit together, and restores the sessions of the folder.
func New(c Config) (*Gateway, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	g := &Gateway{config: c, sessions: map[string]*Session{}}
	if end, ok := c.Renderer.EndOfTurn(); ok && !slices.Contains(c.Sampling.StopTokens, end) {
		g.config.Sampling.StopTokens = append(slices.Clone(c.Sampling.StopTokens), end)
	}
	g.folds = folds(c.Renderer)
	g.words = sync.OnceValue(func() *grammar.Vocabulary {
		return newWords(c.Renderer.Tokenizer(), c.Generator.Capabilities().Vocab)
	})
	g.known = sync.OnceValue(func() map[string]bool { return newKnown(c.Renderer.Variables()) })
	g.code = sync.OnceValue(func() func(string) string { return newCode(c.Renderer.Tokenizer()) })
	g.piece = sync.OnceValue(func() int { return longestPiece(c.Renderer.Tokenizer()) })
	if c.Folder != "" {
		if err := g.acquire(); err != nil {
			return nil, err
		}
		if err := g.restore(); err != nil {
			return nil, errors.Join(fmt.Errorf("capture: restoring sessions: %w", err), g.lock.Close())
		}
	}
	return g, nil
}

// Options are what one rollout chooses.
type Options struct {
	Seed      uint64 `json:"seed"` // of the run: with Group and Sample it selects the random numbers
	Group     int64  `json:"group"`
	Sample    int    `json:"sample"`
	Attempt   int    `json:"attempt"`
	MaxTokens int    `json:"max_tokens,omitzero"` // of the session; 0 means the gateway's
	Lone      *Lone  `json:"-"`                   // of a session without a client outside of this process
}

// Validate names the first option that no rollout can have, by its name in JSON.
func (o *Options) Validate() error {
	for _, option := range []struct {
		name  string
		value int
	}{{"sample", o.Sample}, {"attempt", o.Attempt}, {"max_tokens", o.MaxTokens}} {
		if option.value < 0 || option.value > math.MaxInt32 {
			return fmt.Errorf("%s is %d; want 0 to %d", option.name, option.value, math.MaxInt32)
		}
	}
	return nil
}

// Open starts a session with a key that cannot be guessed.
func (g *Gateway) Open(o Options) (*Session, error) {
	now := time.Now()
	if err := g.room(now); err != nil {
		return nil, err
	}
	s := g.session(opened{
		ID: rand.Text()[:16], Key: "molt-" + rand.Text() + rand.Text(),
		Created: now.Unix(), Expires: now.Add(g.config.Life).Unix(), Options: o,
	})
	if o.Lone != nil {
		s.ID = o.name()
	}
	if g.config.Folder != "" {
		journal, err := g.journal(s.opened)
		if err != nil {
			return nil, err
		}
		s.journal = journal
	}
	if err := g.add(s, now); err != nil {
		return nil, errors.Join(err, s.journal.Remove())
	}
	return s, nil
}

// ErrFull says that as many sessions are open as may be, or that they keep as much as they may.
var ErrFull = errors.New("too many sessions are open, or they keep too much: close some, or wait until some expire")

// room reports why no session can be opened now.
func (g *Gateway) room(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.roomLocked(now)
}

func (g *Gateway) roomLocked(now time.Time) error {
	if g.closed {
		return errors.New("capture: the gateway is closed")
	}
	if len(g.sessions) >= g.config.Sessions || g.full(0) {
		g.sweep(now)
	}
	if len(g.sessions) >= g.config.Sessions || g.full(0) {
		return fmt.Errorf("capture: %w", ErrFull)
	}
	return nil
}

// add enters a session, unless the room for it has gone.
func (g *Gateway) add(s *Session, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.roomLocked(now); err != nil {
		return err
	}
	g.sweep(now)
	g.sessions[s.Key] = s
	return nil
}

// sweep closes sessions that have expired. The caller holds mu.
func (g *Gateway) sweep(now time.Time) {
	for key, s := range g.sessions {
		if s.expired(now) {
			delete(g.sessions, key)
			go s.Close() // waits for its turns; Close of the gateway has nothing left to wait for
		}
	}
}

// Find returns the open session with a key.
func (g *Gateway) Find(key string) (*Session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.sessions[key]
	if !ok || s.expired(time.Now()) {
		return nil, false
	}
	return s, true
}

// Session returns the open session with an id, which is no secret.
func (g *Gateway) Session(id string) (*Session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.sessions {
		if s.ID == id && !s.expired(time.Now()) {
			return s, true
		}
	}
	return nil, false
}

// Close ends all turns and waits for them. Journals stay. Once is enough.
func (g *Gateway) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	sessions := g.sessions
	g.sessions = map[string]*Session{}
	g.mu.Unlock()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.end(false))
	}
	if g.lock != nil {
		errs = append(errs, g.seal(sessions), g.lock.Close())
	}
	return errors.Join(errs...)
}

// forget drops a session.
func (g *Gateway) forget(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s.Key)
}

// Model is the name that replies carry when a request names none.
func (g *Gateway) Model() string { return g.config.Model }

// Context is the longest prompt plus reply, in tokens.
func (g *Gateway) Context() int { return g.config.Generator.Capabilities().MaxTokens }

// Counts are what all sessions have seen. A run that offers tools and never parses a call is reading the wrong syntax.
type Counts struct {
	Turns      int64 `json:"turns"`      // replies of the policy
	Offered    int64 `json:"offered"`    // of these, with tools on offer
	Calls      int64 `json:"calls"`      // tool calls parsed
	Malformed  int64 `json:"malformed"`  // what looked like a call and was none; kept as text
	Ignored    int64 `json:"ignored"`    // openings of calls where none is read
	Unclosed   int64 `json:"unclosed"`   // turns that ended while still reasoning
	Masked     int64 `json:"masked"`     // control strings in text from outside, which stayed text
	Rewrites   int64 `json:"rewrites"`   // bridges where the template alone would have shown earlier turns differently
	Segments   int64 `json:"segments"`   // new segments behind the first of their session
	Spliced    int64 `json:"spliced"`    // turns whose ids were carried into a new segment
	Replayed   int64 `json:"replayed"`   // replies given again
	Resumed    int64 `json:"resumed"`    // times that a turn went on after its engine became unavailable
	Cut        int64 `json:"cut"`        // replies that ended where their client's copy ended
	Overridden int64 `json:"overridden"` // requests for other sampling, answered with the run's
}

type counters struct {
	mu sync.Mutex
	c  Counts
}

// add changes the counts.
func (c *counters) add(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.c)
}

// Counts returns the counts as they are now.
func (g *Gateway) Counts() Counts {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	return g.counts.c
}

// Alarm is a sentence when the counts say that a run goes wrong, else "".
func (c Counts) Alarm() string {
	if c.Offered >= 20 && c.Calls == 0 && c.Malformed+c.Ignored > 0 {
		return fmt.Sprintf("tools were offered in %d turns and no call was ever parsed, although %d looked like one: "+
			"the parser reads another syntax than the model writes", c.Offered, c.Malformed+c.Ignored)
	}
	return ""
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func messages(items []*chat.Item) []chat.Message {
	out := make([]chat.Message, len(items))
	for i := range items {
		out[i] = items[i].Message
	}
	return out
}
