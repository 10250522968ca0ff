// An agent made with LangChain for JavaScript (its loop is LangGraph's). It finds the policy in its environment and prints its
// answer; a grader judges that. The argument is the wire: chat, responses or anthropic.

import { readFileSync } from 'node:fs'
import { createAgent, tool } from 'langchain'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { calculate, description, parameters } from './calculate.mjs'

const { OPENAI_BASE_URL, OPENAI_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, MOLT_PROMPT_FILE } = process.env
const wire = process.argv[2] ?? 'chat'
const model =
  wire === 'anthropic'
    ? new ChatAnthropic({ model: ANTHROPIC_MODEL, anthropicApiUrl: ANTHROPIC_BASE_URL })
    : new ChatOpenAI({ model: OPENAI_MODEL, configuration: { baseURL: OPENAI_BASE_URL }, useResponsesApi: wire === 'responses' })

const agent = createAgent({
  model,
  tools: [tool(async (x) => calculate(x), { name: 'calculate', description, schema: parameters })],
  systemPrompt: 'Use the tool, then end with the number.',
})
const result = await agent.invoke({ messages: [{ role: 'user', content: readFileSync(MOLT_PROMPT_FILE, 'utf8') }] }, { recursionLimit: 20 })
console.log(result.messages.at(-1).text)
