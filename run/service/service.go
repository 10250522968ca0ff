package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/engine/local"
	"molt/gateway/capture"
	"molt/gateway/script"
	"molt/gateway/serve"
	"molt/numeric/model"
	"molt/run/doors"
	"molt/run/machine"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/service/queue"
)

// Config says what answers, and to whom. The names of the flags are those of molt serve.
type Config struct {
	Model   string // Hugging Face folder, or a folder with tokenizer and template when a script answers; "" with a script takes a small one
	Adapter string
	Script  string // file of replies; "" lets the model answer
	Parser  string // family of the model's replies; "" finds it

	Listen string // address; other machines can reach it only with Token and a certificate
	Token  string
	Cert   string // PEM files; "" speaks plain HTTP
	Key    string

	Folder      string // of sessions and tasks, from which they are restored; "" keeps them in memory
	Mode        string // capture.Append or capture.Faithful
	Sampling    string // capture.Honour, Keep or Refuse
	Temperature float64
	MaxTokens   int // of one reply
	Context     int // of a conversation; 0 takes what the model has
	Budget      int // tokens of one session; 0 sets no bound
	MiB         int // that all sessions keep in memory
	Threads     int
	Log         *slog.Logger // failed requests; nil drops them

	Rollouts Rollouts
}

// Rollouts says how the rollouts are played that clients submit.
type Rollouts struct {
	Agent    recipe.AgentConfig // plays orders that name no other
	Trusting bool               // clients may name programs, which run as the user of this server
	Places   [3]int             // rollouts that are set up, played and graded at once
	Waiting  int                // rollouts that may wait
	MiB      int                // of results, finished and to come
	Life     time.Duration      // of a task after its end
	Most     int                // rollouts of one order
	Seconds  float64            // that one rollout may take
	Log      io.Writer          // what agents print; nil drops it
}

// Defaults serve people on this machine.
func Defaults() Config {
	return Config{
		Listen: "127.0.0.1:8377", Mode: string(capture.Append), Sampling: string(capture.Honour), Temperature: 1, MaxTokens: 4096, MiB: 4096,
		Rollouts: Rollouts{Agent: recipe.Defaults().Agent, Places: [3]int{8, 64, 16}, Waiting: 4096, MiB: 1024, Life: time.Hour, Most: 1024, Seconds: 3600},
	}
}

// Service is an open server that does not answer yet: Run does.
type Service struct {
	Notes    []string // what the user should know
	listener net.Listener
	gateway  *capture.Gateway
	server   *serve.Server
	rollouts *rollouts
	model    *models.Model // of rollouts; with a script only its texts
	secure   bool
	closers  []func() error
}

// Open opens everything. Close it in the end, also after Run.
func Open(c Config) (_ *Service, err error) {
	s := &Service{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	g := capture.Defaults()
	if err := s.answers(&c, &g); err != nil {
		return nil, err
	}
	g.Model, g.Mode, g.Policy, g.Folder, g.MaxTokens = modelName(&c), capture.Mode(c.Mode), capture.Policy(c.Sampling), c.Folder, c.Budget
	g.Memory = int64(c.MiB) << 20
	g.Sampling.Temperature, g.Sampling.MaxTokens = float32(c.Temperature), c.MaxTokens
	s.gateway, err = capture.New(g)
	if errors.Is(err, capture.ErrHeld) {
		return nil, &problem.Problem{Code: problem.Busy, Where: c.Folder, What: "another server keeps its sessions in this folder", Fix: "end it, or choose another folder", Err: err}
	}
	if err != nil {
		return nil, &problem.Problem{Code: problem.Setting, What: err.Error(), Fix: "mend the settings", Err: err}
	}
	s.closers = append(s.closers, s.gateway.Close)
	s.Notes = append(s.Notes, s.gateway.Notes()...)
	desk, err := s.desk(&c, &g)
	if err != nil {
		return nil, err
	}
	if s.server, err = serve.New(serve.Config{Gateway: s.gateway, Token: c.Token, Log: c.Log, Rollouts: desk}); err != nil {
		return nil, err
	}
	return s, s.listen(&c)
}

// desk opens what plays rollouts. The agent of the settings is opened at once, so that what is wrong with it is said now.
func (s *Service) desk(c *Config, g *capture.Config) (*desk, error) {
	a := &agents{
		settings: c.Rollouts.Agent, trusting: c.Rollouts.Trusting, model: s.model, sampling: g.Sampling, generator: g.Generator,
		maxLen: s.gateway.Context(), log: c.Rollouts.Log, open: map[agentChoice]*doors.Agent{},
	}
	if c.Budget > 0 {
		a.maxLen = min(a.maxLen, c.Budget)
	}
	bounds := queue.Config{Places: c.Rollouts.Places, Waiting: c.Rollouts.Waiting, Bytes: int64(c.Rollouts.MiB) << 20, Life: int64(c.Rollouts.Life.Seconds())}
	if err := bounds.Validate(); err != nil {
		return nil, &problem.Problem{Code: problem.Setting, Where: "--places", What: err.Error(), Fix: "raise them", Err: err}
	}
	var place shelf
	if c.Folder != "" {
		place = shelf(filepath.Join(c.Folder, "rollouts"))
	}
	d := &desk{most: most{c.Rollouts.Most, a.maxLen, c.Rollouts.Seconds}}
	tasks, notes, err := place.open(d.most, time.Now())
	if err != nil {
		return nil, &problem.Problem{Code: problem.Resource, Where: string(place), What: err.Error(), Fix: "make the folder readable and writable", Err: err}
	}
	s.Notes = append(s.Notes, notes...)
	s.rollouts = newRollouts(bounds, a, place)
	s.rollouts.adopt(tasks, c.Rollouts.Life)
	d.rollouts = s.rollouts
	s.closers = append(s.closers, s.rollouts.close)
	if _, err := a.get(context.Background(), &order{}); err != nil {
		if p, ok := errors.AsType[*problem.Problem](err); ok {
			return nil, p
		}
		return nil, err
	}
	return d, nil
}

func modelName(c *Config) string {
	name := strings.TrimRight(c.Model, "/")
	if name = name[strings.LastIndex(name, "/")+1:]; name == "" || name == "." {
		return "policy"
	}
	return name
}

// answers opens the generator: the model's, or a script.
func (s *Service) answers(c *Config, g *capture.Config) (err error) {
	if c.Model == "" && c.Script == "" {
		return &problem.Problem{Code: problem.Usage, What: "nothing to answer with", Fix: "name a model folder, or a file of replies with --script"}
	}
	var m *models.Model
	if c.Model != "" {
		if m, err = models.Open(c.Model); err == nil {
			err = errors.Join(m.NeedTemplate(), m.Adapt(c.Adapter))
		}
		if err != nil {
			return err
		}
		g.Renderer, g.Family, g.Sampling.StopTokens = m.Renderer, m.Family, m.Stops()
	} else if g.Renderer, err = script.Model(); err == nil {
		g.Family, err = parse.Named("hermes")
		m = &models.Model{Path: c.Script, Renderer: g.Renderer, Tok: g.Renderer.Tokenizer()}
	}
	if err == nil && c.Parser != "" {
		g.Family, err = parse.Named(c.Parser)
	}
	if err != nil {
		return &problem.Problem{Code: problem.Setting, Where: "--parser", What: err.Error(), Fix: "choose one of them", Err: err}
	}
	m.Family, s.model = g.Family, m
	m.Renderer = m.Renderer.WithReader(m.Family.Reader()) // for environments, whose sessions are in this process
	if g.Family.Form == "" {
		s.Notes = append(s.Notes, "no syntax of tool calls is known for this model: its replies are plain text")
	}
	if c.Script != "" {
		g.Generator, err = s.scripted(c, g.Renderer)
		return err
	}
	g.Generator, err = s.local(c, m)
	return err
}

// scripted answers from a file.
func (s *Service) scripted(c *Config, r *chat.Renderer) (engine.Generator, error) {
	file, err := os.Open(c.Script)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Data, Where: c.Script, What: "cannot read the script", Why: problem.Reason(err), Fix: "check the path", Err: err}
	}
	defer file.Close()
	lines, err := script.Read(file)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Data, Where: c.Script, What: err.Error(), Fix: `write one {"text": …} on each line`, Err: err}
	}
	end, _ := r.EndOfTurn()
	context := c.Context
	if context == 0 {
		context = 200_000
	}
	return script.New(lines, r.Tokenizer(), end, context), nil
}

// local answers with the embedded engine.
func (s *Service) local(c *Config, m *models.Model) (engine.Generator, error) {
	shape := m.Shape
	most := int64(4 << 30)
	if have := machine.Memory(); have > 0 {
		most = min(most, have/4)
	}
	if fits := int(most / model.KVBytes(shape, 1) * model.PageTokens); fits < shape.MaxPositions {
		shape.MaxPositions = fits
	}
	if c.Context > 0 {
		shape.MaxPositions = min(shape.MaxPositions, c.Context)
	}
	config := local.Default()
	config.Threads = c.Threads
	generator, err := local.NewGenerator(shape, m.Weights, config)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Resource, Where: c.Model, What: err.Error(), Fix: "lower --context", Err: err}
	}
	s.closers = append(s.closers, generator.Close)
	return generator, nil
}

func (s *Service) listen(c *Config) error {
	var secure *tls.Config
	if c.Cert != "" || c.Key != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return &problem.Problem{Code: problem.Setting, Where: "--tls-cert", What: "the certificate cannot be used", Why: err.Error(), Fix: "name a certificate and its key as PEM files", Err: err}
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	listener, err := serve.Listen(c.Listen, c.Token, secure)
	if err != nil {
		fix := "choose another address; on one that other machines reach, give --token-file, --tls-cert and --tls-key"
		if errors.Is(err, syscall.EADDRINUSE) {
			fix = "end what listens there, or choose another address"
		}
		return &problem.Problem{Code: problem.Resource, Where: "--listen", What: err.Error(), Fix: fix, Err: err}
	}
	s.listener, s.secure = listener, secure != nil
	return nil
}

// URL is where the service answers.
func (s *Service) URL() string {
	if s.secure {
		return "https://" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String()
}

// Session opens a session. Its Export says what was captured.
func (s *Service) Session(seed uint64) (*capture.Session, agent.Address, error) {
	session, err := s.gateway.Open(capture.Options{Seed: seed})
	if err != nil {
		return nil, agent.Address{}, fmt.Errorf("service: %w", err)
	}
	return session, agent.Address{Session: session.ID, URL: s.URL() + "/s/" + session.Key, Key: session.Key, Model: s.gateway.Model()}, nil
}

// Context is the longest conversation, in tokens.
func (s *Service) Context() int { return s.gateway.Context() }

// Run answers until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	defer serve.Pace()()
	var expiring sync.WaitGroup
	expiring.Go(func() { s.rollouts.run(ctx) })
	err := s.server.Serve(ctx, s.listener)
	s.rollouts.cancel(errEnds) // also when the listener failed
	expiring.Wait()
	return err
}

// Close ends what is still being answered and frees everything.
func (s *Service) Close() error {
	if s.listener != nil {
		s.listener.Close() // of a service that never ran
	}
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}
