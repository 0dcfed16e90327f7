// Reads the event stream with the package eventsource, which connects again by itself. Its fetch adds the API key.
import { EventSource } from 'eventsource';

const { PETSTORE_URL: base, PETSTORE_KEY: key, AFTER: after } = process.env;
const source = new EventSource(`${base}/events/stream?limit=5&after=${after}`, {
  fetch: (url, options) => fetch(url, { ...options, headers: { ...options.headers, 'X-API-Key': key } }),
});
source.onmessage = (message) => console.log(JSON.parse(message.data).sequence);
source.onerror = (error) => {
  if (source.readyState === EventSource.CLOSED) throw error;
};
