// axios with axios-retry as it is. Each promise is a client with its own key.
import axios from 'axios';
import axiosRetry from 'axios-retry';

const { PETSTORE_URL, PETSTORE_KEYS } = process.env;

async function ask(key) {
  const client = axios.create({ baseURL: PETSTORE_URL, headers: { 'X-API-Key': key } });
  axiosRetry(client);
  try {
    await client.get('/pets?limit=1');
  } catch (error) {
    // It gives up. The journal of the sandbox has what it sent.
    if (!axios.isAxiosError(error)) throw error;
  }
}

await Promise.all(PETSTORE_KEYS.split(' ').map(ask));
