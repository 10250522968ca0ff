// Paths. The session is the first part of a path, /s/KEY/…, or the key that a client sends as its API key. Clients append to
// the base that they were given what they think is missing, so /v1 may stand there once, twice or not at all.

package serve

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"molt/gateway/anthropic"
	"molt/gateway/capture"
	"molt/gateway/openai"
	"molt/gateway/responses"
	"molt/gateway/wire"
)

// dialect is how one endpoint speaks.
type dialect struct {
	decode func(s *capture.Session, body []byte) (*wire.Request, *wire.Problem)
	stream func(s *Server, r *wire.Request) wire.Stream
	encode func(s *Server, r *wire.Request, reply *wire.Reply) []byte
	fail   func(p *wire.Problem) (int, []byte)
	count  bool // answers with the number of tokens
	// hangs up on a stream whose client should try again: clients of this wire take an error inside a stream for the end, and
	// a broken connection for what it is.
	hangs bool
}

var (
	chatWire = dialect{
		decode: func(s *capture.Session, body []byte) (*wire.Request, *wire.Problem) {
			return openai.Decode(body, s.Seen())
		},
		stream: func(_ *Server, r *wire.Request) wire.Stream { return openai.NewStream(r, false) },
		encode: func(_ *Server, r *wire.Request, reply *wire.Reply) []byte { return openai.Encode(r, reply, false) },
		fail:   openai.Error,
		hangs:  true,
	}
	rawWire = dialect{
		decode: func(_ *capture.Session, body []byte) (*wire.Request, *wire.Problem) { return openai.DecodeRaw(body) },
		stream: func(_ *Server, r *wire.Request) wire.Stream { return openai.NewStream(r, true) },
		encode: func(_ *Server, r *wire.Request, reply *wire.Reply) []byte { return openai.Encode(r, reply, true) },
		fail:   openai.Error,
	}
	responsesWire = dialect{
		decode: func(s *capture.Session, body []byte) (*wire.Request, *wire.Problem) {
			return responses.Decode(body, s.Seen(), s.Piece)
		},
		stream: func(s *Server, r *wire.Request) wire.Stream { return responses.NewStream(r, s.config.Incomplete) },
		encode: func(s *Server, r *wire.Request, reply *wire.Reply) []byte {
			return responses.Encode(r, reply, s.config.Incomplete)
		},
		fail: responses.Error,
	}
	messagesWire = dialect{
		decode: func(s *capture.Session, body []byte) (*wire.Request, *wire.Problem) {
			return anthropic.Decode(body, s.Seen())
		},
		stream: func(_ *Server, r *wire.Request) wire.Stream { return anthropic.NewStream(r) },
		encode: func(_ *Server, r *wire.Request, reply *wire.Reply) []byte { return anthropic.Encode(r, reply) },
		fail:   anthropic.Error,
		hangs:  true,
	}
)

// counting is a dialect that answers with the number of tokens.
func counting(d dialect) dialect {
	d.count = true
	return d
}

var posts = map[string]dialect{
	"chat/completions":       chatWire,
	"completions":            rawWire,
	"responses":              responsesWire,
	"responses/input_tokens": counting(responsesWire),
	"messages":               messagesWire,
	"messages/count_tokens":  counting(messagesWire),
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, path, ok := split(r.URL)
	if _, private := listensAt(r); private && !here(hostname(r)) {
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Forbidden, Message: "the server answers on this machine only, by the name localhost or a loopback address, not " + strconv.Quote(hostname(r))})
		return
	}
	if !ok {
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Missing, Message: "no such path"})
		return
	}
	if path == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		reply(w, http.StatusOK, []byte(`{"object":"server","server":"molt"}`))
		return
	}
	if name, ok := strings.CutPrefix(path+"/", "sessions/"); ok && key == "" {
		s.sessions(w, r, strings.TrimSuffix(name, "/"))
		return
	}
	if (path == "rollouts" || strings.HasPrefix(path, "rollouts/")) && key == "" && s.config.Rollouts != nil {
		if p := s.unauthorized(r); p != nil {
			s.fail(w, r, chatWire, p)
			return
		}
		s.config.Rollouts.ServeHTTP(w, r)
		return
	}
	d, known := posts[path]
	if !known {
		d = ofHeaders(r)
	}
	session, found := s.session(r, key)
	switch {
	case !found:
		s.fail(w, r, d, &wire.Problem{Class: wire.Unauthorized, Message: "no open session has this key"})
	case known && r.Method == http.MethodPost:
		s.answer(w, r, d, session)
	case path == "responses" && r.Header.Get("Upgrade") != "":
		s.fail(w, r, d, &wire.Problem{Class: wire.Upgrade, Message: "replies are streamed as events; send a POST"})
	case r.Method == http.MethodGet && (path == "models" || strings.HasPrefix(path, "models/")):
		s.models(w, strings.TrimPrefix(strings.TrimPrefix(path, "models"), "/"))
	default:
		s.fail(w, r, d, &wire.Problem{Class: wire.Missing, Message: "no such endpoint: " + r.Method + " " + path})
	}
}

// split takes the key and every /v1 off the front of a path.
func split(u *url.URL) (key, path string, ok bool) {
	path = u.Path
	if len(path) > 1024 || strings.Contains(path, "..") {
		return "", "", false
	}
	if rest, has := strings.CutPrefix(path, "/s/"); has {
		key, path, _ = strings.Cut(rest, "/")
		if key == "" {
			return "", "", false
		}
	}
	path = strings.Trim(path, "/")
	for path == "v1" || strings.HasPrefix(path, "v1/") {
		path = strings.Trim(strings.TrimPrefix(path, "v1"), "/")
	}
	return key, path, true
}

// ofHeaders guesses the dialect of a request whose path says nothing.
func ofHeaders(r *http.Request) dialect {
	if r.Header.Get("anthropic-version") != "" || r.Header.Get("x-api-key") != "" {
		return messagesWire
	}
	return chatWire
}

// session finds the session by the key in the path, else by the one in a header.
func (s *Server) session(r *http.Request, key string) (*capture.Session, bool) {
	if key == "" {
		key = r.Header.Get("x-api-key")
	}
	if key == "" {
		key = bearer(r)
	}
	if key == "" {
		return nil, false
	}
	return s.config.Gateway.Find(key)
}

func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

func (s *Server) models(w http.ResponseWriter, name string) {
	g := s.config.Gateway
	model := g.Model()
	if model == "" {
		model = "policy"
	}
	if name != "" { // whatever a client calls it, it is the model that is trained
		reply(w, http.StatusOK, openai.Model(name, s.created, g.Context()))
		return
	}
	reply(w, http.StatusOK, openai.Models(model, s.created, g.Context()))
}

// fail answers with a problem.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, d dialect, p *wire.Problem) {
	status, body := d.fail(p)
	s.config.Log.Debug("request failed", "method", r.Method, "status", status, "problem", p.Error())
	if p.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.Retry))
	}
	reply(w, status, body)
}

func reply(w http.ResponseWriter, status int, body []byte) {
	replyAs(w, "application/json", status, append(body, '\n'))
}

func replyAs(w http.ResponseWriter, kind string, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
