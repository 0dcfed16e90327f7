// The TypeScript packages: `@modelcontextprotocol/sdk` by the argument `sdk`, `@modelcontextprotocol/client` by `client`.
import assert from "node:assert/strict";

const [, , which, pin] = process.argv;
const { PETSTORE_MCP, PETSTORE_KEY } = process.env;
const { Client, StreamableHTTPClientTransport } = which === "sdk"
  ? { ...(await import("@modelcontextprotocol/sdk/client/index.js")), ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")) }
  : await import("@modelcontextprotocol/client");

const options = pin ? { versionNegotiation: { mode: { pin } } } : {};
const client = new Client({ name: "petstore-test", version: "1.0.0" }, options);
const headers = { Authorization: `Bearer ${PETSTORE_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(PETSTORE_MCP), { requestInit: { headers } }));
const { tools } = await client.listTools();
assert.equal(tools.length, 34);
const page = await client.callTool({ name: "listPets", arguments: { limit: 5 } });
assert.equal(page.structuredContent.items.length, 5);
assert.equal(typeof page.structuredContent.nextCursor, "string");
const wrong = await client.callTool({ name: "getOrder", arguments: { orderId: 99999 } });
assert.equal(wrong.isError, true);
assert.equal(wrong.structuredContent.code, "not_found");
const { resources } = await client.listResources();
assert.equal(resources.length, 2);
await client.readResource({ uri: resources[1].uri });
await client.close();
console.log("ok");
