// Writes the manifests of the two packages: node manifests.mjs STAGE VERSION PLATFORM LIBC
// PETSTORE_NPM_PLATFORMS names all platforms of a release, such as `linux-x64 linux-arm64`, on which `petstore-server` then
// depends; without it, the one of this build.
import { readFileSync, writeFileSync } from 'node:fs';

const [stage, version, platform, libc] = process.argv.slice(2);
const main = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const { license, repository } = main;
const [os, cpu] = platform.split('-').slice(-2);

const write = (folder, manifest) =>
  writeFileSync(`${stage}/${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);

delete main.devDependencies;
const platforms = (process.env.PETSTORE_NPM_PLATFORMS ?? `${os}-${cpu}`).split(' ');
const optionalDependencies = Object.fromEntries(platforms.map((name) => [`petstore-server-${name}`, version]));
write('main', { ...main, version, optionalDependencies });
write('binary', {
  name: platform,
  version,
  description: `The binary of petstore-server for ${os} on ${cpu}`,
  license,
  repository,
  os: [os],
  cpu: [cpu],
  // A static binary runs with any C library.
  ...(libc ? { libc: [libc] } : {}),
  files: ['bin', 'LICENSE-MIT', 'LICENSE-APACHE', 'LICENSE-THIRD-PARTY'],
});
