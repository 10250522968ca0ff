// First prompts, rendered once for all sessions: the rollouts of one prompt begin alike, and most of what a harness says first
// is the same in every one of them. Rendering a first prompt costs as much as some twenty later turns.

package capture

import (
	"slices"
	"sync"

	"molt/chat"
)

// roots remembers renderings. It is safe for concurrent use.
type roots struct {
	mu    sync.Mutex
	made  map[rootKey]root // guarded by mu
	bytes int              // guarded by mu: of the conversations in made
}

// rootKey finds a rendering; whether it is of the same conversation, its items tell.
type rootKey struct {
	renderer *chat.Renderer
	items    string // their keys
	tools    int
}

type root struct {
	items []*chat.Item
	tools []chat.ToolSpec
	shown shown
	bytes int
}

// Bounds of what is remembered; when it is full it starts anew.
const (
	maxRoot  = 4 << 20 // bytes of a conversation
	maxRoots = 64 << 20
)

// firsts reports whether a view is of a first prompt, in which nobody has said anything yet and nothing is shown but text.
func firsts(v view) bool {
	return len(v.items) > 0 && !slices.ContainsFunc(v.items, func(it *chat.Item) bool {
		return it.Message.Role == chat.Assistant || it.Message.HasImages()
	})
}

func keyOf(v view) rootKey {
	keys := make([]byte, 0, 16*len(v.items))
	for _, it := range v.items {
		keys = append(keys, it.Exact[:]...)
	}
	return rootKey{v.renderer, string(keys), len(v.tools)}
}

// find returns what a first prompt was rendered as. Nobody changes it.
func (r *roots) find(v view) (shown, bool) {
	r.mu.Lock()
	found, ok := r.made[keyOf(v)]
	r.mu.Unlock()
	if !ok || !slices.EqualFunc(found.items, v.items, alike) || !sameTools(found.tools, v.tools) {
		return shown{}, false
	}
	return found.shown, true
}

func (r *roots) keep(v view, o shown) {
	bytes := size(v.items) + 4*len(o.ids)
	if bytes > maxRoot {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil || r.bytes+bytes > maxRoots {
		r.made, r.bytes = map[rootKey]root{}, 0
	}
	o.ids = slices.Clip(o.ids)
	key := keyOf(v)
	r.bytes += bytes - r.made[key].bytes
	r.made[key] = root{slices.Clone(v.items), v.tools, o, bytes}
}

// alike reports whether two items of others than the policy are rendered alike.
func alike(a, b *chat.Item) bool { return a == b || a.Exact == b.Exact && a.Message.Equal(&b.Message) }

// sameTools reports whether tools are spelled alike, the order of their keys included.
func sameTools(a, b []chat.ToolSpec) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, func(x, y chat.ToolSpec) bool {
		return slices.Equal(x.Spec.AppendJSON(nil), y.Spec.AppendJSON(nil))
	})
}
