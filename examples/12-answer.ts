/** A back office that answers what runs wait for: it lists what there is to decide, decides, and passes values on. */
import { createHeddle, type HeddleOptions, isHeddleError } from "../client/sdk/index.ts"

/** What there is to approve: who may list it needs grants for `obligations`. */
export const toApprove = async (options: HeddleOptions, ownerId: string) => {
  const { obligations } = await createHeddle(options).obligations({ ownerId })
  return obligations.filter(({ blocker }) => blocker === "approval")
}

/** A run, and the name that it gave to what it waits for. */
interface Waiting {
  readonly ownerId: string
  readonly threadId: string
  readonly submissionId: string
  readonly name: string
}

/** Decides, and tells whose decision stands: somebody else may have been first. */
export const decide = async (options: HeddleOptions, waiting: Waiting, approved: boolean) => {
  try {
    const said = { author: "Ann", reason: "seen at the desk" }
    await createHeddle(options).resolveApproval({ ...waiting, ...said, approved })
    return "decided"
  } catch (error) {
    if (!isHeddleError(error)) throw error
    if (error.tag === "ResolutionConflict") return `decided already: ${error.first}`
    if (error.tag === "NotAwaiting") return "nobody waits for it any more"
    throw error
  }
}

/** Passes on what came from outside. Safe to repeat: the first value stands. */
export const passOn = (options: HeddleOptions, waiting: Waiting, payload: { parcel: number }) =>
  createHeddle(options).signal({ ...waiting, payload })
