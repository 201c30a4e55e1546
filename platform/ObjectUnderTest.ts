/** The objects of a deployment as a test's failpoints see them. */
import type { Failpoints } from "./Failpoint.ts"

/** An object as a test's failpoints see it: enough to have it die there. */
export interface ObjectUnderTest {
  readonly kind: "owner" | "thread"
  readonly state: {
    readonly id: { readonly name?: string | undefined }
    readonly storage: { readonly sync: () => Promise<void> }
    readonly abort: (reason?: string) => void
  }
}

/** The failpoints of one object; asked for once per life of it. */
export type FailpointsOf = (object: ObjectUnderTest) => Failpoints
