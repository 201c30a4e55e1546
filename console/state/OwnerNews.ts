/** Whether anything happened at an owner since it was last asked: what a page looks at while its stream rests. */
import { heddle } from "./Deployment.ts"

export const ownerNews = (ownerId: string): ((signal: AbortSignal) => Promise<boolean>) => {
  let before: string | undefined
  return async (signal) => {
    const { dirty, lastPass, nonterminal } = await heddle.maintenanceStatus({ ownerId }, { signal })
    const told = JSON.stringify([dirty, lastPass?.endedAt, nonterminal])
    // The first look has nothing to compare with: what came between the stream's end and it would never be told.
    const isNews = told !== before
    before = told
    return isNews
  }
}
