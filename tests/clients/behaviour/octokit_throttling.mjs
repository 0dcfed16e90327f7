// Octokit with its plugin for quotas, which repeats a refused request as often as its functions say, and nothing else.
import { Octokit } from '@octokit/core';
import { throttling } from '@octokit/plugin-throttling';
import { run } from './errand.mjs';

const again = (_seconds, _options, _client, retries) => retries < 4;
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };
const Client = Octokit.plugin(throttling);
const client = new Client({ throttle: { onRateLimit: again, onSecondaryRateLimit: again }, log: quiet });

await run(async (method, url, headers, data) => {
  const answer = await client.request({ method, url, headers: { accept: 'application/json', ...headers }, data });
  return { link: answer.headers.link, value: typeof answer.data === 'string' ? JSON.parse(answer.data) : answer.data };
});
