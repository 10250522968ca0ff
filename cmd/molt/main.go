// Command molt trains language-model agents with reinforcement learning: one binary for making, training, evaluating and
// looking at models. A program with environments of its own looks like this one, with agent.Register before: see
// docs/environment.md.
package main

import "molt/cli"

func main() { cli.Main() }
