// The messages: the client asks for reset, step or state, and each is answered once, with what was asked for or an error.
// (OpenEnv's plain HTTP calls make a new environment each, so they cannot play an episode.)

package openenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"molt/chat"
)

// server is where environments run.
type server struct {
	url    string // without a slash at its end
	header http.Header
	client *http.Client
}

// newServer reads an address. No proxy and no redirect leads elsewhere.
func newServer(address, token string) (*server, error) {
	address = strings.NewReplacer("ws://", "http://", "wss://", "https://").Replace(strings.TrimRight(address, "/"))
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || at.Fragment != "" {
		return nil, fmt.Errorf("url is %q; want the address of an environment, such as http://127.0.0.1:8000", address)
	}
	transport := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: -1}
	transport.Protocols.SetHTTP1(true)
	s := &server{url: address, header: http.Header{}, client: &http.Client{Transport: transport}}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if token != "" {
		s.header.Set("Authorization", "Bearer "+token)
	}
	return s, nil
}

// schema is what the server says of actions and observations.
func (s *server) schema(ctx context.Context) (chat.Value, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/schema", nil)
	if err != nil {
		return chat.Value{}, err
	}
	request.Header = s.header.Clone()
	response, err := s.client.Do(request)
	if err != nil {
		return chat.Value{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return chat.Value{}, fmt.Errorf("%s answered %s; want an OpenEnv server", request.URL, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	if err != nil {
		return chat.Value{}, err
	}
	return chat.ParseValue(body)
}

// session is one environment, as long as its connection lives.
type session struct{ socket *socket }

func (s *server) open(ctx context.Context) (*session, error) {
	socket, err := dial(ctx, s.client, s.url+"/ws", s.header)
	if err != nil {
		return nil, fmt.Errorf("%w: reaching the environment: %w", chat.ErrInfrastructure, err)
	}
	return &session{socket}, nil
}

// refusal is the server's answer to what it cannot do.
type refusal struct{ code, message string }

func (r refusal) Error() string {
	return fmt.Sprintf("the environment answered %s: %s", r.code, r.message)
}

// The codes that mean something here.
const (
	badAction = "VALIDATION_ERROR"
	full      = "CAPACITY_REACHED"
)

// seen is what a reset or a step led to.
type seen struct {
	observation chat.Value // without metadata
	reward      *float64   // nil where the environment names none
	done        bool
}

// ask sends a message and waits for its answer. When ctx ends, so does the session.
func (s *session) ask(ctx context.Context, kind string, data chat.Value) (seen, error) {
	defer context.AfterFunc(ctx, func() { s.socket.conn.Close() })()
	said := s.socket.say(chat.Object(chat.Member{Name: "type", Value: chat.String(kind)}, chat.Member{Name: "data", Value: data}).String())
	answer, open := <-s.socket.in // also where nothing could be sent: the server may have said why before it left
	switch {
	case ctx.Err() != nil:
		return seen{}, context.Cause(ctx)
	case !open:
		return seen{}, fmt.Errorf("%w: the environment is lost: %w", chat.ErrInfrastructure, errors.Join(said, s.socket.why))
	}
	v, err := chat.ParseValue([]byte(answer))
	if err != nil {
		return seen{}, fmt.Errorf("the environment's answer: %w", err)
	}
	return readAnswer(v)
}

func readAnswer(v chat.Value) (seen, error) {
	kind, _ := v.Get("type")
	data, _ := v.Get("data")
	switch kind.Text() {
	case "observation":
		return readSeen(data)
	case "error":
		return seen{}, readRefusal(data)
	}
	return seen{}, fmt.Errorf("the environment answered with %.200q; want an observation", v.String())
}

func readRefusal(data chat.Value) refusal {
	code, _ := data.Get("code")
	message, _ := data.Get("message")
	r := refusal{code.Text(), message.Text()}
	errs, _ := data.Get("errors")
	for _, e := range errs.Items() {
		where, _ := e.Get("loc")
		what, _ := e.Get("msg")
		var path []string
		for _, part := range where.Items() {
			path = append(path, plain(part))
		}
		r.message += fmt.Sprintf("; %s: %s", strings.Join(path, "."), what.Text())
	}
	return r
}

func readSeen(data chat.Value) (s seen, err error) {
	observation, ok := data.Get("observation")
	if !ok || observation.Kind() != chat.KindObject {
		return s, fmt.Errorf("the environment answered without an observation: %.200q", data.String())
	}
	s.observation = without(observation, "metadata")
	done, _ := data.Get("done")
	s.done = done.IsTrue()
	reward, _ := data.Get("reward")
	switch x, isNumber := reward.Float64(); {
	case isNumber:
		s.reward = &x
	case reward.Kind() == chat.KindBool:
		s.reward = new(float64)
		if reward.IsTrue() {
			*s.reward = 1
		}
	case reward.Kind() != chat.KindNull:
		return s, fmt.Errorf("the environment's reward is %.200q; want a number", reward.String())
	}
	return s, nil
}

func without(object chat.Value, name string) chat.Value {
	var kept []chat.Member
	for _, m := range object.Members() {
		if m.Name != name {
			kept = append(kept, m)
		}
	}
	return chat.Object(kept...)
}

// goodbye is how long a server may take to hear it.
const goodbye = time.Second

// close says goodbye and ends the session, also of a server that reads nothing any more.
func (s *session) close() {
	defer time.AfterFunc(goodbye, func() { s.socket.conn.Close() }).Stop()
	s.socket.say(`{"type":"close"}`) // the server ends the session as well when the connection breaks
	s.socket.close()
}
