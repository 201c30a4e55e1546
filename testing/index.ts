/** `heddle/testing`: agents in plain Node, over their real ledger and journal, with time in the test's hands. */
export { type LogEntry, TestDeployment, type TestDeploymentOptions } from "./TestDeployment.ts"
export type { Commanding, TestCalls, TestSubmission } from "./TestCalls.ts"
export type { TestControls } from "./TestControls.ts"
export type { Place } from "./TestKit.ts"
export type { Crash, CrashOptions, CrashPoint } from "./CrashPoints.ts"
export { NotSettled } from "./NotSettled.ts"
export { NoAnswer, Restless } from "./TestClock.ts"
