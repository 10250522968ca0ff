// Every client library against a server whose script answers PARALLEL with two calls, THINK with reasoning, and anything else
// with a greeting. Usage: node sdks.mjs SERVER. Each failure is a line; the exit code is 1 when there is one.

import OpenAI from 'openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, streamText, tool, stepCountIs } from 'ai'
import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent, run, tool as agentTool, OpenAIResponsesModel, OpenAIChatCompletionsModel, setTracingDisabled } from '@openai/agents'
import { ChatOpenAI } from '@langchain/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { z } from 'zod'

const server = process.argv[2]
const s = await (await fetch(server + '/sessions', { method: 'POST' })).json()
const hello = 'Hello there.'
let good = 0
let bad = 0

// check runs a case, which returns true or what it got instead.
async function check(name, f) {
  let got
  try {
    got = await f()
  } catch (e) {
    got = String(e.stack || e)
  }
  if (got === true) return good++
  bad++
  console.log(name + ': ' + (typeof got === 'string' ? got : JSON.stringify(got))?.slice(0, 800))
}

const says = (content) => [{ role: 'user', content }]
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
const chatTools = [{ type: 'function', function: { name: 'get_weather', description: 'w', parameters: city, strict: true } }]
const responseTools = [{ type: 'function', name: 'get_weather', description: 'w', parameters: city, strict: true }]
const messageTools = [{ name: 'get_weather', description: 'w', input_schema: city }]

const openai = new OpenAI({ baseURL: s.openai_base_url, apiKey: s.api_key, maxRetries: 0 })
await check('openai chat', async () => {
  const r = await openai.chat.completions.create({ model: 'm', messages: says('hi') })
  return (r.choices[0].message.content === hello && r.usage.total_tokens > 0) || r
})
await check('openai chat stream', async () => {
  const r = await openai.chat.completions.stream({ model: 'm', messages: says('hi'), stream_options: { include_usage: true } }).finalChatCompletion()
  return (r.choices[0].message.content === hello && r.usage.prompt_tokens > 0) || r
})
await check('openai chat tools', async () => {
  const r = await openai.chat.completions.stream({ model: 'm', messages: says('PARALLEL'), tools: chatTools }).finalChatCompletion()
  const calls = r.choices[0].message.tool_calls
  return (calls.length === 2 && JSON.parse(calls[1].function.arguments).city === 'Rome' && r.choices[0].finish_reason === 'tool_calls') || r
})
await check('openai chat n, logprobs', async () => {
  const r = await openai.chat.completions.create({ model: 'm', messages: says('hi'), n: 2, logprobs: true })
  return (r.choices.length === 2 && r.choices[1].logprobs.content.length > 0) || r
})
await check('openai completions', async () => {
  const r = await openai.completions.create({ model: 'm', prompt: 'hi', max_tokens: 50 })
  return r.choices[0].text === hello || r
})
await check('openai completions stream', async () => {
  let text = ''
  for await (const c of await openai.completions.create({ model: 'm', prompt: 'hi', max_tokens: 50, stream: true })) text += c.choices[0]?.text ?? ''
  return text === hello || text
})
await check('openai models', async () => (await openai.models.list()).data.length === 1)
await check('openai responses', async () => {
  const r = await openai.responses.create({ model: 'm', input: 'hi' })
  return (r.output_text === hello && r.usage.total_tokens > 0) || r
})
await check('openai responses tools', async () => {
  const r = await openai.responses.stream({ model: 'm', input: 'PARALLEL', tools: responseTools }).finalResponse()
  return r.output.filter((x) => x.type === 'function_call').length === 2 || r
})
await check('openai responses reasoning', async () => {
  const r = await openai.responses.stream({ model: 'm', input: 'THINK' }).finalResponse()
  return (r.output[0].type === 'reasoning' && r.output[1].content[0].text === 'Forty-two.') || r
})
await check('openai previous_response_id', async () => {
  const first = await openai.responses.create({ model: 'm', input: 'hi' })
  const r = await openai.responses.create({ model: 'm', input: 'more', previous_response_id: first.id })
  return r.previous_response_id === first.id || r
})
await check('openai schema', async () => {
  const json_schema = { name: 'place', strict: true, schema: city }
  const r = await openai.chat.completions.create({ model: 'm', messages: says('SCHEMA'), response_format: { type: 'json_schema', json_schema } })
  return JSON.parse(r.choices[0].message.content).city === 'Oslo' || r
})
await check('openai responses schema', async () => {
  const format = { type: 'json_schema', name: 'place', strict: true, schema: city }
  const r = await openai.responses.create({ model: 'm', input: 'SCHEMA', text: { format } })
  return JSON.parse(r.output_text).city === 'Oslo' || r
})
await check('openai schema that is not understood is refused', async () => {
  const json_schema = { name: 'place', schema: { type: 'object', properties: { city: { type: 'string', pattern: '^O' } }, required: ['city'] } }
  try {
    return await openai.chat.completions.create({ model: 'm', messages: says('SCHEMA'), response_format: { type: 'json_schema', json_schema } })
  } catch (e) {
    return (e.status === 400 && /pattern/.test(e.message)) || String(e)
  }
})
await check('openai wrong key', async () => {
  try {
    return await new OpenAI({ baseURL: server + '/v1', apiKey: 'x', maxRetries: 0 }).models.list()
  } catch (e) {
    return e instanceof OpenAI.AuthenticationError || String(e)
  }
})

const anthropic = new Anthropic({ baseURL: s.base_url, apiKey: s.api_key, maxRetries: 0 })
await check('anthropic messages', async () => {
  const r = await anthropic.messages.create({ model: 'm', max_tokens: 100, messages: says('hi') })
  return (r.content[0].text === hello && r.usage.output_tokens > 0) || r
})
await check('anthropic thinking', async () => {
  const r = await anthropic.messages.stream({ model: 'm', max_tokens: 100, messages: says('THINK') }).finalMessage()
  return (r.content[0].type === 'thinking' && r.content[0].signature.length > 0 && r.content[1].text === 'Forty-two.') || r
})
await check('anthropic tools', async () => {
  const r = await anthropic.messages.stream({ model: 'm', max_tokens: 100, messages: says('PARALLEL'), tools: messageTools }).finalMessage()
  return (r.content.length === 3 && r.content[2].input.city === 'Rome' && r.stop_reason === 'tool_use') || r
})
await check('anthropic count_tokens', async () => (await anthropic.messages.countTokens({ model: 'm', messages: says('hi') })).input_tokens > 3)
await check('anthropic image is refused', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
  try {
    return await anthropic.messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [image] }] })
  } catch (e) {
    return (e.status === 400 && /text only/.test(e.message)) || String(e)
  }
})
await check('anthropic models', async () => (await anthropic.models.list()).data.length === 1)

const vercel = {
  chat: createOpenAI({ baseURL: s.openai_base_url, apiKey: s.api_key }).chat('m'),
  responses: createOpenAI({ baseURL: s.openai_base_url, apiKey: s.api_key }).responses('m'),
  anthropic: createAnthropic({ baseURL: s.base_url + '/v1', apiKey: s.api_key })('m'),
  compatible: createOpenAICompatible({ name: 'x', baseURL: s.openai_base_url, apiKey: s.api_key, includeUsage: true })('m'),
}
for (const [name, model] of Object.entries(vercel)) {
  await check('ai ' + name, async () => {
    const r = await generateText({ model, prompt: 'hi', maxRetries: 0 })
    return (r.text === hello && r.usage.inputTokens > 0 && r.usage.outputTokens > 0) || { text: r.text, usage: r.usage }
  })
  await check('ai stream ' + name, async () => {
    const r = streamText({ model, prompt: 'THINK', maxRetries: 0 })
    let text = ''
    for await (const piece of r.textStream) text += piece
    return (text === 'Forty-two.' && (await r.usage).inputTokens > 0) || text
  })
  for (const stream of [false, true]) {
    await check('ai tools ' + name + ' stream ' + stream, async () => {
      let ran = 0
      const get_weather = tool({ description: 'w', inputSchema: z.object({ city: z.string() }), execute: async () => (ran++, 'sunny') })
      const options = { model, prompt: 'PARALLEL', maxRetries: 0, stopWhen: stepCountIs(2), tools: { get_weather } }
      if (!stream) await generateText(options)
      else for await (const part of streamText(options).fullStream) if (part.type === 'error') throw part.error
      return ran >= 2 || ran
    })
  }
}

setTracingDisabled(true)
for (const [name, Model] of [['responses', OpenAIResponsesModel], ['chat', OpenAIChatCompletionsModel]]) {
  for (const stream of [false, true]) {
    await check('agents ' + name + ' stream ' + stream, async () => {
      let ran = 0
      const get_weather = agentTool({ name: 'get_weather', description: 'w', parameters: z.object({ city: z.string() }), execute: async () => (ran++, 'sunny') })
      const agent = new Agent({ name: 'a', instructions: 'be kind', model: new Model(openai, 'm'), tools: [get_weather] })
      try {
        const r = await run(agent, 'PARALLEL', { maxTurns: 2, stream })
        if (stream) await r.completed
      } catch (e) {
        if (!/Max turns/.test(String(e))) throw e
      }
      return ran >= 2 || ran
    })
  }
}

for (const [name, model] of [
  ['chat', new ChatOpenAI({ model: 'm', apiKey: s.api_key, configuration: { baseURL: s.openai_base_url }, maxRetries: 0, streamUsage: true })],
  ['responses', new ChatOpenAI({ model: 'm', apiKey: s.api_key, useResponsesApi: true, configuration: { baseURL: s.openai_base_url }, maxRetries: 0 })],
  ['anthropic', new ChatAnthropic({ model: 'm', apiKey: s.api_key, anthropicApiUrl: s.base_url, maxRetries: 0 })],
]) {
  const join = async (stream) => {
    let whole
    for await (const piece of await stream) whole = whole ? whole.concat(piece) : piece
    return whole
  }
  const greets = (r) => (/Hello/.test(JSON.stringify(r.content)) && r.usage_metadata?.input_tokens > 0) || r
  await check('langchain ' + name, async () => greets(await model.invoke('hi')))
  await check('langchain stream ' + name, async () => greets(await join(model.stream('hi'))))
  await check('langchain tools ' + name, async () => (await model.bindTools(chatTools).invoke('PARALLEL')).tool_calls.length === 2)
  await check('langchain tools stream ' + name, async () => (await join(model.bindTools(chatTools).stream('PARALLEL'))).tool_calls.length === 2)
}

console.log(`${good} good, ${bad} bad`)
process.exit(bad ? 1 : 0)
