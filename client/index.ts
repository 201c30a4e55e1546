/** What callers of a deployment need: the client and the contracts. No object's code. */
export * from "../contracts/index.ts"
export * from "./HeddleClient.ts"
export type { Batch, BatchSubmission } from "./SubmitMany.ts"
export { httpTarget, type HttpTargetOptions } from "./HttpTarget.ts"
export type { NativeStub } from "../contracts/transport/StubTarget.ts"
