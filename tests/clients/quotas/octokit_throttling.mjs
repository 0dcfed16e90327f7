// Octokit with its throttling plugin, which repeats three times at most. Each promise is a client with its own key.
import { Octokit } from '@octokit/core';
import { throttling } from '@octokit/plugin-throttling';

const { PETSTORE_URL, PETSTORE_KEYS } = process.env;

// The plugin compares a reset with the clock of its machine. Here that clock agrees with the one of the sandbox.
const clock = await fetch(PETSTORE_URL.replace(/\/v1$/, '/sandbox/clock'));
const ahead = Date.parse((await clock.json()).now) - Date.now();
const machine = Date.now;
Date.now = () => machine() + ahead;

const Client = Octokit.plugin(throttling);
const again = (_seconds, _options, _client, retries) => retries < 3;
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };

async function ask(key) {
  const throttle = { id: key, onRateLimit: again, onSecondaryRateLimit: again };
  const client = new Client({ baseUrl: PETSTORE_URL, throttle, log: quiet });
  try {
    await client.request('GET /pets?limit=1', { headers: { accept: 'application/json', 'X-API-Key': key } });
  } catch (error) {
    // It gives up. The journal of the sandbox has what it sent.
    if (error.status === undefined) throw error;
  }
}

await Promise.all(PETSTORE_KEYS.split(' ').map(ask));
