// The TypeScript SDK as a client: lists the tools and calls one. An address that ends in `/sse` is asked by the SDK of
// 2025-04 over HTTP+SSE. usage: typescript_client.mjs URL TOOL ARGUMENTS
import { createRequire } from 'node:module'

const require = createRequire(process.env.NODE_PATH + '/')
const [url, tool, given] = process.argv.slice(2)
const old = url.endsWith('/sse')
const sdk = old ? 'old-mcp-sdk' : '@modelcontextprotocol/sdk'
const { Client } = require(`${sdk}/client/index.js`)
const { SSEClientTransport } = require(`${sdk}/client/sse.js`)
const { StreamableHTTPClientTransport } = require(`${sdk}/client/streamableHttp.js`)
const Transport = old ? SSEClientTransport : StreamableHTTPClientTransport

const client = new Client({ name: 'peer', version: '1' }, { capabilities: {} })
await client.connect(new Transport(new URL(url)))
const { tools } = await client.listTools()
let steps = 0
const onprogress = () => { steps += 1 }
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) }, undefined, { onprogress })
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), result, steps }))
await client.close()
