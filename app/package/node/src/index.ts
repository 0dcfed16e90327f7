// A petstore for the tests of an API client: one line starts a real server, and it ends with the tests.

export type { BaselineCounts, ShopRecord } from './baseline.js';
export { version } from './binary.js';
export { Clock } from './clock.js';
export {
  ExamFailed,
  NotDelivered,
  NotEnoughRequests,
  PetstoreError,
  PetstoreNotAvailable,
  PetstoreStopped,
  RulesBroken,
  SandboxError,
} from './errors.js';
export { exam, type ExamOptions, type ExamShop } from './exam.js';
export { ExamReport, ExamRequest, ExamScenario } from './exam-report.js';
export { Faults, ScopeFaults, type Fault, type FaultHeader, type PlannedFault } from './faults.js';
export { playwrightPetstore, vitestPetstore } from './fixtures.js';
export { Message, MessageHeaders } from './messages.js';
export { Petstore, sharedPetstore, type NewKey, type PetstoreOptions } from './petstore.js';
export { Report, type ClientReport, type Finding, type JudgedRule, type RuleName, type Verdict } from './report.js';
export { Answer, ReceivedRequest, type Outcome, type Quota, type RequestFilter } from './requests.js';
export { Scope, type ScopeOptions } from './scope.js';
export { Delivery, Sink, type OpenDelivery, type Settled, type Signature, type SinkAnswer } from './sinks.js';
