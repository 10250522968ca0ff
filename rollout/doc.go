// Package rollout runs agents for training and evaluation: it does what package sched decides.
//
//	does            runs attempts concurrently, checks every rollout, hands batches to training, evaluates held-out tasks
//	takes           an agent.Runner, a Source of tasks, new weights from training
//	gives           batches in order of dispatch, evaluations, a Snapshot to resume from, numbers that add up
//	must not know   how an agent acts, engines, tokenizers, losses, files
//	start reading   driver.go; the decisions are in sched/sched.go
//
// # The loop of training
//
// One goroutine runs Driver.Run. Another one trains:
//
//	for {
//		batch, err := d.Next(ctx)                 // errors.Is(err, ErrEnd): there is no further batch
//		version := train(batch.Groups)
//		d.Publish(ctx, version, serve)            // also when training changed nothing: same version, same call
//		d.Evaluate(ctx, heldOut, n)               // now and then
//		save(d.Snapshot(ctx))                     // now and then, with the weights of version
//	}
//
// Weights change between batches and never under a rollout in flight: Publish waits until the batch in the making is made,
// calls serve, and lets the next one start. So every token of a batch was sampled by one version, and a run is
// repeatable wherever the engine is: the same seed gives the same batches, whatever order rollouts end in.
//
//	synchronous (MaxLag 0)      batch k is sampled by the version trained on batch k-1; training and generation alternate
//	one step ahead (MaxLag 1)   batch k is sampled by the version trained on batch k-2, while batch k-1 trains
//
// Batch 0, and batch 1 one step ahead, are sampled by the version that the run starts from. A version may be several
// optimizer steps newer than the one before; lag is bounded in published versions and recorded in steps.
//
// # Evaluation
//
// Evaluate uses the weights that serve when it is called, which after Publish are the learner's own. Task i of an
// evaluation is always group -1-i, so it draws the same random numbers every time and none that training draws.
//
// # Resume
//
// A Snapshot is exact at a step boundary: after Publish has returned and before the next Next. Rollouts that were in
// flight start again under the same key; an engine that draws by key gives the same tokens.
//
// # Agents that do not stop
//
// An attempt whose time is up is cancelled through its context. If the runner has not returned within the grace period
// it is abandoned: the rollout counts as a failure of the harness, Run does not wait for it, and its goroutine is left
// behind until the runner returns. Stats counts such goroutines, and too many of them stop the run.
package rollout
