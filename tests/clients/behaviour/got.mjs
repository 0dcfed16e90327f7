// got, which waits as Retry-After says, and repeats a POST only if it is told to.
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import got from 'got';

const { PETSTORE_URL, PETSTORE_KEY } = process.env;
const client = got.extend({
  headers: { Authorization: `Bearer ${PETSTORE_KEY}` },
  agent: { http: new Agent({ keepAlive: true }) },
  retry: { limit: 3, methods: ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'] },
});

// All pets, by the links of the server.
let link = `${PETSTORE_URL}/pets?limit=50`;
while (link) {
  const page = await client.get(link);
  link = page.headers.link.match(/<([^>]+)>; rel="next"/)?.[1];
}

// A category is read twice and changed.
for (let times = 0; times < 2; times += 1) await client.get(`${PETSTORE_URL}/categories/1`);
await client.patch(`${PETSTORE_URL}/categories/1`, {
  headers: { 'Content-Type': 'application/merge-patch+json' },
  body: JSON.stringify({ description: 'Small' }),
});

// An order whose first answer is lost.
const once = { 'Idempotency-Key': randomUUID() };
await client.post(`${PETSTORE_URL}/store/orders`, { json: { petId: 7 }, headers: once });

// A list that is refused twice.
await client.get(`${PETSTORE_URL}/inventory`);

// A list that always fails.
const failure = await client.get(`${PETSTORE_URL}/store/orders`).then(() => undefined, (error) => error);
if (failure?.response?.statusCode !== 503) throw failure ?? new Error('it succeeded');
