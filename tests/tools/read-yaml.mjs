// Prints YAML files as the package `yaml` understands them in YAML 1.1 and in YAML 1.2, one line of JSON for each version and
// file: `node read-yaml.mjs FILE...`.
import { readFileSync } from 'node:fs';
import yaml from 'yaml';

for (const path of process.argv.slice(2)) {
  const text = readFileSync(path, 'utf8');
  for (const version of ['1.1', '1.2']) {
    const document = yaml.parseDocument(text, { version });
    const [fault] = [...document.errors, ...document.warnings];
    console.log(JSON.stringify(fault ? { error: fault.message } : { read: document.toJSON() }));
  }
}
