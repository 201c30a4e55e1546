/** Tells a page that lanes of its owner have changed, not more often than it can ask what that means for it. */
import { useEffect, useMemo, useRef } from "preact/hooks"
import type { WatchFrame } from "../../client/sdk/index.ts"
import { heddle } from "./Deployment.ts"
import { type Live, startLive } from "./Live.ts"
import { ownerNews } from "./OwnerNews.ts"
import { paced } from "./Paced.ts"

/** What it means is a list of pages that is read once more; of one thread it is a few answers. */
const pauseMillis = { list: 6_000, thread: 1_000 }

/** Every lane may have changed where the stream begins, or has left some out. */
const concerns = (frame: WatchFrame, threadId: string | undefined): boolean =>
  frame._tag === "Lane"
    ? threadId === undefined || frame.lane.threadId === threadId
    : frame._tag === "Opened" || frame._tag === "Gap"

/** Of all lanes, or of one thread's. */
export const useChanges = (
  ownerId: string,
  changed: () => Promise<void>,
  threadId?: string,
): Live => {
  const latest = useRef(changed)
  latest.current = changed
  const live = useMemo(() => {
    const pause = pauseMillis[threadId === undefined ? "list" : "thread"]
    const tell = paced(pause, () => latest.current())
    return startLive<WatchFrame>({
      open: (leaving) => heddle.watch({ ownerId }, { signal: leaving }),
      take: (frame) => {
        if (concerns(frame, threadId)) tell()
      },
      anyNews: ownerNews(ownerId),
    })
  }, [ownerId, threadId])
  useEffect(() => live.stop, [live])
  return live
}
