// Converts the contract as Postman and Bruno do on import, and prints the result:
// `node import.mjs openapi.yaml` prints {postman: {auth, requests}, bruno: {auth, requests}}, with warnings as errors.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const { openApiToBruno } = require('@usebruno/converters');
const postman = require('openapi-to-postmanv2');

const warnings = [];
for (const level of ['warn', 'error']) console[level] = (...words) => warnings.push(words.join(' '));

const text = readFileSync(process.argv[2], 'utf8');
const json = JSON.parse(readFileSync(process.argv[3], 'utf8'));

/** The requests in folders within folders. */
const flat = (items, inner) => items.flatMap((item) => (item[inner] ? flat(item[inner], inner) : [item]));
const ticked = (pairs) => (pairs ?? []).filter((pair) => !pair.disabled);

async function asPostman() {
  const options = {
    folderStrategy: 'Tags', parametersResolution: 'Example', enableOptionalParameters: false,
  };
  const result = await promisify(postman.convertV2)({ type: 'string', data: text }, options);
  if (!result.result) throw new Error(result.reason);
  const collection = result.output[0].data;
  const requests = flat(collection.item, 'item').map(({ name, request }) => {
    const variables = new Map(request.url.variable.map(({ key, value }) => [`:${key}`, value]));
    const query = ticked(request.url.query).map(({ key, value }) => `${key}=${value}`).join('&');
    return {
      name,
      method: request.method,
      path: `/${request.url.path.join('/')}`,
      target: `/${request.url.path.map((part) => variables.get(part) ?? part).join('/')}${query && '?'}${query}`,
      parameters: (request.url.query ?? []).map(({ key }) => key),
      headers: ticked(request.header).map(({ key, value }) => [key, value]),
      body: request.body?.raw ?? '',
      ownAuth: request.auth,
    };
  });
  return { auth: collection.auth, requests };
}

function asBruno() {
  const collection = openApiToBruno(json);
  const requests = flat(collection.items, 'items').map(({ name, request }) => ({
    name,
    method: request.method,
    path: request.url.replace('{{baseUrl}}', ''),
    parameters: request.params.filter(({ type }) => type === 'query').map((parameter) => parameter.name),
    body: request.body.json ?? '',
    ownAuth: request.auth.mode === 'inherit' ? null : request.auth,
  }));
  return { auth: collection.root.request.auth, requests };
}

const converted = { postman: await asPostman(), bruno: asBruno() };
process.stdout.write(JSON.stringify({ ...converted, warnings }));
