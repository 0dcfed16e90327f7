// ky, which repeats by itself, a POST only if it is among its methods.
import ky from 'ky';
import { run } from './errand.mjs';

const client = ky.create({ retry: { limit: 4, methods: ['get', 'put', 'patch', 'delete', 'post'] } });

await run(async (method, url, headers, body) => {
  const answer = await client(url, { method, headers, body });
  return { link: answer.headers.get('link'), value: await answer.json() };
});
