// axios with axios-retry. `isRetryableError` in place of the default condition makes it repeat a POST, too.
import { Agent } from 'node:http';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import { run } from './errand.mjs';

const client = axios.create({ httpAgent: new Agent({ keepAlive: true }) });
axiosRetry(client, { retries: 4, retryDelay: axiosRetry.exponentialDelay, retryCondition: axiosRetry.isRetryableError });

await run(async (method, url, headers, data) => {
  // Without this flag a body that is no JSON is a text.
  const transitional = { silentJSONParsing: false };
  const answer = await client.request({ method, url, headers, data, responseType: 'json', transitional });
  return { link: answer.headers.link, value: answer.data };
});
