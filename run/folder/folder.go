// A run is a folder. Folder opens one: new, or unfinished with the same configuration; anything else is refused. What
// survives kill -9 is what lies here: run.json (who the run is, and whether it ended), checkpoints/ (weights, optimizer
// and position, written whole or not at all), events.jsonl and rollouts.jsonl (cut back to the checkpoint on resume).

package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molt/internal/atomicfile"
	"molt/internal/spell"
	"molt/run/machine"
	"molt/run/problem"
	"molt/run/recipe"

	"github.com/gofrs/flock"
)

// Folder is an open run folder. One process holds it at a time.
type Folder struct {
	Path   string
	Fresh  bool // nothing was done here yet
	record record
	locks  []*flock.Flock
}

// record is run.json.
type record struct {
	Command  string            `json:"command"`
	Epoch    int               `json:"numeric_epoch"`
	Digest   string            `json:"digest"`   // over everything that changes results
	Settings map[string]string `json:"settings"` // those settings, to name what differs
	Leg      int               `json:"leg"`      // times the run was started
	Outcome  string            `json:"outcome"`  // "" while unfinished
}

// The names inside a run folder.
const (
	RecordFile     = "run.json"
	ResultFile     = "result.json"
	lockFile       = "lock"
	ConfigFile     = "config.yaml"
	EventsFile     = "events.jsonl"
	RolloutsFile   = "rollouts.jsonl"
	CheckpointsDir = "checkpoints"
	BestDir        = "best"
	LastDir        = "last"
	FinalDir       = "final"
	ReportFile     = "report.html"
	TensorboardDir = "tensorboard"
)

// Open creates the folder, or opens it to resume an unfinished run of the same command, settings and inputs. Inputs
// are facts that change results and are no settings, such as the digest of a data file.
func Open(path, command string, settings []*recipe.Setting, inputs map[string]string) (f *Folder, err error) {
	if path == "" {
		return nil, &problem.Problem{Code: problem.Setting, What: "no run folder", Fix: "say where to write with --ckpt.path FOLDER"}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, &problem.Problem{Code: problem.Resource, Where: path, What: "cannot create the run folder", Why: problem.Reason(err), Fix: "choose a folder you may write to", Err: err}
	}
	f = &Folder{Path: path}
	if err := f.refuseStrangers(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.acquire(); err != nil {
		return f, err
	}
	if err := f.begin(command, settings, inputs); err != nil {
		return f, err
	}
	return f, f.sweep()
}

// sweep removes what a killed writer left half done.
func (f *Folder) sweep() error {
	for _, pattern := range []string{".*.tmp", ".*.partial", "*/.*.tmp", "*/.*.partial"} {
		left, err := fs.Glob(os.DirFS(f.Path), pattern)
		for _, name := range left {
			err = errors.Join(err, os.RemoveAll(f.File(name)))
		}
		if err != nil {
			return &problem.Problem{Code: problem.Resource, Where: f.Path, What: "cannot remove what an earlier leg left", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
		}
	}
	return nil
}

// refuseStrangers refuses a folder that holds files and no run.
func (f *Folder) refuseStrangers() error {
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: f.Path, What: "cannot read the run folder", Why: problem.Reason(err), Fix: "choose another folder", Err: err}
	}
	if _, err := os.Stat(filepath.Join(f.Path, RecordFile)); err == nil {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); name != lockFile && name != ConfigFile && !strings.HasSuffix(name, ".tmp") {
			return &problem.Problem{Code: problem.RunFolder, Where: f.Path, What: "the folder is not empty and holds no run", Why: "it has " + name, Fix: "choose an empty folder"}
		}
	}
	return nil
}

// acquire locks the file lock, and the folder itself, so that somebody who deletes the file lets no second process in. Some
// network file systems lock no folders; there the file has to do.
func (f *Folder) acquire() error {
	file, whole := flock.New(f.File(lockFile)), flock.New(f.Path, flock.SetFlag(os.O_RDONLY))
	for _, lock := range []*flock.Flock{file, whole} {
		held, err := lock.TryLock()
		if err != nil && lock == whole {
			return nil
		}
		if err != nil {
			return &problem.Problem{Code: problem.Resource, Where: f.Path, What: "cannot lock the run folder", Why: problem.Reason(err), Fix: "choose a folder you may write to", Err: err}
		}
		f.locks = append(f.locks, lock)
		if !held {
			return &problem.Problem{Code: problem.Busy, Where: f.Path, What: "another run holds this folder", Fix: "wait for it to end, or choose another folder"}
		}
	}
	return nil
}

// Mine reports whether this process still holds the folder at its path: another may hold what was put in its place. Whoever
// writes something that a resumed run depends on asks before. Where the folder is locked, the file lock may be gone.
func (f *Folder) Mine() error {
	lock := f.locks[len(f.locks)-1]
	held, err := lock.Stat()
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: lock.Path(), What: "cannot look at the lock", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
	}
	if there, err := os.Stat(lock.Path()); err != nil || !os.SameFile(held, there) {
		return &problem.Problem{
			Code: problem.Busy, Where: lock.Path(), What: "it was moved, deleted or replaced while the run went on, so another run may hold the folder", Err: err,
			Fix: "leave run folders alone while they are written; the same command resumes from the last checkpoint",
		}
	}
	return nil
}

// begin decides between fresh, resumed and refused, and counts the leg.
func (f *Folder) begin(command string, settings []*recipe.Setting, inputs map[string]string) error {
	want := record{Command: command, Epoch: machine.NumericEpoch, Settings: decisive(settings)}
	maps.Copy(want.Settings, inputs)
	want.Digest = want.digest()
	have, err := f.readRecord()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Fresh = true
	case problem.Lacking(err):
		return &problem.Problem{Code: problem.Resource, Where: f.File(RecordFile), What: "cannot read what this run is", Why: problem.Reason(err), Fix: "make room in memory; the same command goes on", Err: err}
	case err != nil:
		return &problem.Problem{Code: problem.RunFolder, Where: filepath.Join(f.Path, RecordFile), What: "cannot read what this run is", Why: problem.Reason(err), Fix: "choose another folder", Err: err}
	case have.Outcome != "":
		return &problem.Problem{Code: problem.RunFolder, Where: f.Path, What: "the run here is finished (" + have.Outcome + ")", Fix: f.afterwards(command)}
	case have.Epoch != want.Epoch:
		return &problem.Problem{
			Code: problem.RunFolder, Where: f.Path, What: fmt.Sprintf("the unfinished run here is of numeric epoch %d and this program of %d: they compute other bits", have.Epoch, want.Epoch),
			Fix: "resume it with the program that began it, or choose another folder",
		}
	case have.Digest != want.Digest:
		return &problem.Problem{Code: problem.RunFolder, Where: f.Path, What: "the unfinished run here has another configuration", Why: difference(have, want), Fix: "give the same settings to resume it, or choose another folder"}
	default:
		want.Leg = have.Leg
	}
	want.Leg++
	f.record = want
	if err := f.write(ConfigFile, []byte(recipe.Write(settings))); err != nil {
		return err
	}
	return f.writeRecord()
}

// afterwards says what can be done with a finished run.
func (f *Folder) afterwards(command string) string {
	fix := "choose another folder, or look at it with `molt show " + spell.Quoted(f.Path) + "`"
	if model := map[string]string{"rl": LastDir, "sft": FinalDir}[command]; model != "" {
		fix += "; to train its weights further, begin another run with --model.model_name_or_path " + spell.Quoted(f.File(model))
	}
	return fix
}

// Digest identifies the configuration.
func (f *Folder) Digest() string { return f.record.Digest }

// File is the path of a file in the folder.
func (f *Folder) File(name ...string) string {
	return filepath.Join(append([]string{f.Path}, name...)...)
}

// Finish keeps the result and marks the run as ended; it will not be resumed.
func (f *Folder) Finish(result any) error {
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	if err := f.write(ResultFile, append(data, '\n')); err != nil {
		return err
	}
	f.record.Outcome = "finished"
	return f.writeRecord()
}

// ResultOf reads the result of the run in dir; nil when there is none that has ended. Whoever opens the folder says what may
// be wrong with it.
func ResultOf[R any](dir string) (*R, error) {
	f := Folder{Path: dir}
	if r, err := f.readRecord(); err != nil || r.Outcome == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.File(ResultFile))
	result := new(R)
	if err == nil {
		err = json.Unmarshal(data, result)
	}
	if err != nil {
		return nil, &problem.Problem{Code: problem.RunFolder, Where: f.File(ResultFile), What: "cannot read the result of a finished run", Why: problem.Reason(err), Fix: "start again in another folder", Err: err}
	}
	return result, nil
}

// Close releases the folder.
func (f *Folder) Close() error {
	var errs []error
	for _, lock := range f.locks {
		errs = append(errs, lock.Unlock())
	}
	return errors.Join(errs...)
}

func (f *Folder) readRecord() (record, error) {
	var r record
	data, err := os.ReadFile(f.File(RecordFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

func (f *Folder) writeRecord() error {
	data, err := json.MarshalIndent(f.record, "", "  ")
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	return f.write(RecordFile, append(data, '\n'))
}

func (f *Folder) write(name string, data []byte) error {
	if err := atomicfile.Write(f.File(name), data); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: f.File(name), What: "cannot write", Why: problem.Reason(err), Fix: "make room or choose another folder; the same command resumes", Err: err}
	}
	return nil
}

// decisive keeps the settings that change results.
func decisive(settings []*recipe.Setting) map[string]string {
	m := map[string]string{}
	for _, s := range settings {
		if !s.Free {
			m[s.Name] = s.Text()
		}
	}
	return m
}

func (r *record) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", r.Command, r.Epoch)
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		fmt.Fprintf(h, "%q=%q\n", name, r.Settings[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// difference names the first setting that differs.
func difference(have, want record) string {
	if have.Command != want.Command {
		return fmt.Sprintf("it is a run of `molt %s`", have.Command)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Settings)) {
		if have.Settings[name] != want.Settings[name] {
			return fmt.Sprintf("%s was %q and is now %q", name, have.Settings[name], want.Settings[name])
		}
	}
	return "it was made by another version of the program"
}
