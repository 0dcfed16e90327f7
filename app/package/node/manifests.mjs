// Writes the manifest of a package.
//
//   node manifests.mjs platform FOLDER VERSION PLATFORM LIBC   of the one with the binary for a platform such as `linux-x64`
//   node manifests.mjs main FOLDER VERSION PLATFORM=SHA256…    of `petstore-server`, with the digests of all binaries
//
// PETSTORE_REPOSITORY is the public address of the repository; empty for none.
import { readFileSync, writeFileSync } from 'node:fs';

const [kind, folder, version, ...rest] = process.argv.slice(2);
const address = process.env.PETSTORE_REPOSITORY;
const repository = address ? { repository: { type: 'git', url: address, directory: 'app/package/node' } } : {};
const { devDependencies, ...source } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

function main(binaries) {
  const names = Object.keys(binaries).map((platform) => `@petstore-server/${platform}`);
  return {
    ...source,
    version,
    ...repository,
    binaries,
    // Optional peers: a package manager links the one that the project names, and installs none on its own.
    peerDependencies: Object.fromEntries(names.map((name) => [name, version])),
    peerDependenciesMeta: Object.fromEntries(names.map((name) => [name, { optional: true }])),
  };
}

function platform(name, libc) {
  const [os, cpu] = name.split('-');
  const { license } = source;
  return {
    name: `@petstore-server/${name}`,
    version,
    description: `The binary of petstore-server for ${os} on ${cpu}`,
    license,
    ...repository,
    os: [os],
    cpu: [cpu],
    // A static binary runs with any C library.
    ...(libc ? { libc: [libc] } : {}),
    // Yarn keeps packages in archives, from which no program can be started.
    preferUnplugged: true,
    files: ['bin', 'LICENSE-MIT', 'LICENSE-APACHE', 'LICENSE-THIRD-PARTY'],
  };
}

const manifest = kind === 'main' ? main(Object.fromEntries(rest.map((one) => one.split('=')))) : platform(...rest);
writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
