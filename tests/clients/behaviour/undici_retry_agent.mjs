// The RetryAgent of undici. It repeats a POST only if it is among its methods.
import { Agent, RetryAgent, request } from 'undici';
import { run } from './errand.mjs';

const dispatcher = new RetryAgent(new Agent(), { maxRetries: 4, methods: ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'] });

await run(async (method, url, headers, body) => {
  const answer = await request(url, { method, headers, body, dispatcher });
  if (answer.statusCode >= 400) throw new Error(`${method} ${url}: ${answer.statusCode}`);
  return { link: answer.headers.link, value: await answer.body.json() };
});
