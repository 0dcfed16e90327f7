// Checks a request with the library of Standard Webhooks: the headers are arguments, the body is standard input.
import { readFileSync } from 'node:fs';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

const [id, timestamp, signature] = process.argv.slice(2);
const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
try {
  new Webhook(process.env.SECRET).verify(readFileSync(0), headers);
  console.log('valid');
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  console.log(`refused: ${error.message}`);
}
