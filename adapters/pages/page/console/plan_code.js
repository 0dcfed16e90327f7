// A plan of faults as a command or a program that sets it.

import { at } from './api.js';

/** The address of the plan, without a sign that a shell or a language obeys. */
const url = () => new URL(at('faults'), location.origin).href.replaceAll("'", '%27');

/** A text as a word of the shell. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** JSON as a value of Python. Only these three words differ, and they are outside of strings. */
const python = (json) => json.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (piece) =>
  ({ true: 'True', false: 'False', null: 'None' })[piece] ?? piece);

/** The forms: their names, and functions of the plan as a value. */
export const FORMS = {
  curl: (plan) => `curl -sS -X PUT ${quoted(url())} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(plan))}\n`,
  Python: (plan) => `import json
import urllib.request

plan = ${python(JSON.stringify(plan, null, 4))}
urllib.request.urlopen(urllib.request.Request(
    '${url()}', method='PUT', data=json.dumps(plan).encode(), headers={'Content-Type': 'application/json'}))
`,
  JavaScript: (plan) => `const plan = ${JSON.stringify(plan, null, 2)};
const planned = await fetch('${url()}', {
  method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(plan),
});
if (!planned.ok) throw new Error(await planned.text());
`,
};
