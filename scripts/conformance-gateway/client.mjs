// A client of the official TypeScript SDK: client.mjs URL, or client.mjs COMMAND...
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [to, ...args] = process.argv.slice(2)
const text = (result) => result.content.map((c) => c.text ?? '').join('')
function expect(what, ok) {
  if (!ok) {
    console.error(`typescript client: ${what}`)
    process.exit(1)
  }
}

const client = new Client({ name: 'typescript', version: '1' })
const transport = to.startsWith('http') ? new StreamableHTTPClientTransport(new URL(to)) : new StdioClientTransport({ command: to, args, env: process.env })
await client.connect(transport)
// The SDK drops progress that it reads together with the response, also without a gateway, so progress counts as the transport delivers it.
const seen = []
const deliver = transport.onmessage
transport.onmessage = (message, extra) => {
  if (message.method === 'notifications/progress') seen.push(message.params.progress)
  return deliver(message, extra)
}
const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options)

const { tools } = await client.listTools()
expect(`tools are ${tools.map((t) => t.name)}`, tools.length >= 4)
expect('echo', text(await call('echo', { text: 'hi', n: 1 })) === 'hi 1')
const denied = await call('forbidden')
expect(`a denied call says ${text(denied)}`, denied.isError && text(denied).includes('T-1') && !text(denied).includes('REACHED'))
const failed = await call('fail')
expect(`a tool that fails says ${text(failed)}`, failed.isError && !text(failed).includes('Tenet')) // some SDKs leave the reason out
await call('work', { n: 20 }, { onprogress: () => {} })
expect(`progress is ${seen}`, seen.length === 20 && seen.every((p, i) => p === i + 1))
if (tools.some((t) => t.name === 'hang')) {
  const abort = new AbortController()
  setTimeout(() => abort.abort('enough'), 100)
  const ended = await call('hang', {}, { signal: abort.signal }).then(() => 'answered', () => 'cancelled')
  expect(`a cancelled call is ${ended}`, ended === 'cancelled')
}
expect('a resource', (await client.readResource({ uri: 'note://open' })).contents[0].text === 'content')
let next = 0
let wrong = 0
await Promise.all(Array.from({ length: 50 }, async () => {
  while (next < 1000) {
    const i = next++
    if (text(await call('echo', { text: 'call', n: i })) !== `call ${i}`) wrong++
  }
}))
expect(`${wrong} of 1,000 calls have a wrong answer`, wrong === 0)
await client.close()
console.log('typescript client passes')
