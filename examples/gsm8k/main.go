// Command gsm8k is molt with one environment more: school mathematics with a calculator. README.md says how to train on it.
package main

import (
	"molt/agent"
	"molt/cli"
)

func main() {
	register()
	cli.Main()
}

func register() {
	agent.Register("gsm8k", "school mathematics, with a calculator", settings{Format: 0.1, Turns: 4}, open)
}
