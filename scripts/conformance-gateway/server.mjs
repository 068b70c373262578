// An MCP server of the official TypeScript SDK: on standard streams, or with a port over HTTP.
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const say = (text) => ({ content: [{ type: 'text', text }] })

function make() {
  const server = new McpServer({ name: 'typescript', version: '1' })
  server.registerTool('echo', { inputSchema: { text: z.string(), n: z.number() } }, async ({ text, n }) => say(`${text} ${n}`))
  server.registerTool('work', { inputSchema: { n: z.number() } }, async ({ n }, extra) => {
    for (let i = 1; i <= n; i++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: extra._meta.progressToken, progress: i, total: n } })
    }
    return say('worked')
  })
  server.registerTool('hang', { inputSchema: {} }, (_, extra) => new Promise((_, reject) => extra.signal.addEventListener('abort', () => reject(new Error('cancelled')))))
  server.registerTool('fail', { inputSchema: {} }, async () => { throw new Error('it failed') })
  server.registerTool('forbidden', { inputSchema: {} }, async () => say('REACHED'))
  server.registerResource('open', 'note://open', {}, async (uri) => ({ contents: [{ uri: uri.href, text: 'content' }] }))
  return server
}

if (process.argv[2]) {
  const sessions = new Map()
  createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id'])
    if (!transport) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: (id) => sessions.set(id, transport) })
      await make().connect(transport)
    }
    await transport.handleRequest(req, res)
  }).listen(Number(process.argv[2]), '127.0.0.1')
} else {
  await make().connect(new StdioServerTransport())
}
