// A petstore for the tests of an API client: one line starts a real server, and it ends with the tests.

export { version } from './binary.js';
export { Clock } from './clock.js';
export { NotEnoughRequests, PetstoreError, PetstoreNotAvailable, PetstoreStopped, SandboxError } from './errors.js';
export { Faults, type Fault, type PlannedFault } from './faults.js';
export { Petstore, sharedPetstore, type NewKey, type PetstoreOptions } from './petstore.js';
export type { ClientReport, Finding, JudgedRule, Report, Verdict } from './report.js';
export type { Answer, ReceivedRequest, RequestFilter } from './requests.js';
