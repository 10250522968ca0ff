// An agent made with the OpenAI Agents SDK for JavaScript. It finds the policy in its environment and prints its answer; a grader
// judges that. The argument is the wire: responses or chat.

import { readFileSync } from 'node:fs'
import { Agent, run, tool, setOpenAIAPI, setTracingDisabled } from '@openai/agents'
import { calculate, description, parameters } from './calculate.mjs'

setTracingDisabled(true) // else every run is sent to OpenAI
setOpenAIAPI(process.argv[2] === 'chat' ? 'chat_completions' : 'responses')

const agent = new Agent({
  name: 'clerk',
  instructions: 'Use the tool, then end with the number.',
  model: process.env.OPENAI_MODEL,
  tools: [tool({ name: 'calculate', description, parameters, strict: true, execute: async (x) => calculate(x) })],
})
const result = await run(agent, readFileSync(process.env.MOLT_PROMPT_FILE, 'utf8'), { maxTurns: 8 })
console.log(result.finalOutput)
