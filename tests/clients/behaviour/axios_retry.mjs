// axios with axios-retry, which repeats a POST only if it is told to.
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import axios from 'axios';
import axiosRetry from 'axios-retry';

const { PETSTORE_URL, PETSTORE_KEY } = process.env;
const client = axios.create({
  baseURL: PETSTORE_URL,
  headers: { Authorization: `Bearer ${PETSTORE_KEY}` },
  httpAgent: new Agent({ keepAlive: true }),
});
axiosRetry(client, {
  retries: 3,
  retryDelay: axiosRetry.exponentialDelay,
  retryCondition: axiosRetry.isRetryableError,
});

// All pets, by the links of the server.
let link = '/pets?limit=50';
while (link) {
  const page = await client.get(link);
  link = page.headers.link.match(/<([^>]+)>; rel="next"/)?.[1];
}

// A category is read twice and changed.
for (let times = 0; times < 2; times += 1) await client.get('/categories/1');
const headers = { 'Content-Type': 'application/merge-patch+json' };
await client.patch('/categories/1', { description: 'Small' }, { headers });

// An order whose first answer is lost.
const once = { headers: { 'Idempotency-Key': randomUUID() } };
await client.post('/store/orders', { petId: 7 }, once);

// A list that is refused twice.
await client.get('/inventory');

// A list that always fails.
const failure = await client.get('/store/orders').then(() => undefined, (error) => error);
if (failure?.response?.status !== 503) throw failure ?? new Error('it succeeded');
