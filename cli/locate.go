// Models by name: where a command takes a model folder, it takes org/name or org/name@revision too, and the model is found in
// the Hugging Face cache or downloaded.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"molt/hub"
	"molt/run/problem"
	"molt/run/recipe"

	"github.com/alecthomas/kong"
)

// locateArguments replaces the names of models among a command's arguments by their folders.
func (a *app) locateArguments(ctx context.Context, parsed *kong.Context) error {
	for _, arg := range parsed.Selected().Positional {
		if arg.Name != "model" || arg.Target.Kind() != reflect.String {
			continue
		}
		dir, err := a.locate(ctx, arg.Target.String())
		if err != nil {
			return err
		}
		arg.Target.SetString(dir)
	}
	return nil
}

// locateSettings does so for the settings of a run. The folder has the commit in its name, so a run that goes on later goes
// on with the same model.
func (a *app) locateSettings(ctx context.Context, settings []*recipe.Setting) error {
	var problems []error
	for _, s := range settings {
		if !strings.HasSuffix(s.Name, "model_name_or_path") || !hub.IsName(s.Text()) {
			continue
		}
		dir, err := a.locate(ctx, s.Text())
		if err == nil {
			err = s.Set(dir, s.Source)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// locate returns the folder of a model. What is a path stays as it is, whether there is such a folder or not.
func (a *app) locate(ctx context.Context, name string) (string, error) {
	if !hub.IsName(name) {
		return name, nil
	}
	cfg, err := hub.FromEnvironment(os.Getenv)
	if err != nil {
		return "", &problem.Problem{Code: problem.Usage, What: err.Error(), Fix: "`molt help environment` lists the variables", Err: err}
	}
	show := &downloading{to: a.stderr}
	show.width, show.live = isTerminal(a.stderr)
	cfg.Progress = show.moved
	m, err := cfg.Resolve(ctx, name)
	show.end()
	if ctx.Err() != nil {
		return "", &problem.Problem{Code: problem.Interrupted, What: "the download of " + name + " was stopped", Fix: "the same command goes on where it stopped", Err: ctx.Err()}
	}
	if err != nil {
		return "", &problem.Problem{Code: problem.Model, What: err.Error(), Err: err}
	}
	if m.Warning != "" {
		fmt.Fprintf(a.stderr, "warning: %s\n", legible(m.Warning))
	}
	if m.Downloaded > 0 {
		fmt.Fprintf(a.stderr, "%s: %s downloaded to %s\n", name, megabytes(m.Downloaded), legible(m.Dir))
	}
	if m.Downloaded > 0 && len(m.Skipped) > 0 {
		fmt.Fprintf(a.stderr, "%s: %s\n", name, legible(skipped(m.Skipped)))
	}
	return m.Dir, nil
}

// skipped says what of a repository was left where it is, and how to get it.
func skipped(files []string) string {
	const shown = 6
	list := strings.Join(files[:min(len(files), shown)], ", ")
	if more := len(files) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "not downloaded, since nothing here reads it: " + list + " (MOLT_DOWNLOAD_ALSO='onnx/*,*.bin' downloads what fits such patterns)"
}

// downloading shows how far a download is: one line that changes on a terminal, a line every ten seconds elsewhere.
type downloading struct {
	to    io.Writer
	width int
	live  bool
	last  time.Time
	drawn bool
}

func (d *downloading) moved(p hub.Progress) {
	every := 10 * time.Second
	if d.live {
		every = 100 * time.Millisecond
	}
	if now := time.Now(); now.Sub(d.last) >= every {
		d.last = now
	} else {
		return
	}
	line := fmt.Sprintf("downloading %s: %s of %s, %d of %d files", p.Model, megabytes(p.Done), megabytes(p.Total), p.FilesDone, p.Files)
	if !d.live {
		fmt.Fprintln(d.to, line)
		return
	}
	fmt.Fprintf(d.to, "\r%.*s\x1b[K", d.width-1, line)
	d.drawn = true
}

// end leaves an empty line to what comes next.
func (d *downloading) end() {
	if d.drawn {
		fmt.Fprint(d.to, "\r\x1b[K")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
