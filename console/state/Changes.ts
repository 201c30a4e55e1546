/** Tells a page that lanes of its owner have changed, not more often than it can ask what that means for it. */
import { useEffect, useMemo, useRef } from "preact/hooks"
import type { WatchFrame } from "../../client/sdk/index.ts"
import { heddle } from "./Deployment.ts"
import { type Live, startLive } from "./Live.ts"
import { ownerNews } from "./OwnerNews.ts"
import { paced } from "./Paced.ts"

/** What it means is a list of pages that is read once more. */
const pauseMillis = 6_000

export const useChanges = (ownerId: string, changed: () => Promise<void>): Live => {
  const latest = useRef(changed)
  latest.current = changed
  const live = useMemo(() => {
    const tell = paced(pauseMillis, () => latest.current())
    return startLive<WatchFrame>({
      open: (leaving) => heddle.watch({ ownerId }, { signal: leaving }),
      take: (frame) => {
        if (frame._tag !== "Ended") tell()
      },
      anyNews: ownerNews(ownerId),
    })
  }, [ownerId])
  useEffect(() => live.stop, [live])
  return live
}
