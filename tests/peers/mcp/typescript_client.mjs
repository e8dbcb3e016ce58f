// The TypeScript SDK as a client: lists the tools and calls one. usage: typescript_client.mjs URL TOOL ARGUMENTS
import { createRequire } from 'node:module'

const require = createRequire(process.env.NODE_PATH + '/')
const { Client } = require('@modelcontextprotocol/sdk/client/index.js')
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js')

const [url, tool, given] = process.argv.slice(2)
const client = new Client({ name: 'peer', version: '1' }, { capabilities: {} })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const { tools } = await client.listTools()
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) })
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), result }))
await client.close()
