// got as it is. Each promise is a client with its own key.
import got, { RequestError } from 'got';

const { PETSTORE_URL, PETSTORE_KEYS } = process.env;

async function ask(key) {
  try {
    await got(`${PETSTORE_URL}/pets?limit=1`, { headers: { 'X-API-Key': key } });
  } catch (error) {
    // It gives up. The journal of the sandbox has what it sent.
    if (!(error instanceof RequestError)) throw error;
  }
}

await Promise.all(PETSTORE_KEYS.split(' ').map(ask));
