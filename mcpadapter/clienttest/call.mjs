// Lists the tools of a server and calls one, with an official TypeScript client,
// and prints what it saw as one line of JSON.
//
//   node call.mjs v1|v2-legacy|v2-modern URL TOOL ARGUMENTS
//   node call.mjs v1|v2-legacy|v2-modern exec:COMMAND TOOL ARGUMENTS
//
// The credential is read from standard input, so that no process list shows it. A
// command is a JSON array, is talked to over its standard input and output, and has
// a credential of its own.
import { readFileSync } from 'node:fs';

const [, , flavour, url, tool, args] = process.argv;
const token = readFileSync(0, 'utf8').trim();
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const self = { name: 'reeve-client-test', version: '1.0.0' };

const command = url.startsWith('exec:') ? JSON.parse(url.slice('exec:'.length)) : null;
const started = command && { command: command[0], args: command.slice(1), stderr: 'inherit' };

async function connect() {
  if (flavour === 'v1' && started) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client(self);
    await client.connect(new StdioClientTransport(started));
    return client;
  }
  if (flavour === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(self);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const mode = flavour === 'v2-modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new Client(self, { versionNegotiation: { mode } });
  if (started) {
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    await client.connect(new StdioClientTransport(started));
    return client;
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const client = await connect();
const { tools } = await client.listTools();
const first = await client.callTool({ name: tool, arguments: JSON.parse(args) });
const again = await client.callTool({ name: tool, arguments: JSON.parse(args) });
const refused = await client.callTool({ name: tool, arguments: { no: 'such key' } });
console.log(JSON.stringify({
  tools: tools.map((t) => t.name),
  server: client.getServerVersion()?.name,
  first, again, refused,
}));
await client.close();
