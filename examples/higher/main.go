// Command higher is molt with one environment more: a game of higher and lower. docs/environment.md explains it line by line.
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
	agent.Register("higher", "finds a hidden number by guessing", settings{Most: 20, Tries: 5}, open)
}
