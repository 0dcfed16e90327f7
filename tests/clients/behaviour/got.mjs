// got, which repeats by itself, a POST only if it is among its methods.
import { Agent } from 'node:http';
import got from 'got';
import { run } from './errand.mjs';

const client = got.extend({
  agent: { http: new Agent({ keepAlive: true }) },
  retry: { limit: 4, methods: ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'] },
});

await run(async (method, url, headers, body) => {
  const answer = await client(url, { method, headers, body, responseType: 'json' });
  return { link: answer.headers.link, value: answer.body };
});
